//! What a client may ask for beyond the document.

/// Frames and states that the document does not have. Without them a client gets exactly the document's frames, errors
/// and system notices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Additions {
    /// Pieces of the answer while it is made.
    pub deltas: bool,
    /// The state `waiting_for_confirmation`.
    pub states: bool,
    /// What the user said, also on other connections of the session.
    pub inputs: bool,
    /// Tool calls and how questions were answered.
    pub tools: bool,
    /// Messages of the gateway.
    pub notices: bool,
    /// Steps of an assistant that analyses data.
    pub work: bool,
}

impl Additions {
    const ALL: Self =
        Self { deltas: true, states: true, inputs: true, tools: true, notices: true, work: true };

    /// Names with commas between them. The error is the name that does not exist.
    pub fn parse(names: &str) -> Result<Self, String> {
        let mut additions = Self::default();
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "deltas" => additions.deltas = true,
                "states" => additions.states = true,
                "inputs" => additions.inputs = true,
                "tools" => additions.tools = true,
                "notices" => additions.notices = true,
                "work" => additions.work = true,
                "all" => additions = Self::ALL,
                unknown => return Err(unknown.chars().take(64).collect()),
            }
        }
        Ok(additions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_are_named() {
        assert_eq!(Additions::parse(""), Ok(Additions::default()));
        let two = Additions { deltas: true, tools: true, ..Additions::default() };
        assert_eq!(Additions::parse("deltas, tools"), Ok(two));
        assert_eq!(Additions::parse("all"), Ok(Additions::ALL));
        assert_eq!(Additions::parse("deltas,colours"), Err("colours".to_owned()));
    }
}
