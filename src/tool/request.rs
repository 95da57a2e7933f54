//! The tool `agent:request`: gives work to a code agent. Only the session can do that; this checks the arguments.

use super::call::{Call, Work, arguments};
use super::registry::{Risk, Tool};
use super::workplace::Workplace;
use serde::Deserialize;
use serde_json::json;

pub(super) static REQUEST: Tool = Tool { name: NAME, risk: Risk::Request, prepare };

pub const NAME: &str = "agent:request";
const AGENTS: std::ops::RangeInclusive<u8> = 1..=4;
const LONGEST: usize = 64 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    agent: u8,
    request: String,
}

fn prepare(_: &Workplace, text: &str) -> Result<Call, String> {
    let Arguments { agent, request } = arguments(&REQUEST, text)?;
    if !AGENTS.contains(&agent) {
        return Err("agent has to be a number from 1 to 4".to_owned());
    }
    if request.trim().is_empty() || request.len() > LONGEST {
        return Err("request has to be a text of at most 64 KiB".to_owned());
    }
    let input = json!({ "agent": agent, "request": request });
    let title_values = vec![("agent", agent.to_string()), ("request", request.clone())];
    let work = Work::Request { agent, request };
    Ok(Call { tool: &REQUEST, input, title_values, path: None, lines: None, work })
}
