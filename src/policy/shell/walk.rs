//! Goes through a script as a shell would, with what is known of its variables and directories, and notes the worst
//! that may come of it. Where several things may happen, all of them are looked at. What is assigned once stays a
//! possible value for good, so that neither branches nor loops have to be told apart.

use super::environment::{self, Seen};
use super::field::{
    CLOSE, COMMA, DOWNLOADED, EXPORTED, Feed, Field, HOME, OPEN, SEPARATOR, SETUP, TEMPORARY,
    UNKNOWN, UNSET, WILD, braces, is_unknown, lexical,
};
use super::parse::{DEEPEST, parse};
use super::syntax::{
    Assignment, Command, Link, Part, Pipeline, Redirect, RedirectKind, Script, Sequence, Stage,
    Word, plain,
};
use super::{Danger, Programs, reason};
use crate::policy::Scope;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

/// Commands that are looked at. Whoever needs more hides something.
const MOST_STEPS: usize = 4_000;
/// How much of a script within another one counts as one command.
const BYTES_A_STEP: usize = 64;
/// Values that one variable may have, ways in which one command may read, directories in which it may run.
const MOST_WAYS: usize = 16;
/// Pieces of a text that is no script.
const MOST_FRAGMENTS: usize = 1_000;
/// Files whose content is known, because the script itself has written them.
const MOST_WRITTEN: usize = 64;
/// Arguments that come of one word.
const MOST_FIELDS: usize = 256;

/// Where commands may run; `None` is anywhere.
pub(super) type Dirs = Vec<Option<PathBuf>>;

/// What a command leaves behind.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    /// The directories afterwards, if it succeeded and if it failed.
    pub(super) done: Dirs,
    pub(super) failed: Dirs,
    pub(super) says: Feed,
}

impl Outcome {
    pub(super) fn new(dirs: &Dirs, says: Feed) -> Self {
        Self { done: dirs.clone(), failed: dirs.clone(), says }
    }

    fn after(self) -> Dirs {
        union(self.done, &self.failed)
    }
}

pub(super) struct Walker<'a> {
    pub(super) scope: &'a Scope,
    pub(super) programs: &'a Programs,
    pub(super) danger: Danger,
    /// Texts that may be no script at all: only what is certain counts.
    pub(super) lenient: bool,
    pub(super) variables: HashMap<String, Vec<String>>,
    pub(super) functions: HashMap<String, Rc<Stage>>,
    pub(super) aliases: HashMap<String, String>,
    /// Files that were downloaded before.
    pub(super) fetched: Vec<String>,
    /// Directories that were, by their names.
    pub(super) fetched_directories: Vec<String>,
    /// An archive that was downloaded is unpacked: any file may be one of it.
    pub(super) is_unpacked: bool,
    /// Files that were written before, with what is known of their content.
    pub(super) written: Vec<(String, String)>,
    /// Links that the script has made and that lead outside.
    pub(super) links: Vec<String>,
    /// What `exec` has opened for the commands behind it.
    opened: Feed,
    /// The command was `exec` alone.
    pub(super) is_bare_exec: bool,
    /// Something has run in the shell itself that may have set any variable.
    pub(super) is_anything_set: bool,
    /// Arguments are looked through for commands just now.
    pub(super) is_searching: bool,
    /// Aliases that are written out just now.
    pub(super) written_out: Vec<String>,
    /// Functions that run just now, and how many commands beside others.
    bodies: Vec<*const Stage>,
    forks: usize,
    steps: usize,
    pub(super) depth: usize,
}

impl<'a> Walker<'a> {
    pub(super) fn new(scope: &'a Scope, programs: &'a Programs, lenient: bool) -> Self {
        Self {
            scope,
            programs,
            danger: Danger::None,
            lenient,
            variables: HashMap::new(),
            functions: HashMap::new(),
            aliases: HashMap::new(),
            fetched: Vec::new(),
            fetched_directories: Vec::new(),
            is_unpacked: false,
            written: Vec::new(),
            links: Vec::new(),
            opened: Feed::Nothing,
            is_bare_exec: false,
            is_anything_set: false,
            is_searching: false,
            written_out: Vec::new(),
            bodies: Vec::new(),
            forks: 0,
            steps: 0,
            depth: 0,
        }
    }

