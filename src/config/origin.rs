//! Names under which others may reach the gateway: hosts and web origins, kept in lower case.

use serde::Deserialize;

/// `scheme://host` or `scheme://host:port`, nothing more.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Origin(pub(super) String);

impl TryFrom<String> for Origin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        match lower.split_once("://") {
            Some((scheme, host)) if is_scheme(scheme) && is_host(host) => Ok(Self(lower)),
            Some(_) | None => {
                Err(format!("`{text}` is not an origin like https://desk.example:8443"))
            }
        }
    }
}

/// `name` or `name:port`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Host(pub(super) String);

impl TryFrom<String> for Host {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if is_host(&text) {
            return Ok(Self(text.to_ascii_lowercase()));
        }
        Err(format!("`{text}` is not a host like desk.example or desk.example:8091"))
    }
}

/// Whether this may be one of `allowed_origins`.
pub fn may_be_origin(text: &str) -> bool {
    Origin::try_from(text.to_owned()).is_ok()
}

/// Whether this may be one of `allowed_hosts`.
pub fn may_be_host(text: &str) -> bool {
    Host::try_from(text.to_owned()).is_ok()
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Wildcards are left out on purpose: what may connect should be readable in the file.
fn is_host(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte))
}
