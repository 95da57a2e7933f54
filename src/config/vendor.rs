//! Vendors whose current models are offered because their key is in the environment, without any row. What a row of the
//! file says goes before that, and the key stays where it is: nobody is told more than the name of its variable.

use crate::message::OfferedModel;
use crate::provider::row::{ChatKey, ChatKind, ChatModel, LiveKind, LiveModel, Secret};

/// They read more, but a long conversation would then cost accordingly with every request.
const CONTEXT_TOKENS: u32 = 200_000;

struct Vendor {
    /// What the model is called in settings.
    chat: &'static str,
    kind: ChatKind,
    chat_url: &'static str,
    chat_model: &'static str,
    live: Option<Live>,
    /// The first that is set counts, in the order of the vendor's own SDK.
    keys: &'static [&'static str],
    /// With one of these the key belongs to another server than the vendor's, which must not get it.
    elsewhere: &'static [&'static str],
}

/// Existing frontends know the names of these.
struct Live {
    name: &'static str,
    kind: LiveKind,
    url: &'static str,
    model: &'static str,
}

/// In the order in which they are preferred.
const VENDORS: [Vendor; 3] = [
    Vendor {
        chat: "openai",
        kind: ChatKind::OpenAi,
        chat_url: OPENAI,
        chat_model: "gpt-6.1-terra",
        live: Some(Live {
            name: "openai_live",
            kind: LiveKind::OpenAi,
            url: OPENAI_LIVE,
            model: "gpt-realtime-2.1",
        }),
        keys: &["OPENAI_API_KEY"],
        elsewhere: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
    },
    Vendor {
        chat: "claude",
        kind: ChatKind::Anthropic,
        chat_url: ANTHROPIC,
        chat_model: "claude-sonnet-5-5",
        live: None,
        keys: &["ANTHROPIC_API_KEY"],
        elsewhere: &["ANTHROPIC_BASE_URL"],
    },
    Vendor {
        chat: "gemini",
        kind: ChatKind::Gemini,
        chat_url: GEMINI,
        chat_model: "gemini-3.8-flash",
        live: Some(Live {
            name: "gemini_live",
            kind: LiveKind::Gemini,
            url: GEMINI_LIVE,
            model: "gemini-3.8-live",
        }),
        keys: &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        elsewhere: &["GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"],
    },
];

pub(super) const OPENAI: &str = "https://api.openai.com/v1";
pub(super) const ANTHROPIC: &str = "https://api.anthropic.com";
pub(super) const GEMINI: &str = "https://generativelanguage.googleapis.com/v1beta";
pub(super) const OPENAI_LIVE: &str = "wss://api.openai.com/v1";
pub(super) const GEMINI_LIVE: &str = "wss://generativelanguage.googleapis.com";

/// What keys in the environment offer behind the rows of the file.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Offer {
    pub(super) chat: Vec<ChatModel>,
    pub(super) live: Vec<LiveModel>,
    pub(super) told: Vec<OfferedModel>,
}

