//! `kakehashi.toml` as it is written. Every value checks itself while it is read, so that a mistake is
//! reported with its line.

use super::agent::Agent;
use super::analyst::RawAnalyst;
use super::chat::RawChat;
use super::check::RawCheck;
use super::confine::RawBox;
use super::custom::RawTool;
use super::exposure::Proxy;
use super::live::RawLive;
use super::origin::{Host, Origin};
use super::project::ProjectName;
use super::settings::RawSettings;
use super::smol::RawSmol;
use super::tls::RawTls;
use super::user::User;
use super::voice::RawVoice;
use super::webhook::RawWebhook;
use crate::locale::Locale;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawConfig {
    pub(super) listen: Listen,
    pub(super) project: PathBuf,
    pub(super) data: PathBuf,
    pub(super) language: Locale,
    pub(super) models: Models,
    pub(super) models_from_environment: bool,
    pub(super) chat: Vec<RawChat>,
    pub(super) live: Vec<RawLive>,
    pub(super) retention_days: Within<0, 36_500>,
    pub(super) audit_days: Within<0, 36_500>,
    pub(super) policy: PathBuf,
    pub(super) allowed_origins: Vec<Origin>,
    pub(super) allowed_hosts: Vec<Host>,
    pub(super) users: Vec<User>,
    pub(super) agents_early: bool,
    pub(super) agents: Vec<Agent>,
    pub(super) check: RawCheck,
    pub(super) webhook: RawWebhook,
    pub(super) voice: RawVoice,
    #[serde(rename = "box")]
    pub(super) confine: RawBox,
    pub(super) analyst: RawAnalyst,
    pub(super) smol: RawSmol,
    pub(super) tool: Vec<RawTool>,
    pub(super) login: RawLogin,
    pub(super) projects: BTreeMap<ProjectName, PathBuf>,
    pub(super) trusted_proxy: Vec<Proxy>,
    pub(super) tls: RawTls,
    pub(super) limits: RawLimits,
    pub(super) files: RawFiles,
    pub(super) settings: RawSettings,
}

impl Default for RawConfig {
    fn default() -> Self {
        Self {
            listen: Listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 8091))),
            project: ".".into(),
            data: PathBuf::new(),
            language: Locale::Ja,
            models: Models::Auto,
            models_from_environment: true,
            chat: Vec::new(),
            live: Vec::new(),
            retention_days: Within(0),
            audit_days: Within(90),
            policy: PathBuf::new(),
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            users: Vec::new(),
            agents_early: true,
            agents: Vec::new(),
            check: RawCheck::default(),
            webhook: RawWebhook::default(),
            voice: RawVoice::default(),
            confine: RawBox::default(),
            analyst: RawAnalyst::default(),
            smol: RawSmol::default(),
            tool: Vec::new(),
            login: RawLogin::default(),
            projects: BTreeMap::new(),
            trusted_proxy: Vec::new(),
            tls: RawTls::default(),
            limits: RawLimits::default(),
            files: RawFiles::default(),
            settings: RawSettings::default(),
        }
    }
}

/// Which family of models answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Models {
    /// What is configured or found on this machine; scripted ones, if there is nothing.
    Auto,
    /// Nothing else, for tests and for trying out.
    Scripted,
}

/// Whether others may reach it is decided when everything is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Listen(pub(super) SocketAddr);

impl TryFrom<String> for Listen {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let address = text.parse::<SocketAddr>();
        address
            .map(Self)
            .map_err(|_| format!("`{text}` is not an address like 127.0.0.1:8091 or [::1]:8091"))
    }
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawLogin {
    pub(super) token_hours: Within<1, 87_600>,
    pub(super) attempts: Within<1, 1000>,
}

impl Default for RawLogin {
    fn default() -> Self {
        Self { token_hours: Within(720), attempts: Within(5) }
    }
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawLimits {
    pub(super) handshake_seconds: Within<1, 3600>,
    pub(super) header_seconds: Within<1, 3600>,
    pub(super) audio_frame_kib: Within<1, 1_048_576>,
    pub(super) input_frame_kib: Within<1, 1_048_576>,
    pub(super) other_frame_kib: Within<1, 1_048_576>,
    pub(super) image_megapixels: Within<1, 1000>,
    pub(super) sockets_per_channel: Within<1, 1_000_000>,
    pub(super) sockets_per_principal: Within<1, 1_000_000>,
    pub(super) sockets: Within<1, 1_000_000>,
    pub(super) connections: Within<1, 1_000_000>,
    pub(super) connections_per_address: Within<1, 1_000_000>,
    pub(super) queue_per_channel: Within<1, 10_000>,
    pub(super) unload_minutes: Within<1, 525_600>,
    pub(super) idle_sessions: Within<1, 1_000_000>,
    pub(super) idle_sessions_mib: Within<1, 1_048_576>,
    pub(super) agent_idle_minutes: Within<1, 525_600>,
    pub(super) write_seconds: Within<1, 3600>,
    pub(super) ping_seconds: Within<1, 3600>,
    pub(super) request_hours: Within<1, 8760>,
    pub(super) confirm_seconds: Within<1, 86_400>,
    pub(super) command_seconds: Within<1, 1800>,
    pub(super) chat_kilotokens_per_day: Within<0, 1_000_000_000>,
    pub(super) shutdown_seconds: Within<1, 3600>,
}

impl Default for RawLimits {
    fn default() -> Self {
        Self {
            handshake_seconds: Within(10),
            header_seconds: Within(10),
            audio_frame_kib: Within(256),
            input_frame_kib: Within(32_768),
            other_frame_kib: Within(64),
            image_megapixels: Within(50),
            sockets_per_channel: Within(8),
            sockets_per_principal: Within(64),
            sockets: Within(20_000),
            connections: Within(20_500),
            connections_per_address: Within(1024),
            queue_per_channel: Within(16),
            unload_minutes: Within(30),
            idle_sessions: Within(256),
            idle_sessions_mib: Within(64),
            agent_idle_minutes: Within(30),
            write_seconds: Within(5),
            ping_seconds: Within(20),
            request_hours: Within(24),
            confirm_seconds: Within(300),
            command_seconds: Within(30),
            chat_kilotokens_per_day: Within(0),
            shutdown_seconds: Within(5),
        }
    }
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawFiles {
    pub(super) backup_keep: Within<1, 100_000>,
    pub(super) backup_days: Within<1, 36_500>,
    pub(super) temp_quota_mib: Within<1, 16_777_216>,
    pub(super) temp_days: Within<1, 36_500>,
    pub(super) content_mib: Within<1, 1024>,
}

impl Default for RawFiles {
    fn default() -> Self {
        Self {
            backup_keep: Within(50),
            backup_days: Within(30),
            temp_quota_mib: Within(2_048),
            temp_days: Within(7),
            content_mib: Within(32),
        }
    }
}

/// A number from `LOW` to `HIGH`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub(super) struct Within<const LOW: u32, const HIGH: u32>(pub(super) u32);

impl<const LOW: u32, const HIGH: u32> TryFrom<i64> for Within<LOW, HIGH> {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        match u32::try_from(number) {
            Ok(small) if (LOW..=HIGH).contains(&small) => Ok(Self(small)),
            Ok(_) | Err(_) => Err(format!("{number} is not allowed, only {LOW} to {HIGH}")),
        }
    }
}

impl<const LOW: u32, const HIGH: u32> Within<LOW, HIGH> {
    pub(super) fn seconds(self) -> Duration {
        Duration::from_secs(self.0.into())
    }

