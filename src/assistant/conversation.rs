//! A conversation between user, model and tools. It is saved in a file of JSON lines, so that it continues after a
//! restart, and shortened to what the model can read.

use crate::provider::chat::{ChatMessage, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Largest conversation, in bytes, even if the model could read more.
const LARGEST: usize = 1024 * 1024;
/// Replaces an old tool result when there is no room for it.
const LEFT_OUT: &str = "[left out to save room]";
/// The newest results are never left out, because the model has not read them yet.
const NEWEST_RESULTS: usize = 4;
/// The result of a call that was never carried out.
const NOT_DONE: &str = "this was not done: the user stopped the run, or the gateway ended";

#[derive(Debug, Default)]
pub struct Conversation {
    messages: Vec<ChatMessage>,
    file: PathBuf,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Row {
    User {
        text: String,
    },
    Assistant {
        text: String,
        #[serde(default)]
        calls: Vec<RowCall>,
    },
    Tool {
        id: String,
        name: String,
        #[serde(default)]
        said: Option<String>,
        #[serde(default)]
        failed: Option<String>,
    },
}

#[derive(Serialize, Deserialize)]
struct RowCall {
    id: String,
    name: String,
    arguments: String,
    #[serde(default)]
    signature: Option<String>,
}

impl Conversation {
    pub fn new(file: &Path) -> Self {
        Self { messages: Vec::new(), file: file.to_owned() }
    }

    /// Loads the conversation that an earlier process saved; blocking. Lines that cannot be read are skipped.
    pub fn load(file: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(file)?;
        let rows = text.lines().filter_map(|line| serde_json::from_str::<Row>(line).ok());
        let messages = rows.map(message).collect();
        let mut conversation = Self { messages, file: file.to_owned() };
        conversation.complete_calls();
        Ok(conversation)
    }

    pub fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    pub fn push(&mut self, message: ChatMessage) {
        self.messages.push(message);
    }

    pub fn clear(&mut self) {
        self.messages.clear();
    }

    /// Makes sure that every call is followed by its result, as all vendors require.
    pub fn complete_calls(&mut self) {
        let mut complete = Vec::with_capacity(self.messages.len());
        let mut open: Vec<ToolCall> = Vec::new();
        for message in self.messages.drain(..) {
            match message {
                ChatMessage::Tool(result) => {
                    // Vendors refuse a result without its call.
                    if let Some(at) = open.iter().position(|call| call.id == result.id) {
                        open.remove(at);
                        complete.push(ChatMessage::Tool(result));
                    }
                }
                ChatMessage::Assistant { text, calls } => {
                    complete.extend(open.drain(..).map(not_done));
                    open.clone_from(&calls);
                    complete.push(ChatMessage::Assistant { text, calls });
                }
                user @ ChatMessage::User { .. } => {
                    complete.extend(open.drain(..).map(not_done));
                    complete.push(user);
                }
            }
        }
        complete.extend(open.into_iter().map(not_done));
        self.messages = complete;
    }

    /// Removes the oldest requests with their answers until the rest fits into `room` bytes. If the newest request
    /// alone is too large, its older tool results are left out.
    pub fn fit(&mut self, room: usize) {
        let room = room.min(LARGEST);
        let is_user = |message: &ChatMessage| matches!(message, ChatMessage::User { .. });
        while self.size() > room {
            let Some(next) = self.messages.iter().skip(1).position(is_user) else { break };
            self.messages.drain(..=next);
        }
        let results =
            self.messages.iter().filter(|one| matches!(one, ChatMessage::Tool(_))).count();
        let mut old = results.saturating_sub(NEWEST_RESULTS);
        for at in 0..self.messages.len() {
            if old == 0 || self.size() <= room {
                return;
            }
            if let ChatMessage::Tool(result) = &mut self.messages[at] {
                result.outcome = Ok(LEFT_OUT.to_owned());
                old -= 1;
            }
        }
    }

    fn size(&self) -> usize {
        self.messages.iter().map(weight).sum()
    }

    /// Saves the conversation; blocking. The file is replaced as a whole, so that it is never incomplete.
    pub fn save(&self) -> io::Result<()> {
        let mut text = String::new();
        for message in &self.messages {
            text.push_str(&serde_json::to_string(&row(message))?);
            text.push('\n');
        }
        if let Some(directory) = self.file.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let fresh = self.file.with_extension("new");
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&fresh, &self.file)
    }

    /// A copy that another thread can save.
    pub fn copy(&self) -> Self {
        Self { messages: self.messages.clone(), file: self.file.clone() }
    }
}

fn not_done(call: ToolCall) -> ChatMessage {
    let outcome = Err(NOT_DONE.to_owned());
    ChatMessage::Tool(ToolResult { id: call.id, name: call.name, outcome })
}

/// Size in bytes, roughly.
fn weight(message: &ChatMessage) -> usize {
    match message {
        // A picture costs about as many tokens as 4 KiB of text.
        ChatMessage::User { text, images } => text.len() + 4_096 * images.len(),
        ChatMessage::Assistant { text, calls } => {
            text.len() + calls.iter().map(|call| call.arguments.len() + 64).sum::<usize>()
        }
        ChatMessage::Tool(result) => match &result.outcome {
            Ok(text) | Err(text) => text.len(),
        },
    }
}

/// Pictures are not saved.
fn row(message: &ChatMessage) -> Row {
    match message {
        ChatMessage::User { text, images } => {
            let seen = if images.is_empty() { "" } else { "\n[pictures that were not saved]" };
            Row::User { text: format!("{text}{seen}") }
        }
        ChatMessage::Assistant { text, calls } => {
            let call = |call: &ToolCall| RowCall {
                id: call.id.clone(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
                signature: call.signature.clone(),
            };
            Row::Assistant { text: text.clone(), calls: calls.iter().map(call).collect() }
        }
        ChatMessage::Tool(ToolResult { id, name, outcome }) => Row::Tool {
            id: id.clone(),
            name: name.clone(),
            said: outcome.as_ref().ok().cloned(),
            failed: outcome.as_ref().err().cloned(),
        },
    }
}

fn message(row: Row) -> ChatMessage {
    match row {
        Row::User { text } => ChatMessage::User { text, images: Vec::new() },
        Row::Assistant { text, calls } => {
            let call = |RowCall { id, name, arguments, signature }| ToolCall {
                id,
                name,
                arguments,
                signature,
            };
            ChatMessage::Assistant { text, calls: calls.into_iter().map(call).collect() }
        }
        Row::Tool { id, name, said, failed } => {
            let outcome = failed.map_or_else(|| Ok(said.unwrap_or_default()), Err);
            ChatMessage::Tool(ToolResult { id, name, outcome })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn user(text: &str) -> ChatMessage {
        ChatMessage::User { text: text.to_owned(), images: Vec::new() }
    }

    fn calls(ids: &[&str]) -> ChatMessage {
        let call = |id: &&str| ToolCall {
            id: (*id).to_owned(),
            name: "read".to_owned(),
            arguments: "{}".to_owned(),
            signature: Some("s".to_owned()),
        };
        ChatMessage::Assistant { text: "look".to_owned(), calls: ids.iter().map(call).collect() }
    }

    fn result(id: &str, outcome: Result<&str, &str>) -> ChatMessage {
        let outcome = outcome.map(str::to_owned).map_err(str::to_owned);
        ChatMessage::Tool(ToolResult { id: id.to_owned(), name: "read".to_owned(), outcome })
    }

    fn of(messages: Vec<ChatMessage>) -> Conversation {
        Conversation { messages, file: PathBuf::new() }
    }

    #[test]
    fn a_saved_conversation_is_loaded_with_a_result_for_every_call() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("some/where/1.jsonl");
        let mut written = Conversation::new(&file);
        assert!(Conversation::load(&file).is_err());
        let said = [user("hi"), calls(&["a", "b"]), result("a", Ok("x")), result("b", Err("y"))];
        said.clone().into_iter().for_each(|message| written.push(message));
        written.push(calls(&["c"]));
        written.save().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        // An incomplete line, as a full disk might leave it.
        fs::write(&file, fs::read_to_string(&file).unwrap() + "{\"role\":").unwrap();
        let read = Conversation::load(&file).unwrap();
        assert_eq!(read.messages[..4], said);
        assert_eq!(read.messages[4..], [calls(&["c"]), result("c", Err(NOT_DONE))]);
    }

    #[test]
    fn every_call_is_followed_by_one_result() {
        let mut said = of(vec![
            result("stray", Ok("")),
            calls(&["a", "b"]),
            result("b", Ok("1")),
            user("stop"),
            result("a", Ok("late")),
        ]);
        said.complete_calls();
        let expected =
            [calls(&["a", "b"]), result("b", Ok("1")), result("a", Err(NOT_DONE)), user("stop")];
        assert_eq!(said.messages, expected);
    }

    #[test]
    fn the_oldest_messages_are_removed_and_the_newest_stay() {
        let long = "x".repeat(1000);
        let mut said = of(vec![user(&long), calls(&["a"]), result("a", Ok(&long)), user("now")]);
        said.fit(1500);
        assert_eq!(said.messages, [user("now")]);
        let mut steps = vec![user("now")];
        for id in ["a", "b", "c", "d", "e", "f"] {
            steps.push(calls(&[id]));
            steps.push(result(id, Ok(&long)));
        }
        let mut said = of(steps);
        said.fit(5500);
        let left_out = said.messages.iter().filter(|one| **one == result("a", Ok(LEFT_OUT)));
        assert_eq!(left_out.count(), 1);
        said.fit(0);
        let whole = said.messages.iter().filter(|message| weight(message) == 1000).count();
        assert_eq!(whole, NEWEST_RESULTS);
    }
}
