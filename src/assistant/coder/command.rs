//! Exact commands such as `/read`, which people type and which need no model. There is one command per line. A text of
//! several lines is fenced; a long enough fence can hold any text.

use crate::tool::LONGEST_SECONDS;
use serde_json::{Value, json};
use std::iter::Peekable;
use std::ops::RangeInclusive;

const NAMES: [&str; 8] = ["help", "new", "read", "list", "search", "write", "replace", "run"];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    /// Forget the conversation.
    New,
    Tool(ToolRequest),
}

/// The name of a tool, and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolRequest {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

fn request(tool: &'static str, arguments: Value) -> ToolRequest {
    ToolRequest { tool, arguments }
}

/// A command that a person typed gets the longest timeout, because the person can cancel it.
fn execute(command: &str) -> ToolRequest {
    request("shell:execute", json!({ "command": command, "seconds": LONGEST_SECONDS }))
}

/// Whether the text is meant as commands. A sentence that begins with a path is not.
pub(super) fn is_command(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix('/') else { return false };
    let word = rest.split_whitespace().next().unwrap_or_default();
    NAMES.contains(&word) || !word.contains(['/', '.'])
}

type Lines<'a> = Peekable<std::iter::Zip<std::ops::RangeFrom<usize>, std::str::Lines<'a>>>;

/// All commands of a text, or the first mistake, so that nothing is carried out unless the whole text is understood.
pub(super) fn parse(text: &str) -> Result<Vec<Command>, String> {
    let mut lines: Lines<'_> = (1..).zip(text.lines()).peekable();
    let mut commands = Vec::new();
    while let Some((number, line)) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        let command = command(line.trim(), &mut lines);
        commands.push(command.map_err(|wrong| format!("line {number}: {wrong}"))?);
    }
    Ok(commands)
}

fn command(line: &str, lines: &mut Lines<'_>) -> Result<Command, String> {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let call = match name.strip_prefix('/') {
        Some("help") => return Ok(Command::Help),
        Some("new") => return Ok(Command::New),
        Some("read") => read(rest)?,
        Some("list") => request("file:list", json!({ "path": rest })),
        Some("search") => search(rest)?,
        Some("write") => {
            let path =
                required(rest, "/write needs a path: /write notes.txt, and the text below it")?;
            request("file:write", json!({ "path": path, "content": body(lines)? }))
        }
        Some("replace") => replace(rest, lines)?,
        Some("run") if rest.is_empty() => {
            let script = fenced(lines)?;
            let missing = "/run needs a command: /run ls -l, or a fenced text below it";
            execute(&script.ok_or(missing)?)
        }
        Some("run") => execute(rest),
        Some(_) | None => {
            let known = NAMES.map(|name| format!("/{name}")).join(" ");
            return Err(format!("`{name}` is no command; there are {known}"));
        }
    };
    Ok(Command::Tool(call))
}

fn required(text: &str, otherwise: &str) -> Result<String, String> {
    if text.is_empty() { Err(otherwise.to_owned()) } else { Ok(text.to_owned()) }
}

fn read(rest: &str) -> Result<ToolRequest, String> {
    const EXPECTED: &str = "/read needs a path, and may have lines: /read src/main.rs 10-40";
    let all = || Ok(request("file:read", json!({ "path": required(rest, EXPECTED)? })));
    let Some((path, last)) = rest.rsplit_once(char::is_whitespace) else { return all() };
    let Some(lines) = range(last) else { return all() };
    if *lines.start() == 0 || lines.is_empty() {
        return Err(format!("there are no lines {last}: lines count from 1; {EXPECTED}"));
    }
    let (from, to) = lines.into_inner();
    Ok(request("file:read", json!({ "path": path.trim_end(), "from": from, "to": to })))
}

/// `7`, `7-` or `7-9`.
fn range(text: &str) -> Option<RangeInclusive<usize>> {
    match text.split_once('-') {
        None => text.parse().ok().map(|line| line..=line),
        Some((from, "")) => from.parse().ok().map(|from| from..=usize::MAX),
        Some((from, to)) => Some(from.parse().ok()?..=to.parse().ok()?),
    }
}

fn search(rest: &str) -> Result<ToolRequest, String> {
    const EXPECTED: &str = "/search needs a pattern, in quotes if it has spaces, and may have a path: /search \"fn main\" src";
    let (pattern, path) = match rest.strip_prefix('"') {
        None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        Some(quoted) => {
            let ends = |at: &usize| {
                let after = &quoted[at + 1..];
                after.is_empty() || after.starts_with(char::is_whitespace)
            };
            let end = quoted.rmatch_indices('"').map(|(at, _)| at).find(ends);
            let end = end.ok_or(format!("the quote is not closed; {EXPECTED}"))?;
            (&quoted[..end], &quoted[end + 1..])
        }
    };
    let pattern = required(pattern, EXPECTED)?;
    Ok(request("file:search", json!({ "pattern": pattern, "path": path.trim() })))
}