    pub(super) fn note(&mut self, danger: Danger) {
        if danger.rank() > self.danger.rank() {
            self.danger = danger;
        }
    }

    pub(super) fn critical(&mut self, reason: &str) {
        self.note(Danger::Critical(reason.to_owned()));
    }

    /// Something that nobody can know before it happens.
    pub(super) fn unknown(&mut self, reason: &str) {
        if !self.lenient {
            self.critical(reason);
        }
    }

    /// A text that runs as a script.
    pub(super) fn text(&mut self, text: &str, dirs: &Dirs, input: &Feed) -> Outcome {
        let text = text.replace(HOME, "~").replace(WILD, "*").replace(SEPARATOR, " ");
        let text = set_up(&text);
        // Reading takes time as well. The script itself is read in any case.
        self.steps += if self.depth > 0 { text.len() / BYTES_A_STEP } else { 0 };
        if self.steps > MOST_STEPS {
            self.unknown(reason::UNREADABLE);
            return Outcome::new(dirs, Feed::Unknown);
        }
        // What is not known may be anything, but what is known of it counts as well.
        if text.contains(DOWNLOADED) {
            self.critical(reason::DOWNLOADED);
        } else if text.contains(|one| is_unknown(one) && one != TEMPORARY) {
            self.unknown(reason::UNKNOWN);
            self.is_anything_set = true;
        }
        match parse(&text, self.depth) {
            Ok(script) => self.script(&script, dirs, input),
            Err(_) => {
                self.unknown(reason::UNREADABLE);
                self.fragments(&text, dirs);
                Outcome::new(dirs, Feed::Unknown)
            }
        }
    }

    /// Some shells go on where we give up: what is certainly refused is refused there, too.
    fn fragments(&mut self, text: &str, dirs: &Dirs) {
        let before = std::mem::replace(&mut self.lenient, true);
        self.depth += 1;
        let ends = ['\n', ';', '&', '|', '(', ')', '`', '"', '\''];
        for fragment in text.split(ends).take(MOST_FRAGMENTS) {
            if let Ok(script) = parse(fragment.trim(), DEEPEST - 2) {
                self.script(&script, dirs, &Feed::Nothing);
            }
        }
        self.depth -= 1;
        self.lenient = before;
    }

    pub(super) fn script(&mut self, script: &Script, dirs: &Dirs, input: &Feed) -> Outcome {
        if self.depth >= 2 * DEEPEST {
            self.unknown(reason::UNREADABLE);
            return Outcome::new(dirs, Feed::Unknown);
        }
        self.depth += 1;
        let mut outcome = Outcome::new(dirs, Feed::Nothing);
        for (index, sequence) in script.iter().enumerate() {
            let before = outcome.says.clone();
            let dirs = outcome.after();
            outcome = self.sequence(sequence, &dirs, input);
            if index > 0 {
                outcome.says = both(&before, &outcome.says);
            }
        }
        self.depth -= 1;
        outcome
    }

    fn sequence(&mut self, sequence: &Sequence, dirs: &Dirs, input: &Feed) -> Outcome {
        self.forks += usize::from(sequence.in_background);
        let mut outcome = self.pipeline(&sequence.first, dirs, input);
        for (link, next) in &sequence.rest {
            let dirs = if *link == Link::And { &outcome.done } else { &outcome.failed };
            let then = self.pipeline(next, dirs, input);
            let says = both(&outcome.says, &then.says);
            outcome = match link {
                Link::And => {
                    Outcome { done: then.done, failed: union(outcome.failed, &then.failed), says }
                }
                Link::Or => {
                    Outcome { done: union(outcome.done, &then.done), failed: then.failed, says }
                }
            };
        }
        self.forks -= usize::from(sequence.in_background);
        if sequence.in_background { Outcome::new(dirs, outcome.says) } else { outcome }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, dirs: &Dirs, input: &Feed) -> Outcome {
        if let [only] = pipeline.as_slice() {
            return self.stage(only, dirs, input);
        }
        self.forks += 1;
        let mut feed = input.clone();
        let mut after = dirs.clone();
        for stage in pipeline {
            let outcome = self.stage(stage, dirs, &feed);
            feed = outcome.says.clone();
            // Some shells run the last one themselves.
            after = union(dirs.clone(), &outcome.after());
        }
        self.forks -= 1;
        Outcome::new(&after, feed)
    }

