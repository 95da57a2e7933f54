//! The types of frames that clients send after their hello.

/// The names of all these types.
pub fn client_types() -> [&'static str; 18] {
    Kind::NAMES.map(|(name, _)| name)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Send,
    Cancel,
    Answer,
    Upload,
    Files,
    Watch,
    Unwatch,
    Compare,
    Diff,
    Accept,
    Discard,
    Restore,
    Snapshots,
    Settings,
    Set,
    StopPlayback,
    Played,
    TalkKey,
}

impl Kind {
    /// A type that is not listed here cannot be read.
    const NAMES: [(&'static str, Self); 18] = [
        ("send", Self::Send),
        ("cancel", Self::Cancel),
        ("answer", Self::Answer),
        ("upload", Self::Upload),
        ("files", Self::Files),
        ("watch", Self::Watch),
        ("unwatch", Self::Unwatch),
        ("compare", Self::Compare),
        ("diff", Self::Diff),
        ("accept", Self::Accept),
        ("discard", Self::Discard),
        ("restore", Self::Restore),
        ("snapshots", Self::Snapshots),
        ("settings", Self::Settings),
        ("set", Self::Set),
        ("stop_playback", Self::StopPlayback),
        ("played", Self::Played),
        ("talk_key", Self::TalkKey),
    ];

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }
}
