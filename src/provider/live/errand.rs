//! The one tool that live models have: work for a code agent.

use crate::message::AgentSlot;
use serde::Deserialize;

/// What a model calls to give work to a code agent, with `channel` and `request`.
pub const GIVE_WORK_TOOL: &str = "code_agent_request";

/// Work that a model wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errand {
    pub agent: AgentSlot,
    pub request: String,
}

/// Models write numbers as texts now and then.
#[derive(Debug, Deserialize)]
struct Arguments {
    channel: Number,
    request: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Number(u8),
    Text(String),
}

impl Errand {
    /// `Err` says why not, in words for the model.
    pub fn read(tool: &str, arguments: &str) -> Result<Self, String> {
        if tool != GIVE_WORK_TOOL {
            return Err(format!("there is no tool {tool}"));
        }
        let Arguments { channel, request } = serde_json::from_str(arguments)
            .map_err(|_| "channel (1 to 4) and request are needed".to_owned())?;
        let number = match channel {
            Number::Number(number) => Some(number),
            Number::Text(text) => text.trim().parse().ok(),
        };
        let agent = number.and_then(AgentSlot::new).ok_or("the channel must be from 1 to 4")?;
        let request = request.trim().to_owned();
        if request.is_empty() {
            Err("the request is empty".into())
        } else {
            Ok(Self { agent, request })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_read_and_nonsense_is_explained() {
        let two = AgentSlot::ALL[1];
        for arguments in
            [r#"{"channel":2,"request":" fix it "}"#, r#"{"request":"fix it","channel":"2"}"#]
        {
            let errand = Errand::read(GIVE_WORK_TOOL, arguments).unwrap();
            assert_eq!(errand, Errand { agent: two, request: "fix it".into() });
        }
        for (tool, arguments, why) in [
            ("rm", "{}", "there is no tool rm"),
            (GIVE_WORK_TOOL, "{", "channel (1 to 4) and request are needed"),
            (GIVE_WORK_TOOL, r#"{"channel":1}"#, "channel (1 to 4) and request are needed"),
            (GIVE_WORK_TOOL, r#"{"channel":5,"request":"x"}"#, "the channel must be from 1 to 4"),
            (
                GIVE_WORK_TOOL,
                r#"{"channel":"two","request":"x"}"#,
                "the channel must be from 1 to 4",
            ),
            (GIVE_WORK_TOOL, r#"{"channel":1,"request":" "}"#, "the request is empty"),
        ] {
            assert_eq!(Errand::read(tool, arguments).unwrap_err(), why);
        }
    }
}