    /// Whether there is still time to look at one more command.
    pub(super) fn take_step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            self.unknown(reason::UNREADABLE);
        }
        self.steps <= MOST_STEPS
    }

    pub(super) fn stage(&mut self, stage: &Stage, dirs: &Dirs, input: &Feed) -> Outcome {
        if !self.take_step() {
            return Outcome::new(dirs, Feed::Unknown);
        }
        let input = if *input == Feed::Nothing { self.opened.clone() } else { input.clone() };
        let (input, written) = self.redirects(&stage.redirects, dirs, &input);
        if is_without_command(&stage.command) && written.iter().any(|field| is_any(&field.text)) {
            self.critical(reason::OVERWRITES);
        }
        self.is_bare_exec = false;
        let mut outcome = self.one(&stage.command, dirs, &input);
        if std::mem::take(&mut self.is_bare_exec) {
            self.opened = input.clone();
        }
        if !written.is_empty() {
            if outcome.says.is_downloaded() {
                self.fetched.extend(written.iter().map(|field| field.text.clone()));
            }
            self.keep_written(&written, &outcome.says, dirs);
            outcome.says = Feed::Nothing;
        }
        outcome
    }

    pub(super) fn keep_written(&mut self, files: &[Field], content: &Feed, dirs: &Dirs) {
        let text = match content {
            Feed::Known(text) => text.clone(),
            Feed::Unknown => UNKNOWN.to_string(),
            Feed::Nothing | Feed::File | Feed::Downloaded => return,
        };
        let room = MOST_WRITTEN.saturating_sub(self.written.len());
        if files.len() > room {
            self.unknown(reason::UNREADABLE);
        }
        let kept = files.iter().map(|field| (field.text.clone(), text.clone()));
        self.written.extend(kept.take(room));
        // Git runs these by itself.
        let is_hook =
            |field: &Field| field.text.contains("hooks/") || field.text.contains(".husky/");
        if files.iter().any(is_hook) {
            self.run_content(&text, dirs);
        }
    }

    fn one(&mut self, command: &Command, dirs: &Dirs, input: &Feed) -> Outcome {
        match command {
            Command::Simple { assignments, words } => self.simple(assignments, words, dirs, input),
            Command::Subshell(script) => {
                let says = self.script(script, dirs, input).says;
                Outcome::new(dirs, says)
            }
            Command::Group(script) => self.script(script, dirs, input),
            Command::Branches { words, parts } => {
                self.look(words, dirs);
                self.parts(parts, dirs, input)
            }
            Command::Loop { variable, parts } => {
                self.repeated(variable.as_ref(), parts, dirs, input)
            }
            Command::Function { name, body } => {
                self.functions.insert(name.clone(), Rc::clone(body));
                // Whatever calls it later: a trap, or a program that nobody knows.
                self.call(name, &[], dirs, input);
                Outcome::new(dirs, Feed::Nothing)
            }
            Command::Test { words, inner } => {
                self.look(words, dirs);
                if let Some(inner) = inner {
                    let before = std::mem::replace(&mut self.lenient, true);
                    self.depth += 1;
                    self.text(inner, dirs, input);
                    self.depth -= 1;
                    self.lenient = before;
                }
                Outcome::new(dirs, Feed::Nothing)
            }
        }
    }

    /// Each part may run after each other one, or not at all.
    fn parts(&mut self, parts: &[Script], dirs: &Dirs, input: &Feed) -> Outcome {
        let (mut after, mut says) = (dirs.clone(), Feed::Nothing);
        for part in parts {
            let outcome = self.script(part, &after, input);
            says = both(&says, &outcome.says);
            after = union(after, &outcome.after());
        }
        Outcome::new(&after, says)
    }

    fn repeated(
        &mut self,
        variable: Option<&(String, Vec<Word>)>,
        parts: &[Script],
        dirs: &Dirs,
        input: &Feed,
    ) -> Outcome {
        if let Some((name, words)) = variable {
            for word in words {
                let values = self.word(word, dirs).into_iter().flatten().map(|field| field.text);
                let values: Vec<_> = values.collect();
                self.assign(name, values);
            }
        }
        let known = self.variables.clone();
        let first = self.parts(parts, dirs, input);
        let moved = first.done != *dirs;
        if !moved && known == self.variables {
            return first;
        }
        // What one round has changed is there in the next; after many of them it may be anywhere.
        let mut wider = first.done;
        if moved {
            wider = union(wider, &vec![None]);
        }
        self.parts(parts, &wider, input)
    }

    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: &[Field],
        dirs: &Dirs,
        input: &Feed,
    ) -> Outcome {
        let Some(body) = self.functions.get(name).cloned() else {
            return Outcome::new(dirs, Feed::Unknown);
        };
        let at = Rc::as_ptr(&body);
        if self.bodies.iter().any(|running| std::ptr::eq(*running, at)) {
            if self.forks > 0 {
                self.note(Danger::Denied(reason::FORKS.to_owned()));
            }
            return Outcome::new(dirs, Feed::Unknown);
        }
        self.positional(arguments);
        self.bodies.push(at);
        let outcome = self.stage(&body, dirs, input);
        self.bodies.pop();
        outcome
    }

    /// `$1` and so on.
    pub(super) fn positional(&mut self, arguments: &[Field]) {
        if arguments.is_empty() {
            return;
        }
        let texts: Vec<_> = arguments.iter().map(|field| field.text.clone()).collect();
        self.assign("@", vec![texts.join(&SEPARATOR.to_string())]);
        self.assign("*", vec![texts.join(&SEPARATOR.to_string())]);
        for (index, text) in texts.into_iter().take(9).enumerate() {
            self.assign(&(index + 1).to_string(), vec![text]);
        }
    }

    /// Arithmetic substitutes what stands in brackets of a value, whenever that is used as a number.
    fn look_into(&mut self, value: &str, dirs: &Dirs) {
        if value.contains("[$(") || value.contains("[`") {
            self.text(&format!(": \"{value}\""), dirs, &Feed::Nothing);
        }
    }

    pub(super) fn assign(&mut self, name: &str, values: Vec<String>) {
        let known = self.variables.entry(name.to_owned()).or_default();
        for value in values {
            if !known.contains(&value) && known.len() < MOST_WAYS {
                known.push(value);
            } else if known.len() >= MOST_WAYS && !known.contains(&UNKNOWN.to_string()) {
                known.push(UNKNOWN.to_string());
            }
        }
    }

    fn simple(
        &mut self,
        assignments: &[Assignment],
        words: &[Word],
        dirs: &Dirs,
        input: &Feed,
    ) -> Outcome {
        for Assignment { name, value, others } in assignments {
            self.look(others, dirs);
            let values = match value {
                Some(word) => self.texts(word, dirs, true),
                None => vec![(UNKNOWN.to_string(), None)],
            };
            let seen = if words.is_empty() { Seen::ByTheShell } else { Seen::ByPrograms };
            for (text, feed) in &values {
                let value = Field { text: text.clone(), feed: feed.clone() };
                self.variable(name, &value, dirs, seen);
                self.look_into(text, dirs);
            }
            self.assign(name, values.into_iter().map(|(text, _)| text).collect());
        }
        if words.is_empty() {
            // `$(<file)` says what is in the file.
            let says = if assignments.is_empty() { input.clone() } else { Feed::Nothing };
            return Outcome::new(dirs, says);
        }
        let mut ways: Vec<Vec<Field>> = vec![Vec::new()];
        for word in words {
            let mut choices = self.word(word, dirs);
            if let [only] = choices.as_mut_slice() {
                ways.iter_mut().for_each(|way| way.extend(only.iter().cloned()));
                continue;
            }
            if ways.len() * choices.len() > MOST_WAYS {
                let unknown = Field::new(UNKNOWN.to_string());
                ways.iter_mut().for_each(|way| way.push(unknown.clone()));
                continue;
            }
            let combined = ways.iter().flat_map(|way| {
                choices.iter().map(move |choice| way.iter().chain(choice).cloned().collect())
            });
            ways = combined.collect();
        }
        let mut all: Option<Outcome> = None;
        for way in ways {
            let outcome = self.command(&way, dirs, input);
            all = Some(match all {
                None => outcome,
                Some(before) => Outcome {
                    done: union(before.done, &outcome.done),
                    failed: union(before.failed, &outcome.failed),
                    says: if before.says == outcome.says {
                        before.says
                    } else {
                        before.says.worked_on()
                    },
                },
            });
        }
        all.unwrap_or_else(|| Outcome::new(dirs, Feed::Nothing))
    }

    /// What the command reads, and what it writes to.
    fn redirects(
        &mut self,
        redirects: &[Redirect],
        dirs: &Dirs,
        input: &Feed,
    ) -> (Feed, Vec<Field>) {
        let (mut feed, mut written) = (input.clone(), Vec::new());
        for Redirect { kind, word } in redirects {
            if *kind == RedirectKind::Here {
                // Each value that a variable in it may have is a text of its own.
                let texts = self.texts(word, dirs, true).into_iter().map(|(text, _)| text);
                feed = Feed::Known(texts.collect::<Vec<_>>().join("\n"));
                continue;
            }
            for field in self.word(word, dirs).into_iter().flatten() {
                let is_network =
                    field.text.starts_with("/dev/tcp/") || field.text.starts_with("/dev/udp/");
                match kind {
                    RedirectKind::Read if is_network => feed = Feed::Downloaded,
                    RedirectKind::Read => feed = self.content(&field),
                    RedirectKind::Duplicate
                        if field.text.chars().all(|one| one.is_ascii_digit() || one == '-') =>
                    {
                        if self.opened != Feed::Nothing {
                            feed = self.opened.clone();
                        }
                    }
                    RedirectKind::Write | RedirectKind::Duplicate => {
                        self.writes(&field, dirs);
                        written.push(field);
                    }
                    RedirectKind::Here => {}
                }
            }
        }
        written.retain(|field| !field.text.starts_with("/dev/"));
        (feed, written)
    }

    /// For what is substituted in these words.
    fn look(&mut self, words: &[Word], dirs: &Dirs) {
        for word in words {
            self.texts(word, dirs, true);
        }
    }

    /// The arguments that a word becomes, in all ways in which it may be read.
    pub(super) fn word(&mut self, word: &Word, dirs: &Dirs) -> Vec<Vec<Field>> {
        let vanishes = word.iter().all(|part| {
            matches!(
                part,
                Part::Variable { quoted: false, .. } | Part::Substitution { quoted: false, .. }
            )
        });
        let mut ways = Vec::new();
        for (text, feed) in self.texts(word, dirs, false) {
            let Some(texts) = braces(&text, MOST_FIELDS) else {
                ways.push(vec![Field::new(UNKNOWN.to_string())]);
                continue;
            };
            let mut fields = Vec::new();
            for text in texts {
                let is_split = text.contains(SEPARATOR);
                let parts = text
                    .split(SEPARATOR)
                    .filter(|part| !part.is_empty() || !(is_split || vanishes));
                fields
                    .extend(parts.map(|part| Field { text: part.to_owned(), feed: feed.clone() }));
            }
            ways.push(fields);
        }
        ways
    }

    /// The same before it is split, with what is read from a pipe that it names.
    fn texts(&mut self, word: &Word, dirs: &Dirs, whole: bool) -> Vec<(String, Option<Feed>)> {
        let mut ways = vec![String::new()];
        let mut pipe = None;
        for (index, part) in word.iter().enumerate() {
            let choices = match part {
                Part::Text { text, quoted: true } => vec![text.clone()],
                Part::Text { text, quoted: false } => vec![unquoted(text, index == 0, whole)],
                Part::Variable { name, other, assigns, quoted } => {
                    let values = self.values(name, other.as_ref(), dirs);
                    if *assigns {
                        self.assign(name, values.clone());
                    }
                    values
                        .into_iter()
                        .map(|value| self.inserted(&value, *quoted || whole))
                        .collect()
                }
                Part::Substitution { script, quoted } => {
                    let text = self.script(script, dirs, &Feed::Nothing).says.text();
                    vec![self.inserted(&text, *quoted || whole)]
                }
                Part::Process(script) => {
                    pipe = Some(self.script(script, dirs, &Feed::Nothing).says);
                    vec!["/dev/fd/63".to_owned()]
                }
                Part::Unknown(words) => {
                    // `${!name:=value}` sets whatever the name says.
                    let is_indirect = |word: &Word| {
                        let first = word.first().and_then(|part| plain(std::slice::from_ref(part)));
                        first.is_some_and(|text| text.starts_with('!') && text.contains('='))
                    };
                    self.is_anything_set |= words.iter().any(is_indirect);
                    self.look(words, dirs);
                    vec![UNKNOWN.to_string()]
                }
            };
            if let [only] = choices.as_slice() {
                ways.iter_mut().for_each(|way| way.push_str(only));
                continue;
            }
            if ways.len() * choices.len() > MOST_WAYS {
                ways.iter_mut().for_each(|way| way.push(UNKNOWN));
                continue;
            }
            let joined = ways
                .iter()
                .flat_map(|way| choices.iter().map(move |choice| format!("{way}{choice}")));
            ways = joined.collect();
        }
        ways.into_iter().map(|text| (text, pipe.clone())).collect()
    }

    fn values(&mut self, name: &str, other: Option<&Word>, dirs: &Dirs) -> Vec<String> {
        let mut values = match (self.variables.get(name), name) {
            (Some(values), _) => values.clone(),
            (None, "HOME") => vec![HOME.to_string()],
            (None, "IFS") => vec![" \t\n".to_owned()],
            (None, "PWD") => {
                let text = |dir: &Option<PathBuf>| match dir {
                    Some(dir) => dir.to_string_lossy().into_owned(),
                    None => UNKNOWN.to_string(),
                };
                dirs.iter().map(text).collect()
            }
            (None, _) => vec![self.unset(name)],
        };
        if let Some(word) = other {
            let others = self.texts(word, dirs, true);
            values.extend(others.into_iter().map(|(text, _)| text));
        }
        values.truncate(MOST_WAYS);
        values
    }

    /// The value of a variable that the script does not set itself.
    fn unset(&self, name: &str) -> String {
        let first = name.chars().next().unwrap_or('_');
        // The shell itself sets these.
        let is_own = name == "0" || !first.is_ascii_alphanumeric() || name == "OLDPWD";
        match environment::usual(name) {
            _ if self.is_anything_set || is_own => UNKNOWN.to_string(),
            Some(program) => program.to_owned(),
            None if environment::is_of_script(name) => UNSET.to_string(),
            None => EXPORTED.to_string(),
        }
    }

    /// A value in a word: without quotes it is split, and stands for names of files.
    fn inserted(&self, value: &str, quoted: bool) -> String {
        if quoted {
            return value.to_owned();
        }
        let own = self.variables.get("IFS").map(|values| values.concat()).unwrap_or_default();
        let split = |one: char| match one {
            ' ' | '\t' | '\n' => SEPARATOR,
            _ if own.contains(one) => SEPARATOR,
            '*' | '?' | '[' => WILD,
            // Without quotes it may become several arguments.
            UNSET | EXPORTED => UNKNOWN,
            _ => one,
        };
        value.chars().map(split).collect()
    }
}

