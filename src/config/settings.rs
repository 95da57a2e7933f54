//! The `[settings]` table: how the operator calls the settings of sessions, and which values they start with.

use crate::message::{AUTO, AgentSlot, SessionSettings, Setting, SettingProblem};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// What a key of the table stands for.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Setting(Setting),
    /// No other value would change anything, so others are refused instead of being ignored.
    Only(&'static str),
    OnlyNumber(i64),
}

const ONLY_AUTO: Kind = Kind::Only(AUTO);
const SLOTS: [AgentSlot; 4] = AgentSlot::ALL;

const fn row(name: &'static str) -> Cow<'static, str> {
    Cow::Borrowed(name)
}

/// In the order of `config/kakehashi.toml`.
static KINDS: [(&str, Kind); 34] = [
    ("CHAT_AI_NAME", Kind::Setting(Setting::Chat)),
    ("CHAT_GEMINI_MODEL", Kind::Setting(Setting::ChatModel(row("gemini")))),
    ("CHAT_FREEAI_MODEL", Kind::Setting(Setting::ChatModel(row("freeai")))),
    ("CHAT_OPENRT_MODEL", Kind::Setting(Setting::ChatModel(row("openrt")))),
    ("LIVE_AI_NAME", Kind::Setting(Setting::Live)),
    ("LIVE_GEMINI_MODEL", Kind::Setting(Setting::LiveModel(row("gemini_live")))),
    ("LIVE_GEMINI_VOICE", Kind::Setting(Setting::LiveVoice(row("gemini_live")))),
    ("LIVE_FREEAI_MODEL", Kind::Setting(Setting::LiveModel(row("freeai_live")))),
    ("LIVE_FREEAI_VOICE", Kind::Setting(Setting::LiveVoice(row("freeai_live")))),
    ("LIVE_OPENAI_MODEL", Kind::Setting(Setting::LiveModel(row("openai_live")))),
    ("LIVE_OPENAI_VOICE", Kind::Setting(Setting::LiveVoice(row("openai_live")))),
    ("CODE_AI1_NAME", Kind::Setting(Setting::Agent(SLOTS[0]))),
    ("CODE_AI2_NAME", Kind::Setting(Setting::Agent(SLOTS[1]))),
    ("CODE_AI3_NAME", Kind::Setting(Setting::Agent(SLOTS[2]))),
    ("CODE_AI4_NAME", Kind::Setting(Setting::Agent(SLOTS[3]))),
    ("CODE_AI1_MODEL", Kind::Setting(Setting::AgentModel(SLOTS[0]))),
    ("CODE_AI2_MODEL", Kind::Setting(Setting::AgentModel(SLOTS[1]))),
    ("CODE_AI3_MODEL", Kind::Setting(Setting::AgentModel(SLOTS[2]))),
    ("CODE_AI4_MODEL", Kind::Setting(Setting::AgentModel(SLOTS[3]))),
    ("CODE_CLAUDE_SDK_MODEL", ONLY_AUTO),
    ("CODE_CLAUDE_CLI_MODEL", ONLY_AUTO),
    ("CODE_COPILOT_CLI_MODEL", ONLY_AUTO),
    ("CODE_GEMINI_CLI_MODEL", ONLY_AUTO),
    ("CODE_CODEX_CLI_MODEL", ONLY_AUTO),
    ("CODE_MAX_TURNS", Kind::OnlyNumber(999)),
    ("CODE_PLAN", ONLY_AUTO),
    ("CODE_VERIFY", ONLY_AUTO),
    ("CODE_BASE_PATH", Kind::Setting(Setting::Project)),
    ("CODE_AI1_PLACE", Kind::Setting(Setting::Workplace(SLOTS[0]))),
    ("CODE_AI2_PLACE", Kind::Setting(Setting::Workplace(SLOTS[1]))),
    ("CODE_AI3_PLACE", Kind::Setting(Setting::Workplace(SLOTS[2]))),
    ("CODE_AI4_PLACE", Kind::Setting(Setting::Workplace(SLOTS[3]))),
    ("CHAT_TOOLS", Kind::Setting(Setting::Tools)),
    ("CHAT_ASSISTANT", Kind::Setting(Setting::ChatAssistant)),
];

static NAMES: [&str; 34] = {
    let mut names = [""; 34];
    let mut at = 0;
    while at < names.len() {
        names[at] = KINDS[at].0;
        at += 1;
    }
    names
};

/// The key of a setting; `None` for one that only sessions choose.
pub(super) fn key(setting: &Setting) -> Option<&'static str> {
    let kind = Kind::Setting(setting.clone());
    KINDS.iter().find(|(_, known)| *known == kind).map(|(key, _)| *key)
}

/// What the file says. Keys that it leaves out keep their defaults. Which models and agents exist is checked when the
/// whole file is read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RawSettings(pub(super) SessionSettings);

impl<'de> Deserialize<'de> for RawSettings {
    fn deserialize<D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        table.deserialize_map(TableVisitor)
    }
}

struct TableVisitor;

impl<'de> Visitor<'de> for TableVisitor {
    type Value = RawSettings;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a table of model settings")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<RawSettings, M::Error> {
        let mut settings = RawSettings::default();
        while let Some(Key(kind)) = map.next_key()? {
            map.next_value_seed(Value { kind, settings: &mut settings.0 })?;
        }
        Ok(settings)
    }
}

struct Key(&'static Kind);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(key: D) -> Result<Self, D::Error> {
        let key = String::deserialize(key)?;
        match KINDS.iter().find(|(name, _)| *name == key) {
            Some((_, kind)) => Ok(Self(kind)),
            None => Err(D::Error::unknown_field(&key, &NAMES)),
        }
    }
}

/// Reads the value of a key into the settings.
struct Value<'a> {
    kind: &'static Kind,
    settings: &'a mut SessionSettings,
}

impl<'de> serde::de::DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        match self.kind {
            Kind::Setting(setting) => {
                let text = String::deserialize(value)?;
                self.settings.apply(setting.with_value(&text).map_err(D::Error::custom)?);
                Ok(())
            }
            Kind::Only(only) => same(&String::deserialize(value)?, only).map_err(D::Error::custom),
            Kind::OnlyNumber(only) => {
                let number = i64::deserialize(value)?;
                same(&number.to_string(), &only.to_string()).map_err(D::Error::custom)
            }
        }
    }
}

pub(super) fn same(value: &str, only: &str) -> Result<(), SettingProblem> {
    if value == only {
        return Ok(());
    }
    Err(SettingProblem::NoEffect { value: value.to_owned(), only: only.to_owned() })
}
