//! Differences between the generations of Gemini Live models, which are recognized by the model's name.

/// In order of age: newer ones compare as larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    /// 2.x: chooses its language by itself, and forgets a given history when the user speaks.
    Second,
    /// 3.0 to 3.7: closes (1007) on content after its first turn, and calls no tools while it speaks.
    Third,
    /// 3.8 and later, and models with other names.
    Current,
}

impl Family {
    pub(super) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        let Some(rest) = name.strip_prefix("gemini-") else {
            return Self::Current;
        };
        let rest = rest.strip_prefix("live-").unwrap_or(rest);
        let mut numbers = rest.split('-').next().unwrap_or(rest).split('.').map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(..=2)), _) => Self::Second,
            (Some(Ok(3)), None | Some(Ok(..=7))) => Self::Third,
            _ => Self::Current,
        }
    }

    /// Takes a language code in the setup; others close (1007) on it.
    pub(super) fn takes_language(self) -> bool {
        self == Self::Current
    }

    /// Takes the history as content before the first turn.
    pub(super) fn takes_history(self) -> bool {
        self >= Self::Third
    }

    /// Goes on speaking while a tool runs, and can be told when to speak about the result.
    pub(super) fn works_aside(self) -> bool {
        self != Self::Third
    }

    /// Accepts the handle of a session with long instructions, but has forgotten the session.
    pub(super) fn forgets_long_sessions(self) -> bool {
        self == Self::Third
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_model_tells_its_generation() {
        for (name, family) in [
            ("gemini-2.0-flash-live-001", Family::Second),
            ("models/gemini-2.5-flash-native-audio-preview-12-2025", Family::Second),
            ("gemini-live-2.5-flash-native-audio", Family::Second),
            ("gemini-3-flash-live", Family::Third),
            ("gemini-3.1-flash-live-preview", Family::Third),
            ("gemini-3.8-live", Family::Current),
            ("models/gemini-4-live", Family::Current),
            ("projects/p/locations/l/publishers/google/models/gemini-3.8-live", Family::Current),
            ("gemini-flash-live-latest", Family::Current),
            ("gemini-", Family::Current),
            ("", Family::Current),
            ("something-2.5", Family::Current),
        ] {
            assert_eq!(Family::of(name), family, "{name}");
        }
    }
}