/// A text without quotes: wildcards, braces and home directories mean something.
fn unquoted(text: &str, begins: bool, whole: bool) -> String {
    let (home, rest) = match text.strip_prefix('~').filter(|_| begins) {
        None => (None, text),
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            // `~+` and `~-` are directories of before.
            let is_home =
                rest[..end].chars().all(|one| one.is_ascii_alphanumeric() || "_-.".contains(one))
                    && &rest[..end] != "-";
            (Some(if is_home { HOME } else { UNKNOWN }), &rest[end..])
        }
    };
    let closes = rest.rfind(']');
    let marked = rest.char_indices().map(|(index, one)| match one {
        '*' | '?' => WILD,
        '[' if closes.is_some_and(|end| end > index) => WILD,
        '{' if !whole => OPEN,
        ',' if !whole => COMMA,
        '}' if !whole => CLOSE,
        _ => one,
    });
    home.into_iter().chain(marked).collect()
}

/// What is said by one command after another.
pub(super) fn both(first: &Feed, second: &Feed) -> Feed {
    match (first, second) {
        (Feed::Nothing, other) | (other, Feed::Nothing) => other.clone(),
        (Feed::Known(first), Feed::Known(second)) => Feed::Known(format!("{first}{second}")),
        (Feed::Known(known), other) => Feed::Known(format!("{known}{}\n", other.text())),
        (other, Feed::Known(known)) => Feed::Known(format!("{}\n{known}", other.text())),
        (Feed::Downloaded, _) | (_, Feed::Downloaded) => Feed::Downloaded,
        _ => Feed::Unknown,
    }
}

