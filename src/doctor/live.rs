//! Who speaks: the live models, and which of them lack a key.

use super::{Finding, models};
use crate::config::{self, Config, Models};
use crate::provider::row::LiveModel;

const CHECK: &str = "live";

pub(super) fn findings(config: &Config) -> Vec<Finding> {
    let rows = match config.models {
        Models::Auto => config.live.as_slice(),
        Models::Scripted => &[],
    };
    let (ready, lacking): (Vec<_>, Vec<_>) = rows.iter().partition(|model| model.has_key());
    let setup = config.setup_hint();
    let named = |model: &&LiveModel| models::named(&model.name, &setup);
    let speaks = match ready.iter().map(named).collect::<Vec<_>>() {
        names if names.is_empty() => {
            let paste = models::paste(&setup.file, &config::LIVE_EXAMPLE);
            let advice = format!(
                "a row brings a model that understands, for example by this command: {paste}"
            );
            Finding::ok(CHECK, "scripted: the microphone is played back").with(advice)
        }
        names => Finding::ok(
            CHECK,
            format!("live models, in the order they are tried: {}", names.join(", ")),
        ),
    };
    std::iter::once(speaks).chain(lacking.into_iter().map(without_key)).collect()
}

fn without_key(model: &LiveModel) -> Finding {
    let variable = model.key.as_ref().map_or("its variable", |key| key.variable.as_str());
    let found = format!("live model {} has no key", model.name);
    Finding::warn(CHECK, found, format!("set {variable} where the gateway is started"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;
    use crate::provider::row::{ChatKey, LiveKind, Secret};

    fn model(name: &str, key: Option<&str>) -> LiveModel {
        let secret = key.map(|text| Secret::new(text.to_owned()));
        LiveModel {
            name: name.to_owned(),
            label: name.to_owned(),
            kind: LiveKind::OpenAi,
            base_url: "wss://localhost".to_owned(),
            model: "m".to_owned(),
            voice: None,
            key: Some(ChatKey { variable: "A_KEY".to_owned(), secret }),
            language: None,
            transcription: None,
        }
    }

    #[test]
    fn who_speaks_is_named_and_a_missing_key_too() {
        let mut config = Config::for_test("/tmp", "/tmp");
        config.models = Models::Auto;
        assert!(findings(&config)[0].found.starts_with("scripted"));
        config.live = vec![model("one", None), model("two", Some("secret"))];
        let found = findings(&config);
        assert!(found[0].found.ends_with(": two"), "{found:?}");
        assert_eq!(found[1].verdict, Verdict::Warn);
        assert!(found[1].found.contains("one") && !format!("{found:?}").contains("secret"));
        config.models = Models::Scripted;
        assert_eq!(findings(&config).len(), 1);
    }
}
