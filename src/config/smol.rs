//! `[smol]`: where the agent UI is served besides, and whose page.

use super::raw::Listen;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawSmol {
    listen: Besides,
    /// Empty: our own page.
    page: PathBuf,
}

/// A second address; an empty text is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(try_from = "String")]
struct Besides(Option<Listen>);

impl TryFrom<String> for Besides {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let address = (!text.is_empty()).then(|| Listen::try_from(text));
        address.transpose().map(Self)
    }
}

/// How the agent UI is served.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SmolRules {
    /// A second address, with the agent UI's page at its root.
    pub listen: Option<SocketAddr>,
    /// Directory of a page that is served in place of ours.
    pub page: Option<PathBuf>,
}

impl RawSmol {
    pub(super) fn rules(&self) -> SmolRules {
        let page = Some(self.page.clone()).filter(|path| !path.as_os_str().is_empty());
        SmolRules { listen: self.listen.0.map(|Listen(address)| address), page }
    }
}
