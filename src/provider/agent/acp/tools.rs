//! Tool calls of one prompt. An agent tells them in pieces and in any order; we tell them whole.

use super::super::tool::{FileDiff, Location, Tool, ToolKind, ToolStatus};
use agent_client_protocol_schema::v1::{
    self as acp, ContentBlock, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields,
};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::sync::Arc;

/// Calls that are remembered; the oldest are told no more.
const REMEMBERED: usize = 256;
/// Longer texts are cut.
const LONGEST_TEXT: usize = 64 * 1024;
/// A longer input is more than the rules look at; it is cut, and known to be.
const LARGEST_INPUT: usize = 1024 * 1024;
/// Texts of one call that are compared with each other. More would keep others waiting.
const LARGEST_DIFFED: usize = 256 * 1024;
/// What all calls of a prompt may keep whole; further ones are treated as too large.
const KEPT_WHOLE: usize = 16 * 1024 * 1024;
/// Where agents put the exit code of a command.
const EXIT_CODES: [&str; 3] = ["exit_code", "exitCode", "code"];
/// How bubblewrap says that it could not start a command. Codex has a sandbox of its own, which cannot work in
/// our box, and tells the exit code of bubblewrap as that of the command.
const NOT_STARTED: &str = "bwrap: No permissions to create new namespace";
/// Where the built-in agent tells the English title of a call. From others it is one more name that rules may know.
pub(crate) const ENGLISH_TITLE: &str = "kakehashi_english_title";
/// So much new output of a tool that still runs is worth telling.
const WORTH_TELLING: usize = 4 * 1024;

#[derive(Debug, Default)]
pub(super) struct Tools {
    known: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    tool: Tool,
    unseen: Unseen,
    told: Option<Told>,
    /// What its terminal printed after the last line end; `None`: it has none.
    printing: Option<String>,
}

/// Bytes of a call that nobody can judge.
#[derive(Debug, Default)]
struct Unseen {
    title: usize,
    name: usize,
    input: usize,
}

impl Unseen {
    fn sum(&self) -> usize {
        self.title + self.name + self.input
    }
}

/// What of a tool was told last.
#[derive(Debug)]
struct Told {
    tool: Tool,
    output: usize,
}

impl Tools {
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    pub(super) fn any_runs(&self) -> bool {
        self.known.iter().any(|entry| entry.tool.status == ToolStatus::Started)
    }

    /// The call as it is now, if there is something new to tell.
    pub(super) fn begin(&mut self, call: ToolCall) -> Option<Tool> {
        let fields = ToolCallUpdateFields::new()
            .title(call.title)
            .name(call.name)
            .kind(call.kind)
            .status(call.status)
            .content((!call.content.is_empty()).then_some(call.content))
            .locations((!call.locations.is_empty()).then_some(call.locations))
            .raw_input(call.raw_input)
            .raw_output(call.raw_output);
        self.merge(&call.tool_call_id.to_string(), fields, call.meta.as_ref()).news()
    }

    pub(super) fn update(&mut self, update: ToolCallUpdate) -> Option<Tool> {
        self.merge(&update.tool_call_id.to_string(), update.fields, update.meta.as_ref()).news()
    }

    /// Whole lines that the call's terminal has printed: they are told as they come, not with the call.
    pub(super) fn printed(&mut self, update: &ToolCallUpdate) -> Vec<String> {
        let meta = update.meta.as_ref();
        let more = meta.and_then(|meta| meta.get("terminal_output_delta")).and_then(delta);
        let at = self.position(&update.tool_call_id.to_string());
        let entry = &mut self.known[at];
        if let Some(more) = more {
            entry.printing.get_or_insert_default().push_str(more);
        }
        let Some(printing) = &mut entry.printing else { return Vec::new() };
        let is_over = matches!(
            update.fields.status,
            Some(ToolCallStatus::Completed | ToolCallStatus::Failed)
        );
        let whole = printing.rfind('\n').map_or(0, |end| end + 1);
        let end = if is_over || printing.len() > LONGEST_TEXT { printing.len() } else { whole };
        let rest = printing.split_off(end);
        let lines = std::mem::replace(printing, rest);
        lines.lines().map(str::to_owned).collect()
    }