/// What a program says to set up a shell is commands of its own, whatever stands behind it.
fn set_up(text: &str) -> String {
    let mut parts = text.split(SETUP);
    let mut found = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let goes_on = part.trim_start_matches(' ').starts_with([';', '&', '|', '\n', ')']);
        found += if goes_on || part.is_empty() { ":" } else { ":\n" };
        found += part;
    }
    found
}

/// Many files, one after another.
fn is_any(text: &str) -> bool {
    text.contains([UNKNOWN, WILD])
}

/// A redirection alone empties its file.
fn is_without_command(command: &Command) -> bool {
    match command {
        Command::Simple { assignments, words } => match words.as_slice() {
            [] => assignments.is_empty(),
            [only] => matches!(plain(only), Some(":" | "true")),
            _ => false,
        },
        Command::Subshell(_)
        | Command::Group(_)
        | Command::Branches { .. }
        | Command::Loop { .. }
        | Command::Function { .. }
        | Command::Test { .. } => false,
    }
}

pub(super) fn union(mut dirs: Dirs, more: &Dirs) -> Dirs {
    for dir in more {
        if !dirs.contains(dir) {
            dirs.push(dir.clone());
        }
    }
    if dirs.len() > MOST_WAYS {
        dirs.truncate(MOST_WAYS - 1);
        dirs.push(None);
    }
    dirs
}

/// Where `cd` leads from each directory.
pub(super) fn moved(dirs: &Dirs, target: &str) -> Dirs {
    if target.contains(|one| is_unknown(one) || one == WILD) {
        return vec![None];
    }
    let target = target.replace(HOME, "/\u{4}");
    let mut found = Dirs::new();
    for dir in dirs {
        let path = match dir {
            Some(dir) => dir.join(&target),
            None if target.starts_with('/') => PathBuf::from(&target),
            None => {
                found = union(found, &vec![None]);
                continue;
            }
        };
        // A shell goes up by the name, a program by where it is.
        found = union(found, &vec![Some(lexical(&path)), Some(path)]);
    }
    found
}