fn replace(rest: &str, lines: &mut Lines<'_>) -> Result<ToolRequest, String> {
    const EXPECTED: &str = "/replace needs a path, then `all` to replace every occurrence, and below it the old and the new text, each between lines of ```";
    let (path, all) = match rest.rsplit_once(char::is_whitespace) {
        Some((path, "all")) => (path.trim_end(), true),
        Some(_) | None => (rest, false),
    };
    let path = required(path, EXPECTED)?;
    let old = fenced(lines)?.ok_or(EXPECTED)?;
    let new = fenced(lines)?.ok_or(EXPECTED)?;
    Ok(request("file:replace", json!({ "path": path, "old": old, "new": new, "all": all })))
}

/// The content of a file: a fenced text, or all remaining lines.
fn body(lines: &mut Lines<'_>) -> Result<String, String> {
    let text = match fenced(lines)? {
        Some(text) => text,
        None => lines.by_ref().map(|(_, line)| line).collect::<Vec<_>>().join("\n"),
    };
    Ok(if text.is_empty() { text } else { text + "\n" })
}

/// A fenced text, without its last line break. The closing fence has as many backticks as the opening one. `None`: the
/// next line is not a fence.
fn fenced(lines: &mut Lines<'_>) -> Result<Option<String>, String> {
    let Some((number, first)) = lines.peek().copied() else { return Ok(None) };
    let count = first.chars().take_while(|one| *one == '`').count();
    if count < 3 || first[count..].contains('`') {
        return Ok(None);
    }
    lines.next();
    let closing = &first[..count];
    let mut text = Vec::new();
    for (_, line) in lines.by_ref() {
        if line.trim_end() == closing {
            return Ok(Some(text.join("\n")));
        }
        text.push(line);
    }
    Err(format!("the fence of line {number} is not closed: {closing} is missing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, arguments: &Value) -> Command {
        let name = format!("file:{name}");
        let tool = crate::tool::find(&name).unwrap().name;
        Command::Tool(request(tool, arguments.clone()))
    }

    #[track_caller]
    fn check(text: &str, expected: &[Command]) {
        assert_eq!(parse(text).as_deref(), Ok(expected));
    }

    #[track_caller]
    fn check_wrong(text: &str, expected: &str) {
        let wrong = parse(text).unwrap_err();
        assert!(wrong.contains(expected), "{wrong}");
    }

    #[test]
    fn commands_are_understood() {
        check("/help", &[Command::Help]);
        check("\n/new\n\n/list\n", &[Command::New, tool("list", &json!({"path": ""}))]);
        check("/read a b.txt", &[tool("read", &json!({"path": "a b.txt"}))]);
        check("/read a 3-5", &[tool("read", &json!({"path": "a", "from": 3, "to": 5}))]);
        check("/read a 3", &[tool("read", &json!({"path": "a", "from": 3, "to": 3}))]);
        check("/read a 3-", &[tool("read", &json!({"path": "a", "from": 3, "to": usize::MAX}))]);
        check("/list src", &[tool("list", &json!({"path": "src"}))]);
        check("/search x+ src", &[tool("search", &json!({"pattern": "x+", "path": "src"}))]);
        check(
            "/search \"say \"hi\" to\" a b",
            &[tool("search", &json!({"pattern": "say \"hi\" to", "path": "a b"}))],
        );
        let run = |command: &str| Command::Tool(execute(command));
        check("/run ls  -l | wc", &[run("ls  -l | wc")]);
        check("/run\n```sh\ncd a\nls\n```\n/help", &[run("cd a\nls"), Command::Help]);
    }

    #[test]
    fn texts_of_several_lines_may_contain_anything() {
        let write = |content: &str| tool("write", &json!({"path": "a", "content": content}));
        check("/write a", &[write("")]);
        check("/write a\none\n/run x\n\n", &[write("one\n/run x\n\n")]);
        check("/write a\n```\none\n```\n/help", &[write("one\n"), Command::Help]);
        check("/write a\n````md\n```\nx\n```\n````", &[write("```\nx\n```\n")]);
        let replace = json!({"path": "a b", "old": "x\n````", "new": "", "all": true});
        check("/replace a b all\n`````\nx\n````\n`````\n```\n```", &[tool("replace", &replace)]);
    }

    #[test]
    fn mistakes_say_what_was_expected() {
        check_wrong("/read", "line 1: /read needs a path");
        check_wrong("/read a 0-3", "lines count from 1");
        check_wrong("/read a 5-3", "there are no lines 5-3");
        check_wrong("/help\n/search", "line 2: /search needs a pattern");
        check_wrong("/search \"x", "the quote is not closed");
        check_wrong("/write", "/write needs a path");
        check_wrong("/write a\n```\nx", "the fence of line 2 is not closed: ``` is missing");
        check_wrong("/replace a\n```\nx\n```", "/replace needs a path, then `all`");
        check_wrong("/run", "/run needs a command");
        check_wrong("/rum ls", "`/rum` is no command; there are /help /new /read");
        check_wrong("/list\nhello", "line 2: `hello` is no command");
    }

    #[test]
    fn a_path_at_the_beginning_is_no_command() {
        for (text, expected) in [
            ("/help", true),
            (" /rum", true),
            ("/run a/b.sh", true),
            ("/home/me/x.rs is broken", false),
            ("/a.txt", false),
            ("help", false),
        ] {
            assert_eq!(is_command(text), expected, "{text}");
        }
    }
}