    /// The call that a question is about; it may not have been told before.
    pub(super) fn ask(&mut self, mut update: ToolCallUpdate) -> Tool {
        let at = self.position(&update.tool_call_id.to_string());
        let asked = update.fields.raw_input.take();
        update.fields.raw_input = asked.and_then(|asked| self.known[at].completed(asked));
        let entry =
            self.merge(&update.tool_call_id.to_string(), update.fields, update.meta.as_ref());
        entry.tool.asked = true;
        entry.told = Some(Told { tool: entry.tool.clone(), output: entry.output_size() });
        entry.tool.clone()
    }

    fn merge(
        &mut self,
        id: &str,
        mut fields: ToolCallUpdateFields,
        meta: Option<&Map<String, Value>>,
    ) -> &mut Entry {
        let at = self.position(id);
        let kept: usize = self.known.iter().map(Entry::size).sum();
        let entry = &mut self.known[at];
        let name = fields.name.take().or_else(|| meta.and_then(told_name));
        if let Some(title) = meta.and_then(|meta| meta.get(ENGLISH_TITLE)?.as_str()) {
            entry.tool.english = Some(cut(title.to_owned()));
        }
        entry.take(fields.name(name), KEPT_WHOLE.saturating_sub(kept - entry.size()));
        if let Some(more) = meta.and_then(|meta| meta.get("terminal_output_delta")).and_then(delta)
        {
            entry.lengthen(more);
        }
        let output = entry.tool.output.as_ref();
        if entry.tool.status == ToolStatus::Failed
            && output.is_some_and(|said| said.contains(NOT_STARTED))
        {
            entry.tool.ran = false;
        }
        entry
    }

    fn position(&mut self, id: &str) -> usize {
        if let Some(at) = self.known.iter().position(|entry| entry.tool.id == id) {
            return at;
        }
        if self.known.len() >= REMEMBERED {
            self.known.pop_front();
        }
        let unseen = Unseen::default();
        let tool = Tool::new(id.to_owned(), String::new(), ToolStatus::Started);
        self.known.push_back(Entry { tool, unseen, told: None, printing: None });
        self.known.len() - 1
    }
}

impl Entry {
    /// Keeps at most `room` bytes of what has to be whole.
    fn take(&mut self, fields: ToolCallUpdateFields, room: usize) {
        let tool = &mut self.tool;
        if let Some(title) = fields.title {
            self.unseen.title = title.len().saturating_sub(LONGEST_TEXT);
            tool.title = cut(title);
        }
        if let Some(name) = fields.name {
            self.unseen.name = name.len().saturating_sub(LONGEST_TEXT);
            tool.name = Some(cut(name));
        }
        tool.kind = fields.kind.map_or(tool.kind, kind);
        if let Some(input) = fields.raw_input {
            let (input, unseen) = whole(input.to_string(), room.min(LARGEST_INPUT));
            (tool.input, self.unseen.input) = (Some(input), unseen);
        }
        tool.unseen = self.unseen.sum();
        let room = room.saturating_sub(tool.input.as_ref().map_or(0, |input| input.len()));
        if let Some(locations) = fields.locations {
            let place = |one: acp::ToolCallLocation| Location {
                path: one.path.to_string_lossy().into_owned(),
                line: one.line,
            };
            tool.locations = locations.into_iter().map(place).collect();
        }
        let read = |content| read(content, room.min(LARGEST_DIFFED));
        let (said, diffs) = fields.content.map(read).unwrap_or_default();
        if !diffs.is_empty() {
            tool.diffs = diffs;
        }
        tool.ran |= has_run(fields.status.as_ref(), said.is_some(), fields.raw_output.as_ref());
        let said = said.or_else(|| fields.raw_output.as_ref().map(plain));
        tool.output = said.map(cut).or(tool.output.take());
        match fields.status {
            Some(ToolCallStatus::Completed) => tool.status = ToolStatus::Completed,
            Some(ToolCallStatus::Failed) => {
                tool.status = ToolStatus::Failed;
                tool.error = tool.output.clone();
            }
            Some(_) | None => (),
        }
    }