/// A vendor that has a row already is left out, and so is a name that is taken.
pub(super) fn offer(
    chat: &[ChatModel],
    live: &[LiveModel],
    variable: impl Fn(&str) -> Option<String>,
) -> Offer {
    let set = |name: &str| {
        variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let mut offer = Offer::default();
    for vendor in &VENDORS {
        if vendor.elsewhere.iter().any(|name| set(name).is_some()) {
            continue;
        }
        let key = |name: &&'static str| set(name).map(|text| (*name, Secret::new(text)));
        let Some((name, secret)) = vendor.keys.iter().find_map(key) else { continue };
        let key = ChatKey { variable: name.to_owned(), secret: Some(secret) };
        let has_chat = chat.iter().any(|row| {
            row.name == vendor.chat || row.base_url == vendor.chat_url || names(&row.key, vendor)
        });
        if !has_chat {
            offer.told.push(told(vendor.chat, vendor.chat_model, name));
            offer.chat.push(vendor.chat_row(key.clone()));
        }
        let Some(own) = &vendor.live else { continue };
        let has_live = live
            .iter()
            .any(|row| row.name == own.name || row.base_url == own.url || names(&row.key, vendor));
        if !has_live {
            offer.told.push(told(own.name, own.model, name));
            offer.live.push(own.row(key));
        }
    }
    offer
}

fn names(key: &Option<ChatKey>, vendor: &Vendor) -> bool {
    key.as_ref().is_some_and(|key| vendor.keys.contains(&key.variable.as_str()))
}

fn told(name: &str, model: &str, variable: &str) -> OfferedModel {
    OfferedModel { name: name.to_owned(), model: model.to_owned(), variable: variable.to_owned() }
}

impl Vendor {
    fn chat_row(&self, key: ChatKey) -> ChatModel {
        ChatModel {
            name: self.chat.to_owned(),
            label: self.chat_model.to_owned(),
            kind: self.kind,
            base_url: self.chat_url.to_owned(),
            model: self.chat_model.to_owned(),
            key: Some(key),
            context_tokens: Some(CONTEXT_TOKENS),
            max_output_tokens: None,
            images: true,
            image_output: false,
            tools: true,
            patience: None,
        }
    }
}

impl Live {
    fn row(&self, key: ChatKey) -> LiveModel {
        LiveModel {
            name: self.name.to_owned(),
            label: self.model.to_owned(),
            kind: self.kind,
            base_url: self.url.to_owned(),
            model: self.model.to_owned(),
            voice: None,
            key: Some(key),
            language: None,
            transcription: None,
        }
    }
}

/// A row of each kind for people to paste into the configuration file.
pub const CHAT_EXAMPLE: [&str; 5] = [
    "[[chat]]",
    "name = \"claude\"",
    "kind = \"anthropic\"",
    "model = \"claude-sonnet-5-5\"",
    "key = \"ANTHROPIC_API_KEY\"",
];
pub const LIVE_EXAMPLE: [&str; 5] = [
    "[[live]]",
    "name = \"openai_live\"",
    "kind = \"openai\"",
    "model = \"gpt-realtime-2.1\"",
    "key = \"OPENAI_API_KEY\"",
];

/// The variables that offer a model, for people.
pub fn key_variables() -> Vec<&'static str> {
    VENDORS.iter().flat_map(|vendor| vendor.keys).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(set: &[(&str, &str)]) -> Offer {
        beside(&[], &[], set)
    }

    fn beside(chat: &[ChatModel], live: &[LiveModel], set: &[(&str, &str)]) -> Offer {
        offer(chat, live, |name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn names(offer: &Offer) -> Vec<&str> {
        offer.told.iter().map(|told| told.name.as_str()).collect()
    }

    const ALL: [(&str, &str); 4] = [
        ("ANTHROPIC_API_KEY", "sk-a"),
        ("GEMINI_API_KEY", "g-1"),
        ("GOOGLE_API_KEY", "g-2"),
        ("OPENAI_API_KEY", "sk-o"),
    ];

    #[test]
    fn each_key_offers_what_its_vendor_has() {
        assert_eq!(of(&[]), Offer::default());
        assert_eq!(names(&of(&[("OPENAI_API_KEY", "k")])), ["openai", "openai_live"]);
        assert_eq!(names(&of(&[("ANTHROPIC_API_KEY", "k")])), ["claude"]);
        assert_eq!(names(&of(&[("GEMINI_API_KEY", "k")])), ["gemini", "gemini_live"]);
        for empty in ["", " \n"] {
            assert_eq!(of(&[("OPENAI_API_KEY", empty)]), Offer::default());
        }
    }

    #[test]
    fn all_come_in_their_order_and_no_key_is_shown() {
        let all = of(&ALL);
        assert_eq!(names(&all), ["openai", "openai_live", "claude", "gemini", "gemini_live"]);
        assert_eq!(all.told[3].variable, "GOOGLE_API_KEY", "as in the vendor's own SDK");
        let shown = format!("{all:?}");
        for (_, key) in ALL {
            assert!(!shown.contains(key), "{shown}");
        }
    }

    #[test]
    fn a_key_for_another_server_is_not_sent_to_the_vendor() {
        for vendor in &VENDORS {
            for elsewhere in vendor.elsewhere {
                let offer = of(&[(vendor.keys[0], "k"), (elsewhere, "http://proxy/v1")]);
                assert_eq!(offer, Offer::default(), "{elsewhere}");
            }
        }
    }

    #[test]
    fn a_row_goes_before_what_the_environment_offers() {
        let all = of(&ALL);
        let row = |change: fn(&mut ChatModel)| {
            let mut row = ChatModel {
                name: "mine".to_owned(),
                base_url: "http://box/v1".to_owned(),
                key: None,
                ..all.chat[0].clone()
            };
            change(&mut row);
            row
        };
        let by_name = row(|row| row.name = "openai".to_owned());
        let by_address = row(|row| row.base_url = OPENAI.to_owned());
        let by_key = row(|row| {
            row.key = Some(ChatKey { variable: "OPENAI_API_KEY".to_owned(), secret: None });
        });
        for row in [by_name, by_address, by_key] {
            let offer = beside(&[row], &[], &ALL);
            assert_eq!(names(&offer), ["openai_live", "claude", "gemini", "gemini_live"]);
        }
        let foreign = beside(&[row(|_| {})], &[], &ALL);
        assert_eq!(foreign.chat.len(), 3, "another server is no row of a vendor");
        let live = beside(&[], &all.live[1..], &ALL);
        assert_eq!(names(&live), ["openai", "openai_live", "claude", "gemini"]);
    }

    #[test]
    fn examples_of_the_file_and_the_readme_are_the_models_offered() {
        let file = include_str!("../../config/kakehashi.toml");
        let readme = include_str!("../../README.md");
        for vendor in &VENDORS {
            assert!(
                file.contains(&format!("model = \"{}\"", vendor.chat_model)),
                "{}",
                vendor.chat
            );
            assert!(readme.contains(vendor.chat_model), "{}", vendor.chat);
            let Some(live) = &vendor.live else { continue };
            assert!(file.contains(&format!("model = \"{}\"", live.model)), "{}", live.name);
            assert!(readme.contains(live.model), "{}", live.name);
        }
        for row in [&CHAT_EXAMPLE, &LIVE_EXAMPLE] {
            assert!(row[1..].iter().all(|line| file.contains(line)), "{row:?}");
        }
    }
}
