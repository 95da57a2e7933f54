//! Arguments and input of programs that nobody here knows: some of them are commands, as in `tar --to-command='...'` or
//! `vim -c '!...'`. What would certainly be refused as a command is dangerous there, and anything else is a text.

use super::code::{REMOVERS, literals};
use super::field::{Feed, Field};
use super::walk::{Dirs, Walker};
use super::{Danger, reason};

/// What is said to people with one of these is no command.
const MESSAGES: [&str; 22] = [
    "m",
    "message",
    "title",
    "body",
    "b",
    "t",
    "description",
    "desc",
    "comment",
    "notes",
    "note",
    "subject",
    "text",
    "content",
    "summary",
    "data",
    "query",
    "grep",
    "reason",
    "label",
    "name",
    "header",
];
/// They run commands that stand in what they read.
const READERS: [&str; 18] = [
    "make", "gmake", "ed", "ex", "vi", "vim", "nvim", "m4", "bc", "crontab", "gdb", "lldb",
    "sqlite3", "psql", "mysql", "ftp", "sftp", "lftp",
];
/// Words with which programs begin such a command.
const BEGINS: [&str; 8] = ["shell", "system", "exec", "spawn", "sh", "run", ".shell", ".system"];
/// Of one program.
const MOST_TEXTS: usize = 64;
/// Of one text.
const MOST_LINES: usize = 200;
impl Walker<'_> {
    pub(super) fn perhaps(&mut self, name: &str, arguments: &[Field], dirs: &Dirs, input: &Feed) {
        let mut texts = Vec::new();
        let mut is_message = false;
        for field in arguments.iter().take(MOST_TEXTS) {
            // What is read from a pipe.
            if let Some(Feed::Known(text)) = &field.feed {
                texts.push(text.clone());
            }
            let key = field.text.split('=').next().unwrap_or_default().trim_start_matches('-');
            let was_message = std::mem::replace(&mut is_message, MESSAGES.contains(&key));
            let says = was_message || (is_message && field.text.contains('='));
            if !says && field.text.contains(char::is_whitespace) {
                texts.push(field.text.clone());
            }
        }
        if READERS.contains(&name) {
            match input {
                Feed::Known(text) => texts.push(text.clone()),
                Feed::Downloaded => self.critical(reason::DOWNLOADED),
                Feed::Nothing | Feed::File | Feed::Unknown => {}
            }
        }
        // Code for whatever runs it.
        let removes = |field: &Field| {
            field.text.contains('(') && REMOVERS.iter().any(|name| field.text.contains(name))
        };
        if !self.lenient && arguments.iter().any(removes) {
            self.critical(reason::REMOVES);
        }
        self.perhaps_texts(&texts, dirs);
    }

    pub(super) fn perhaps_texts(&mut self, texts: &[String], dirs: &Dirs) {
        if self.lenient || texts.is_empty() || self.depth >= super::parse::DEEPEST {
            return;
        }
        let before = self.danger.clone();
        self.lenient = true;
        self.depth += 1;
        for line in texts.iter().flat_map(|text| text.lines()).take(MOST_LINES) {
            for begin in beginnings(line) {
                self.text(begin, dirs, &Feed::Nothing);
            }
            for inner in literals(line).iter().chain(&in_brackets(line)) {
                self.text(inner, dirs, &Feed::Nothing);
            }
        }
        self.depth -= 1;
        self.lenient = false;
        if matches!(self.danger, Danger::Denied(_)) && !matches!(before, Danger::Denied(_)) {
            self.danger = before;
            self.critical(reason::PERHAPS);
        }
    }
}

/// Where a command may begin in a line: behind each sign of equality, and behind what else stands before one.
fn beginnings(line: &str) -> impl Iterator<Item = &str> {
    let signs = line.match_indices('=').map(|(at, _)| &line[at + 1..]).take(4);
    std::iter::once(line).chain(signs).flat_map(|text| {
        let is_sign =
            |one: char| one.is_whitespace() || one.is_ascii_digit() || "!:\\*,@+".contains(one);
        let text = text.trim_start_matches(is_sign);
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        // `platform shell ...`
        let (second, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let own = if BEGINS.contains(&first) { rest.trim_start() } else { text };
        [Some(own), BEGINS.contains(&second).then(|| after.trim_start())].into_iter().flatten()
    })
}

/// `write18{...}`
fn in_brackets(line: &str) -> Vec<String> {
    let inner = line.split('{').skip(1).filter_map(|part| part.split('}').next());
    inner.take(4).map(str::to_owned).collect()
}