    /// Some agents ask with less than they have told, or with other keys, and then go by what they have told: whoever
    /// decides has to see all of it. `None`: it stays as it is.
    fn completed(&self, asked: Value) -> Option<Value> {
        if self.tool.status != ToolStatus::Started {
            return Some(asked);
        }
        if self.unseen.input > 0 {
            return None;
        }
        let told = self.tool.input.as_deref().and_then(|told| serde_json::from_str(told).ok());
        match (told, asked) {
            (Some(Value::Object(mut told)), Value::Object(asked)) => {
                told.extend(asked);
                Some(Value::Object(told))
            }
            (Some(_), Value::Null) => None,
            (_, asked) => Some(asked),
        }
    }

    fn lengthen(&mut self, more: &str) {
        self.tool.ran = true;
        let output = self.tool.output.get_or_insert_default();
        output.push_str(more);
        if output.len() > LONGEST_TEXT {
            let from = output.len() - LONGEST_TEXT;
            let border = (from..output.len()).find(|at| output.is_char_boundary(*at));
            output.drain(..border.unwrap_or(from));
        }
    }

    fn news(&mut self) -> Option<Tool> {
        let size = self.output_size();
        let known = self.told.as_ref().is_some_and(|told| {
            let grown = size.abs_diff(told.output);
            // That it was begun is told with its end.
            let (output, ran) = (told.tool.output.clone(), told.tool.ran);
            let same = Tool { output, ran, ..self.tool.clone() } == told.tool;
            same && (self.printing.is_some() || grown < WORTH_TELLING)
        });
        if known {
            return None;
        }
        let news = self.tool.clone();
        if self.tool.status != ToolStatus::Started {
            self.shrink();
        }
        self.told = Some(Told { tool: self.tool.clone(), output: size });
        Some(news)
    }

    /// What is over is not judged any more, and need not be kept whole.
    fn shrink(&mut self) {
        let tool = &mut self.tool;
        if let Some(input) = tool.input.take() {
            let (input, unseen) = if input.len() > LONGEST_TEXT {
                whole(input.as_ref().to_owned(), LONGEST_TEXT)
            } else {
                (input, 0)
            };
            self.unseen.input += unseen;
            tool.input = Some(input);
        }
        tool.unseen = self.unseen.sum();
        tool.diffs.iter_mut().filter(|diff| size(diff) > LONGEST_TEXT).for_each(empty_diff);
    }

    /// Of what is kept whole.
    fn size(&self) -> usize {
        let input = self.tool.input.as_ref().map_or(0, |input| input.len());
        input + self.tool.diffs.iter().map(size).sum::<usize>()
    }

    fn output_size(&self) -> usize {
        self.tool.output.as_ref().map_or(0, String::len)
    }
}

/// Output that comes together with a failure may be the reason why nothing was begun, so it shows nothing. An exit code
/// is there only after something has run.
fn has_run(status: Option<&ToolCallStatus>, speaks: bool, raw_output: Option<&Value>) -> bool {
    let has_code = raw_output.is_some_and(|output| {
        EXIT_CODES.into_iter().any(|key| output.get(key).is_some_and(Value::is_number))
    });
    match status {
        Some(ToolCallStatus::InProgress | ToolCallStatus::Completed) => true,
        Some(ToolCallStatus::Failed) => has_code,
        Some(_) | None => has_code || speaks || raw_output.is_some(),
    }
}

fn kind(kind: acp::ToolKind) -> ToolKind {
    match kind {
        acp::ToolKind::Read => ToolKind::Read,
        acp::ToolKind::Edit => ToolKind::Edit,
        acp::ToolKind::Delete => ToolKind::Delete,
        acp::ToolKind::Move => ToolKind::Move,
        acp::ToolKind::Search => ToolKind::Search,
        acp::ToolKind::Execute => ToolKind::Execute,
        acp::ToolKind::Think => ToolKind::Think,
        acp::ToolKind::Fetch => ToolKind::Fetch,
        acp::ToolKind::SwitchMode => ToolKind::SwitchMode,
        acp::ToolKind::Other | _ => ToolKind::Other,
    }
}

