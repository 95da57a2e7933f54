//! `[webhook]`: who is called when something waits for approval. The secret is only named here; its value comes from
//! the environment.

use super::chat::{BaseUrl, Variable};
use crate::provider::row::{ChatKey, Secret, Webhook};
use serde::Deserialize;

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawWebhook {
    url: HookUrl,
    secret: HookSecret,
}

/// Empty: nobody is called.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "String")]
struct HookUrl(String);

impl TryFrom<String> for HookUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if !text.is_empty() {
            // Many services want their token behind a question mark.
            let (address, question) = text.split_once('?').unwrap_or((&text, ""));
            BaseUrl::try_from(address.to_owned())?;
            if !question.chars().all(|c| c.is_ascii_graphic() && c != '#') {
                return Err("an address with letters that do not belong there".to_owned());
            }
        }
        Ok(Self(text))
    }
}

/// Empty: calls are not signed.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "String")]
struct HookSecret(Option<Variable>);

impl TryFrom<String> for HookSecret {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        Variable::try_from(text).map(|name| Self(Some(name)))
    }
}

impl RawWebhook {
    /// With the secret that its variable holds now.
    pub(super) fn webhook(self, variable: impl Fn(&str) -> Option<String>) -> Option<Webhook> {
        let HookUrl(url) = self.url;
        let key = self.secret.0.map(|Variable(name)| {
            let value = variable(&name).filter(|text| !text.is_empty());
            ChatKey { variable: name, secret: value.map(Secret::new) }
        });
        (!url.is_empty()).then_some(Webhook { url, key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<Option<&str>, &str>) {
        let parsed = toml::from_str::<RawWebhook>(text);
        match (parsed, expected) {
            (Ok(raw), Ok(url)) => {
                let webhook = raw.webhook(|_| None);
                assert_eq!(webhook.map(|webhook| webhook.url).as_deref(), url);
            }
            (Err(err), Err(part)) => assert!(err.message().contains(part), "{err}"),
            (parsed, expected) => panic!("{parsed:?}, not {expected:?}"),
        }
    }

    #[test]
    fn addresses_and_secrets_are_checked() {
        check("", Ok(None));
        check("url = \"http://127.0.0.1:8/a/\"", Ok(Some("http://127.0.0.1:8/a/")));
        check("url = \"https://a.example/b?token=1\"", Ok(Some("https://a.example/b?token=1")));
        check("url = \"a.example\"", Err("is not an address"));
        check("url = \"https://me:pw@a.example\"", Err("with a password"));
        check("url = \"https://a.example/?a b\"", Err("do not belong there"));
        check("secret = \"not-a-variable\"", Err("not the name of a variable"));
    }

    #[test]
    fn a_secret_is_read_from_its_variable() {
        let raw = "url = \"http://a.example\"\nsecret = \"HOOK\"";
        let raw = || toml::from_str::<RawWebhook>(raw).unwrap();
        let read = |value: Option<&str>| {
            let webhook = raw().webhook(|name| value.filter(|_| name == "HOOK").map(Into::into));
            webhook.unwrap().key.unwrap().secret
        };
        assert_eq!(read(Some("x")), Some(Secret::new("x")));
        assert_eq!((read(None), read(Some(""))), (None, None));
    }
}
