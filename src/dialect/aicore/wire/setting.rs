//! Keys of settings, in the order in which frontends know them, and the names of models that frontends expect.

use crate::message::{AUTO, AgentSlot, ModelRates, SampleRate, Setting};
use std::borrow::Cow;

/// The meaning of a key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Key {
    Setting(Setting),
    /// A setting of the original AIcore server that has no effect here, so only its default is allowed.
    Only(&'static str),
    OnlyNumber(i64),
}

const SLOTS: [AgentSlot; 4] = AgentSlot::ALL;
const ONLY_AUTO: Key = Key::Only(AUTO);

const fn row(name: &'static str) -> Cow<'static, str> {
    Cow::Borrowed(name)
}

pub(crate) static KEYS: [(&str, Key); 34] = [
    ("CHAT_AI_NAME", Key::Setting(Setting::Chat)),
    ("CHAT_GEMINI_MODEL", Key::Setting(Setting::ChatModel(row("gemini")))),
    ("CHAT_FREEAI_MODEL", Key::Setting(Setting::ChatModel(row("freeai")))),
    ("CHAT_OPENRT_MODEL", Key::Setting(Setting::ChatModel(row("openrt")))),
    ("LIVE_AI_NAME", Key::Setting(Setting::Live)),
    ("LIVE_GEMINI_MODEL", Key::Setting(Setting::LiveModel(row("gemini_live")))),
    ("LIVE_GEMINI_VOICE", Key::Setting(Setting::LiveVoice(row("gemini_live")))),
    ("LIVE_FREEAI_MODEL", Key::Setting(Setting::LiveModel(row("freeai_live")))),
    ("LIVE_FREEAI_VOICE", Key::Setting(Setting::LiveVoice(row("freeai_live")))),
    ("LIVE_OPENAI_MODEL", Key::Setting(Setting::LiveModel(row("openai_live")))),
    ("LIVE_OPENAI_VOICE", Key::Setting(Setting::LiveVoice(row("openai_live")))),
    ("CODE_AI1_NAME", Key::Setting(Setting::Agent(SLOTS[0]))),
    ("CODE_AI2_NAME", Key::Setting(Setting::Agent(SLOTS[1]))),
    ("CODE_AI3_NAME", Key::Setting(Setting::Agent(SLOTS[2]))),
    ("CODE_AI4_NAME", Key::Setting(Setting::Agent(SLOTS[3]))),
    ("CODE_AI1_MODEL", Key::Setting(Setting::AgentModel(SLOTS[0]))),
    ("CODE_AI2_MODEL", Key::Setting(Setting::AgentModel(SLOTS[1]))),
    ("CODE_AI3_MODEL", Key::Setting(Setting::AgentModel(SLOTS[2]))),
    ("CODE_AI4_MODEL", Key::Setting(Setting::AgentModel(SLOTS[3]))),
    ("CODE_CLAUDE_SDK_MODEL", ONLY_AUTO),
    ("CODE_CLAUDE_CLI_MODEL", ONLY_AUTO),
    ("CODE_COPILOT_CLI_MODEL", ONLY_AUTO),
    ("CODE_GEMINI_CLI_MODEL", ONLY_AUTO),
    ("CODE_CODEX_CLI_MODEL", ONLY_AUTO),
    ("CODE_MAX_TURNS", Key::OnlyNumber(999)),
    ("CODE_PLAN", ONLY_AUTO),
    ("CODE_VERIFY", ONLY_AUTO),
    ("CODE_BASE_PATH", Key::Setting(Setting::Project)),
    ("CODE_AI1_PLACE", Key::Setting(Setting::Workplace(SLOTS[0]))),
    ("CODE_AI2_PLACE", Key::Setting(Setting::Workplace(SLOTS[1]))),
    ("CODE_AI3_PLACE", Key::Setting(Setting::Workplace(SLOTS[2]))),
    ("CODE_AI4_PLACE", Key::Setting(Setting::Workplace(SLOTS[3]))),
    // Not keys of the original; behind its keys.
    ("CHAT_TOOLS", Key::Setting(Setting::Tools)),
    ("CHAT_ASSISTANT", Key::Setting(Setting::ChatAssistant)),
];

/// Providers that frontends ask for by name. An entry without models cannot be chosen.
pub(crate) const CHAT_NAMES: [&str; 3] = ["gemini", "freeai", "openrt"];
pub(crate) const LIVE_NAMES: [&str; 3] = ["gemini_live", "freeai_live", "openai_live"];
pub(crate) const AGENT_NAMES: [&str; 5] =
    ["claude_sdk", "claude_cli", "copilot_cli", "gemini_cli", "codex_cli"];

/// The provider that needs neither network nor key. Frontends show it behind those that they know.
pub(crate) const SCRIPTED: &str = "scripted";

/// Frontends send no rate. They record at 24 kHz for the live model of this name, and at 16 kHz for all others.
pub const UNSTATED_RATE: SampleRate =
    SampleRate::ByModel(&ModelRates { named: &[("openai_live", 24_000)], other: 16_000 });