    pub(super) fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    pub(super) fn kib(self) -> usize {
        self.count().saturating_mul(1024)
    }
}

/// Where the file is wrong, and how.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) line: usize,
    pub(super) reason: String,
}

pub(super) fn parse(text: &str) -> Result<RawConfig, Mistake> {
    toml::from_str(text).map_err(|err| mistake(text, &err))
}

fn mistake(text: &str, err: &toml::de::Error) -> Mistake {
    let start = err.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or(text);
    let line = before.matches('\n').count();
    let message = err.message().replace("unknown field", "unknown key").replace('\n', "; ");
    let key =
        text.lines().nth(line).and_then(|line| line.split_once('=')).map(|(key, _)| key.trim());
    let reason = match key {
        Some(key) if !message.contains(&format!("`{key}`")) => format!("{key}: {message}"),
        Some(_) | None => message,
    };
    Mistake { line: line + 1, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = include_str!("../../config/kakehashi.toml");

    #[test]
    fn the_shipped_file_says_exactly_the_defaults() {
        assert_eq!(parse(SHIPPED).unwrap(), RawConfig::default());
    }

    #[test]
    fn the_shipped_file_lists_every_key() {
        let shipped: toml::Table = SHIPPED.parse().unwrap();
        assert_eq!(sorted(shipped.keys()), known_keys(""));
        for section in ["webhook", "voice", "login", "box", "tls", "limits", "files", "settings"] {
            let keys = sorted(shipped[section].as_table().unwrap().keys());
            assert_eq!(keys, known_keys(&format!("[{section}]\n")));
        }
    }

    /// The examples are comments, so that the file stays what the defaults are.
    #[test]
    fn the_examples_of_chat_models_are_right_and_show_every_key() {
        let chat = SHIPPED.lines().skip_while(|line| *line != "#   [[chat]]");
        let chat = chat.take_while(|line| line.starts_with("#   "));
        let examples: String = chat.map(|line| format!("{}\n", &line[4..])).collect();
        assert_eq!(parse(&examples).unwrap().chat.len(), 6, "{examples}");
        check_keys(&examples, "[[chat]]\n");
    }

    #[test]
    fn the_examples_of_live_models_are_right_and_show_every_key() {
        let live = SHIPPED.lines().skip_while(|line| *line != "#   [[live]]");
        let live = live.take_while(|line| line.starts_with("#   "));
        let examples: String = live.map(|line| format!("{}\n", &line[4..])).collect();
        assert_eq!(parse(&examples).unwrap().live.len(), 3, "{examples}");
        check_keys(&examples, "[[live]]\n");
    }

    #[track_caller]
    fn check_keys(examples: &str, section: &str) {
        let keys = known_keys(section);
        assert!(keys.contains(&"base_url".to_owned()), "{keys:?}");
        for key in keys {
            assert!(examples.contains(&format!("{key} = ")), "no example has `{key}`");
        }
    }

    #[test]
    fn every_key_of_the_shipped_file_has_a_comment() {
        let lines: Vec<_> = SHIPPED.lines().collect();
        for pair in
            lines.windows(2).filter(|pair| !pair[1].starts_with('#') && pair[1].contains('='))
        {
            assert!(pair[0].starts_with("# "), "no comment above `{}`", pair[1]);
        }
    }

    fn sorted<'a>(keys: impl Iterator<Item = &'a String>) -> Vec<String> {
        let mut keys: Vec<_> = keys.cloned().collect();
        keys.sort();
        keys
    }

    /// The parser itself says what it would have taken instead of a key it does not know.
    fn known_keys(section: &str) -> Vec<String> {
        let reason = parse(&format!("{section}surely_unknown = 1\n")).unwrap_err().reason;
        let names: Vec<_> = reason.split('`').skip(3).step_by(2).map(str::to_owned).collect();
        sorted(names.iter())
    }
}