/// Text and changes of what a tool shows; of the changes at most `room` bytes.
fn read(content: Vec<ToolCallContent>, mut room: usize) -> (Option<String>, Vec<FileDiff>) {
    let (mut texts, mut diffs) = (Vec::new(), Vec::new());
    for part in content {
        match part {
            ToolCallContent::Content(part) => {
                if let ContentBlock::Text(text) = part.content {
                    texts.push(text.text);
                }
            }
            ToolCallContent::Diff(diff) => {
                let mut change = FileDiff {
                    path: diff.path.to_string_lossy().into_owned(),
                    old: diff.old_text.map(Arc::from),
                    new: diff.new_text.into(),
                    too_large: None,
                };
                match room.checked_sub(size(&change)) {
                    Some(rest) => room = rest,
                    None => empty_diff(&mut change),
                }
                diffs.push(change);
            }
            ToolCallContent::Terminal(_) | _ => (),
        }
    }
    ((!texts.is_empty()).then(|| texts.join("\n")), diffs)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Some agents tell the name of a tool in a corner of their own, such as `{"claudeCode": {"toolName": "Bash"}}`.
fn told_name(meta: &Map<String, Value>) -> Option<String> {
    meta.values().find_map(|own| own.get("toolName")?.as_str()).map(str::to_owned)
}

/// A piece of a terminal's output, as text or within an object.
fn delta(value: &Value) -> Option<&str> {
    let within =
        || ["data", "delta", "output", "text"].into_iter().find_map(|key| value.get(key)?.as_str());
    value.as_str().or_else(within)
}

/// Of a change, before and after.
fn size(diff: &FileDiff) -> usize {
    diff.old.as_ref().map_or(0, |old| old.len()) + diff.new.len()
}

fn empty_diff(diff: &mut FileDiff) {
    let old = diff.old.as_ref().map_or(0, |old| old.len());
    diff.too_large = diff.too_large.or(Some((old, diff.new.len())));
    diff.old = None;
    diff.new = Arc::default();
}

/// The text, or as much of it as is kept of what is too large, and how many bytes are missing then.
fn whole(mut text: String, room: usize) -> (Arc<str>, usize) {
    let size = text.len();
    if size > room {
        text.truncate(border(&text, LONGEST_TEXT));
    }
    let unseen = size - text.len();
    (text.into(), unseen)
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST_TEXT {
        text.truncate(border(&text, LONGEST_TEXT));
        text.push_str("...");
    }
    text
}

fn border(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn update(value: Value) -> ToolCallUpdate {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn pieces_make_one_call() {
        let mut tools = Tools::default();
        let asked = tools.ask(update(json!({"toolCallId": "a", "title": "Write", "kind": "edit"})));
        assert!(asked.asked && tools.any_runs());
        let call =
            json!({"toolCallId": "a", "title": "Write", "kind": "edit", "rawInput": {"path": "x"}});
        let told = tools.begin(serde_json::from_value(call.clone()).unwrap()).unwrap();
        assert_eq!((told.input.as_deref(), told.asked), (Some(r#"{"path":"x"}"#), true));
        assert_eq!(tools.begin(serde_json::from_value(call).unwrap()), None);
        let diff = json!([{"type": "diff", "path": "/x", "oldText": null, "newText": "n"}]);
        let done = json!({"toolCallId": "a", "status": "completed", "content": diff});
        let told = tools.update(update(done)).unwrap();
        assert_eq!((told.status, told.diffs.len()), (ToolStatus::Completed, 1));
        assert!(!tools.any_runs());
    }

    #[test]
    fn an_input_is_kept_whole_until_the_call_is_over() {
        let mut tools = Tools::default();
        let long = format!("{}tail", "x".repeat(2 * LONGEST_TEXT));
        tools.update(update(json!({"toolCallId": "a", "rawInput": {"command": long}})));
        let asked = tools.ask(update(json!({"toolCallId": "a"})));
        assert!(asked.input.unwrap().ends_with("tail\"}") && asked.unseen == 0);
        tools.update(update(json!({"toolCallId": "a", "status": "completed"}))).unwrap();
        assert_eq!(tools.known[0].size(), LONGEST_TEXT);
        // Who asks about it again asks about something that nobody has.
        assert!(tools.ask(update(json!({"toolCallId": "a"}))).unseen > LONGEST_TEXT);
    }

    #[test]
    fn a_question_takes_nothing_back_of_what_was_told() {
        let mut tools = Tools::default();
        for (asked, expected) in [
            (json!({}), json!({"command": "ls", "cwd": "/a"})),
            (json!(null), json!({"command": "ls", "cwd": "/a"})),
            (json!({"cwd": "/b", "why": 1}), json!({"command": "ls", "cwd": "/b", "why": 1})),
            (json!("ls"), json!("ls")),
        ] {
            tools.clear();
            let told = json!({"command": "ls", "cwd": "/a"});
            tools.update(update(json!({"toolCallId": "a", "rawInput": told})));
            let asked = tools.ask(update(json!({"toolCallId": "a", "rawInput": asked})));
            let input: Value = serde_json::from_str(asked.input.as_deref().unwrap()).unwrap();
            assert_eq!(input, expected);
        }
        // Neither of what is too large to be kept.
        let huge = json!({"toolCallId": "b", "rawInput": "x".repeat(LARGEST_INPUT)});
        tools.update(update(huge));
        assert!(tools.ask(update(json!({"toolCallId": "b", "rawInput": {}}))).unseen > 0);
        // A call that is over says nothing about the next one of its name.
        tools.update(update(json!({"toolCallId": "a", "status": "completed"})));
        let next = tools.ask(update(json!({"toolCallId": "a", "rawInput": {"b": 1}})));
        assert_eq!(next.input.as_deref(), Some(r#"{"b":1}"#));
    }

    #[test]
    fn what_is_missing_of_a_call_is_known() {
        let mut tools = Tools::default();
        let size = LARGEST_INPUT + 7;
        let huge = json!({"toolCallId": "a", "rawInput": "x".repeat(size)});
        let asked = tools.ask(update(huge));
        assert_eq!(asked.input.as_ref().unwrap().len() + asked.unseen, size + 2);
        assert!(asked.unseen > 0);
        let title = json!({"toolCallId": "b", "title": "x".repeat(LONGEST_TEXT + 3)});
        assert_eq!(tools.ask(update(title)).unseen, 3);
        for number in 0..30 {
            let input = "x".repeat(LARGEST_INPUT - 2);
            tools.update(update(json!({"toolCallId": number.to_string(), "rawInput": input})));
        }
        let kept: usize = tools.known.iter().map(Entry::size).sum();
        assert!(kept < KEPT_WHOLE + 40 * LONGEST_TEXT, "{kept}");
        assert!(tools.ask(update(json!({"toolCallId": "29"}))).unseen > 0);
    }

    #[test]
    fn changes_are_kept_whole_as_far_as_they_are_compared() {
        let mut tools = Tools::default();
        let old = "line\n".repeat(20_000);
        let diff = |text: &str| json!({"type": "diff", "path": "/x", "oldText": old, "newText": format!("{old}{text}")});
        let asked = json!({"toolCallId": "a", "content": [diff("end"), diff("too much")]});
        let asked = tools.ask(update(asked));
        assert!(asked.diffs[0].new.ends_with("end") && asked.diffs[0].too_large.is_none());
        assert_eq!(asked.diffs[1].too_large, Some((100_000, 100_008)));
    }

    #[test]
    fn output_of_a_terminal_grows_and_loses_its_beginning() {
        let mut tools = Tools::default();
        for number in 0..100 {
            let piece = format!("{number}{}", "x".repeat(1000));
            let meta = json!({"terminal_output_delta": {"data": piece}});
            tools.update(update(json!({"toolCallId": "t", "_meta": meta})));
        }
        let told = tools.update(update(json!({"toolCallId": "t", "status": "failed"}))).unwrap();
        let output = told.output.unwrap();
        assert!(output.len() <= LONGEST_TEXT && output.ends_with("xx") && output.contains("99x"));
        assert_eq!(told.error, Some(output));
    }

    #[test]
    fn what_a_terminal_prints_is_told_line_by_line() {
        let mut tools = Tools::default();
        let mut told = Vec::new();
        for (piece, status) in [("one\ntw", None), ("o\r\n\n", None), ("end", Some("completed"))] {
            let mut piece =
                json!({"toolCallId": "t", "_meta": {"terminal_output_delta": {"data": piece}}});
            if let Some(status) = status {
                piece["status"] = json!(status);
            }
            told.extend(tools.printed(&update(piece.clone())));
            tools.update(update(piece));
        }
        assert_eq!(told, ["one", "two", "", "end"]);
        assert!(tools.printed(&update(json!({"toolCallId": "u"}))).is_empty());
    }

    #[test]
    fn old_calls_are_forgotten() {
        let mut tools = Tools::default();
        for number in 0..2 * REMEMBERED {
            tools.update(update(json!({"toolCallId": number.to_string()})));
        }
        assert_eq!(tools.known.len(), REMEMBERED);
    }
}
