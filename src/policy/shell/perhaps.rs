//! Arguments and input of programs that nobody here knows: some of them are commands, as in `tar --to-command='...'` or
//! `vim -c '!...'`. What would certainly be refused as a command is dangerous there, and anything else is a text.

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
const READERS: [&str; 17] = [
    "make", "gmake", "ed", "ex", "vi", "vim", "nvim", "m4", "bc", "crontab", "expect", "gdb",
    "lldb", "sqlite3", "psql", "mysql", "ftp",
];
/// Words with which programs begin such a command.
const BEGINS: [&str; 8] = ["shell", "system", "exec", "spawn", "sh", "run", ".shell", ".system"];
/// Of one program.
const MOST_TEXTS: usize = 64;
/// Of one text.
const MOST_LINES: usize = 200;
/// Variables whose value is run by whatever reads them.
const RUN_BY_NAME: [&str; 20] = [
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EXTERNAL_DIFF",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "GIT_PROXY_COMMAND",
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "FCEDIT",
    "BROWSER",
    "LESSOPEN",
    "PROMPT_COMMAND",
    "PS4",
    "ENV",
    "RUSTC_WRAPPER",
];

impl Walker<'_> {
    pub(super) fn perhaps(&mut self, name: &str, arguments: &[Field], dirs: &Dirs, input: &Feed) {
        let mut texts = Vec::new();
        let mut is_message = false;
        for field in arguments.iter().take(MOST_TEXTS) {
            let key = field.text.split('=').next().unwrap_or_default().trim_start_matches('-');
            let was_message = std::mem::replace(&mut is_message, MESSAGES.contains(&key));
            let says = was_message || (is_message && field.text.contains('='));
            if !says && field.text.contains(char::is_whitespace) {
                texts.push(field.text.clone());
            }
        }
        if let Feed::Known(text) = input
            && READERS.contains(&name)
        {
            texts.push(text.clone());
        }
        self.perhaps_texts(&texts, dirs);
    }

    /// Some variables are commands, whoever reads them.
    pub(super) fn named(&mut self, name: &str, values: &[String], dirs: &Dirs) {
        if RUN_BY_NAME.contains(&name) {
            let before = std::mem::replace(&mut self.lenient, true);
            for value in values {
                self.text(value, dirs, &Feed::Nothing);
            }
            self.lenient = before;
        }
    }

    fn perhaps_texts(&mut self, texts: &[String], dirs: &Dirs) {
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
    std::iter::once(line).chain(signs).map(|text| {
        let is_sign =
            |one: char| one.is_whitespace() || one.is_ascii_digit() || "!:\\*,@+".contains(one);
        let text = text.trim_start_matches(is_sign);
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if BEGINS.contains(&first) { rest.trim_start() } else { text }
    })
}
