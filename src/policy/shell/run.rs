//! One command with its arguments: builtins, shells, and programs that run what they are given.

use super::field::{Feed, Field, UNKNOWN, WILD, is_unknown};
use super::walk::{Dirs, Outcome, Walker, moved, union};
use super::word::unescaped;
use super::{Danger, reason, wrapper};

const SHELLS: [&str; 14] = [
    "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "fish", "csh", "tcsh", "rbash",
    "yash", "rksh",
];
const FETCHERS: [&str; 16] = [
    "curl", "wget", "wget2", "aria2c", "http", "https", "xh", "lynx", "w3m", "links", "nc", "ncat",
    "netcat", "socat", "ftp", "fetch",
];
/// Programs whose arguments are texts, names or packages, and never run.
const TALKERS: [&str; 46] = [
    "echo",
    "printf",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "ack",
    "man",
    "info",
    "which",
    "type",
    "whereis",
    "whatis",
    "apropos",
    "help",
    "ls",
    "cat",
    "head",
    "tail",
    "less",
    "more",
    "apt",
    "apt-get",
    "apt-cache",
    "dpkg",
    "dnf",
    "yum",
    "apk",
    "pacman",
    "brew",
    "pip",
    "pip3",
    "npm",
    "pnpm",
    "yarn",
    "cargo",
    "gem",
    "zypper",
    "snap",
    "test",
    "[",
    "touch",
    "mkdir",
    "cp",
    "mv",
];

pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

impl Walker<'_> {
    /// The worst that may come of a command.
    pub(super) fn command(&mut self, argv: &[Field], dirs: &Dirs, input: &Feed) -> Outcome {
        let Some((first, arguments)) = argv.split_first() else {
            return Outcome::new(dirs, Feed::Nothing);
        };
        let Some(name) = first.name() else {
            let is_downloaded = first.is_downloaded();
            self.unknown(if is_downloaded { reason::DOWNLOADED } else { reason::UNKNOWN });
            // It may turn out to be nothing at all.
            return self.deeper(arguments, dirs, input);
        };
        let known =
            self.functions.contains_key(&first.text) || self.aliases.contains_key(&first.text);
        if known && !self.written_out.contains(&first.text) {
            return self.defined(first, arguments, dirs, input);
        }
        self.judge(&name, argv, dirs);
        if self.fetched.iter().any(|file| same_file(file, &first.text)) {
            self.critical(reason::DOWNLOADED);
        }
        if first.text.contains('/') {
            self.run_written(first, dirs);
        }
        if let Some(outcome) = self.builtin(&name, arguments, dirs, input) {
            return outcome;
        }
        if is_shell(&name) {
            return self.shell(arguments, dirs, input);
        }
        if super::code::is_interpreter(&name) {
            return self.interpreter(&name, arguments, dirs, input);
        }
        if let Some(outcome) = self.wrapped(&name, arguments, dirs, input) {
            return outcome;
        }
        self.program(&name, arguments, dirs, input)
    }

    /// Commands within commands do not go on for ever.
    pub(super) fn deeper(&mut self, argv: &[Field], dirs: &Dirs, input: &Feed) -> Outcome {
        if self.depth >= super::parse::DEEPEST {
            self.unknown(reason::UNREADABLE);
            return Outcome::new(dirs, Feed::Unknown);
        }
        self.depth += 1;
        let outcome = self.command(argv, dirs, input);
        self.depth -= 1;
        outcome
    }

    /// A function or an alias of the script itself.
    fn defined(
        &mut self,
        first: &Field,
        arguments: &[Field],
        dirs: &Dirs,
        input: &Feed,
    ) -> Outcome {
        let called = self.call(&first.text, arguments, dirs, input);
        let Some(alias) = self.aliases.get(&first.text).cloned() else { return called };
        let text = format!("{alias} {}", quoted(arguments));
        self.written_out.push(first.text.clone());
        let outcome = self.text(&text, dirs, input);
        self.written_out.pop();
        outcome
    }

    fn builtin(
        &mut self,
        name: &str,
        arguments: &[Field],
        dirs: &Dirs,
        input: &Feed,
    ) -> Option<Outcome> {
        let nothing = || Some(Outcome::new(dirs, Feed::Nothing));
        match name {
            "cd" | "pushd" | "chdir" => Some(self.change(arguments, dirs)),
            "popd" => Some(Outcome { done: vec![None], ..Outcome::new(dirs, Feed::Nothing) }),
            "echo" => Some(Outcome::new(dirs, echoed(arguments))),
            "printf" => Some(Outcome::new(dirs, printed(arguments))),
            "pwd" => {
                let says = match dirs.as_slice() {
                    [Some(only)] => Feed::Known(only.to_string_lossy().into_owned()),
                    _ => Feed::Unknown,
                };
                Some(Outcome::new(dirs, says))
            }
            "cat" | "tee" => Some(self.passed_on(name, arguments, dirs, input)),
            "eval" => Some(self.text(&joined(arguments), dirs, input)),
            "trap" => {
                let script = arguments.iter().find(|field| !field.text.starts_with('-'));
                script.map(|script| self.text(&script.text, dirs, input));
                nothing()
            }
            "alias" => {
                for (name, value) in arguments.iter().filter_map(|field| field.text.split_once('='))
                {
                    self.aliases.insert(name.to_owned(), value.to_owned());
                }
                nothing()
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                for (name, value) in arguments.iter().filter_map(|field| field.text.split_once('='))
                {
                    self.named(name, &[value.to_owned()], dirs);
                    self.assign(name, vec![value.to_owned()]);
                }
                nothing()
            }
            "read" | "mapfile" | "readarray" | "getopts" | "let" => {
                for field in arguments.iter().filter(|field| !field.text.starts_with('-')) {
                    self.substituted_again(name, field, dirs);
                    let text = if let Feed::Known(text) = input {
                        text.clone()
                    } else {
                        UNKNOWN.to_string()
                    };
                    self.assign(&field.text, vec![text.trim_end().to_owned(), UNKNOWN.to_string()]);
                }
                nothing()
            }
            "set" => {
                let positional = arguments.iter().position(|field| field.text == "--");
                self.positional(positional.map_or(&[][..], |at| &arguments[at + 1..]));
                nothing()
            }
            "source" | "." => Some(self.sourced(arguments, dirs, input)),
            "which" | "type" | "command" if name != "command" || is_question(arguments) => {
                let last = arguments.last().filter(|field| !field.text.starts_with('-'));
                let says = last.map_or(Feed::Unknown, |field| Feed::Known(field.text.clone()));
                Some(Outcome::new(dirs, says))
            }
            _ => None,
        }
    }

    /// Arithmetic substitutes once more.
    fn substituted_again(&mut self, name: &str, field: &Field, dirs: &Dirs) {
        if name == "let" && field.text.contains(['$', '`']) {
            self.text(&format!(": \"{}\"", field.text), dirs, &Feed::Nothing);
        }
    }

    fn change(&mut self, arguments: &[Field], dirs: &Dirs) -> Outcome {
        let is_option = |field: &&Field| field.text.len() > 1 && field.text.starts_with('-');
        let target = arguments.iter().find(|field| !is_option(field));
        let mut done = match target.map(|field| field.text.as_str()) {
            None => moved(dirs, &super::field::HOME.to_string()),
            Some("-") => vec![None],
            Some(target) => moved(dirs, target),
        };
        if self.variables.contains_key("CDPATH") {
            done = union(done, &vec![None]);
        }
        Outcome { done, ..Outcome::new(dirs, Feed::Nothing) }
    }

    fn passed_on(&mut self, name: &str, arguments: &[Field], dirs: &Dirs, input: &Feed) -> Outcome {
        let is_file = |field: &&Field| field.text == "-" || !field.text.starts_with('-');
        let files: Vec<_> = arguments.iter().filter(is_file).collect();
        if name == "tee" {
            files.iter().for_each(|field| self.writes(field));
            if input.is_downloaded() {
                self.fetched.extend(files.iter().map(|field| field.text.clone()));
            }
            let files: Vec<_> = files.into_iter().cloned().collect();
            self.keep_written(&files, input);
            return Outcome::new(dirs, input.clone());
        }
        let says = match files.as_slice() {
            [] => input.clone(),
            [only] if only.text == "-" || only.text == "/dev/stdin" => input.clone(),
            [only] => match &only.feed {
                Some(feed) => feed.clone(),
                None if self.was_fetched(only) => Feed::Downloaded,
                None => self.content_of(only).map_or(Feed::File, Feed::Known),
            },
            many if many.iter().any(|field| field.is_downloaded()) => Feed::Downloaded,
            _ => Feed::Unknown,
        };
        Outcome::new(dirs, says)
    }

    fn sourced(&mut self, arguments: &[Field], dirs: &Dirs, input: &Feed) -> Outcome {
        let Some(file) = arguments.first() else { return Outcome::new(dirs, Feed::Unknown) };
        let feed = match &file.feed {
            Some(feed) => feed.clone(),
            None if file.text == "/dev/stdin" => input.clone(),
            None if self.was_fetched(file) => Feed::Downloaded,
            None => self.content_of(file).map_or(Feed::File, Feed::Known),
        };
        self.fed(&feed, dirs)
    }

    /// A file that the script itself has written before, all that was ever written there.
    pub(super) fn content_of(&self, file: &Field) -> Option<String> {
        let known = self.written.iter().filter(|(name, _)| same_file(name, &file.text));
        let texts: Vec<_> = known.map(|(_, text)| text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    fn run_written(&mut self, program: &Field, dirs: &Dirs) {
        let Some(text) = self.content_of(program) else { return };
        if self.depth >= super::parse::DEEPEST {
            return self.unknown(reason::UNREADABLE);
        }
        self.depth += 1;
        let line = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
        let words = line.split(['/', ' ']).map(Field::new);
        if words.filter_map(|word| word.name()).any(|name| super::code::is_interpreter(&name)) {
            self.code(&text, dirs);
        } else {
            self.text(&text, dirs, &Feed::Nothing);
        }
        self.depth -= 1;
    }

    /// A shell reads its script from here.
    fn fed(&mut self, feed: &Feed, dirs: &Dirs) -> Outcome {
        match feed {
            Feed::Known(text) => {
                // Some shells write escapes out without being told to.
                let written_out = unescaped(text);
                if written_out != *text {
                    self.text(&written_out, dirs, &Feed::Nothing);
                }
                return self.text(text, dirs, &Feed::Nothing);
            }
            Feed::Unknown => self.unknown(reason::UNKNOWN),
            Feed::Downloaded => self.critical(reason::DOWNLOADED),
            Feed::Nothing | Feed::File => {}
        }
        Outcome::new(dirs, Feed::Unknown)
    }

    fn shell(&mut self, arguments: &[Field], dirs: &Dirs, input: &Feed) -> Outcome {
        let mut rest = arguments.iter();
        let mut takes_text = false;
        while let Some(field) = rest.clone().next() {
            let text = field.text.as_str();
            if field.may_be_option() {
                self.unknown(reason::UNKNOWN);
            }
            let is_option = text.len() > 1 && (text.starts_with('-') || text.starts_with('+'));
            if !is_option {
                break;
            }
            rest.next();
            if text == "--" {
                break;
            }
            let is_long = text.starts_with("--");
            takes_text |=
                (!is_long && text.starts_with('-') && text.contains('c')) || text == "--command";
            if matches!(text, "--rcfile" | "--init-file")
                && let Some(file) = rest.next()
            {
                self.sourced(std::slice::from_ref(file), dirs, input);
            }
            if !is_long && text.ends_with(['o', 'O']) {
                rest.next();
            }
            if let Some(script) = text.strip_prefix("--command=") {
                return self.text(script, dirs, input);
            }
        }
        let rest: Vec<_> = rest.cloned().collect();
        let inner = if takes_text {
            let Some((script, values)) = rest.split_first() else {
                return Outcome::new(dirs, Feed::Nothing);
            };
            self.positional(values.get(1..).unwrap_or_default());
            self.text(&script.text, dirs, input)
        } else {
            let reads = arguments.iter().any(|field| field.text == "-s");
            match rest.first().filter(|_| !reads) {
                None => self.fed(input, dirs),
                Some(file) if file.text == "-" => self.fed(input, dirs),
                Some(_) => self.sourced(&rest, dirs, input),
            }
        };
        // What it changes is its own.
        Outcome::new(dirs, inner.says)
    }

    /// Programs that run other programs.
    fn wrapped(
        &mut self,
        name: &str,
        arguments: &[Field],
        dirs: &Dirs,
        input: &Feed,
    ) -> Option<Outcome> {
        match name {
            "env" => return Some(self.environment(arguments, dirs, input)),
            "xargs" | "parallel" => return Some(self.fanned_out(arguments, dirs, input)),
            "find" | "fd" | "fdfind" => return Some(self.found(arguments, dirs)),
            "watch" | "script" | "flock" | "su" | "at" | "batch" | "ssh" => {
                self.scripts_of(name, arguments, dirs, input);
            }
            "git" => self.scripts_of_git(arguments, dirs),
            _ => {}
        }
        let wrapper = wrapper::find(name)?;
        let begin = wrapper.begin(arguments);
        let inner = &arguments[begin..];
        if name == "chroot" {
            let outcome = self.deeper(inner, &vec![None], input);
            return Some(Outcome::new(dirs, outcome.says));
        }
        let outcome = self.deeper(inner, dirs, input);
        // An option that we do not know may have hidden where it begins.
        self.suffixes(inner, dirs, true);
        Some(if matches!(name, "command" | "builtin") {
            outcome
        } else {
            Outcome::new(dirs, outcome.says)
        })
    }

    fn environment(&mut self, arguments: &[Field], dirs: &Dirs, input: &Feed) -> Outcome {
        let mut dirs_within = dirs.clone();
        let mut rest = arguments;
        while let Some((field, others)) = rest.split_first() {
            let text = field.text.as_str();
            let value = others.first();
            rest = others;
            match text {
                "-u" | "--unset" => rest = others.get(1..).unwrap_or_default(),
                "-C" | "--chdir" => {
                    dirs_within = value.map_or(vec![None], |to| moved(dirs, &to.text));
                    rest = others.get(1..).unwrap_or_default();
                }
                _ if text == "--split-string" || split_string(text) == Some("") => {
                    let text = format!(
                        "{} {}",
                        value.map_or("", |value| &value.text),
                        quoted(others.get(1..).unwrap_or_default())
                    );
                    return Outcome::new(dirs, self.text(&text, &dirs_within, input).says);
                }
                _ if text.starts_with("--chdir=") => {
                    dirs_within = moved(dirs, &text["--chdir=".len()..])
                }
                _ if text.starts_with("--split-string=") || split_string(text).is_some() => {
                    let script = text.strip_prefix("--split-string=");
                    let script = script.or_else(|| split_string(text)).unwrap_or_default();
                    let text = format!("{script} {}", quoted(others));
                    return Outcome::new(dirs, self.text(&text, &dirs_within, input).says);
                }
                _ if text.starts_with('-') => {}
                _ => match text.split_once('=') {
                    Some((name, value)) => {
                        self.named(name, &[value.to_owned()], dirs);
                        self.assign(name, vec![value.to_owned()]);
                    }
                    None => {
                        let argv: Vec<_> = std::iter::once(field).chain(others).cloned().collect();
                        return Outcome::new(dirs, self.deeper(&argv, &dirs_within, input).says);
                    }
                },
            }
        }
        Outcome::new(dirs, Feed::Unknown)
    }

    /// `xargs`: what it reads becomes arguments.
    fn fanned_out(&mut self, arguments: &[Field], dirs: &Dirs, input: &Feed) -> Outcome {
        let begin = wrapper::XARGS.begin(arguments);
        let place = wrapper::XARGS.value(arguments, &["-I", "--replace", "-i"]);
        let more = match input {
            Feed::Known(text) => text.split_whitespace().map(Field::new).collect(),
            Feed::Downloaded => vec![Field::new(super::field::DOWNLOADED.to_string())],
            Feed::Nothing | Feed::File | Feed::Unknown => vec![Field::new(UNKNOWN.to_string())],
        };
        let mut argv: Vec<Field> = arguments[begin..].to_vec();
        let place = place.unwrap_or_else(|| "{}".to_owned());
        let mut is_placed = false;
        for field in argv.iter_mut().filter(|field| field.text.contains(&place)) {
            is_placed = true;
            let all: Vec<_> = more.iter().map(|field| field.text.as_str()).collect();
            field.text = field.text.replace(&place, &all.join(" "));
        }
        if argv.is_empty() {
            return Outcome::new(dirs, input.worked_on());
        }
        if !is_placed {
            argv.extend(more);
        }
        let outcome = self.deeper(&argv, dirs, &Feed::Nothing);
        Outcome::new(dirs, outcome.says)
    }

    /// Scripts that programs take as one of their arguments.
    fn scripts_of(&mut self, name: &str, arguments: &[Field], dirs: &Dirs, input: &Feed) {
        if matches!(name, "at" | "batch") {
            self.fed(input, dirs);
            return;
        }
        if matches!(name, "watch" | "ssh") {
            let wrapper = if name == "watch" { &wrapper::WATCH } else { &wrapper::SSH };
            let dirs = if name == "watch" { dirs } else { &vec![None] };
            self.text(&joined(&arguments[wrapper.begin(arguments)..]), dirs, &Feed::Nothing);
            return;
        }
        let after = |(index, field): (usize, &Field)| {
            let is_short = field.text.starts_with('-')
                && !field.text.starts_with("--")
                && field.text.ends_with('c');
            let next = arguments.get(index + 1).filter(|_| is_short || field.text == "--command");
            next.map(|script| script.text.clone())
                .or_else(|| field.text.strip_prefix("--command=").map(str::to_owned))
        };
        let scripts: Vec<_> = arguments.iter().enumerate().filter_map(after).collect();
        for script in scripts {
            self.text(&script, dirs, input);
        }
    }

    /// A program that nobody here knows.
    fn program(&mut self, name: &str, arguments: &[Field], dirs: &Dirs, input: &Feed) -> Outcome {
        if FETCHERS.contains(&name) {
            self.fetched.extend(fetched(name, arguments));
            return Outcome::new(dirs, Feed::Downloaded);
        }
        if name == "sed" || name == "gsed" {
            self.sed(arguments, dirs);
        } else if (!TALKERS.contains(&name) || runs_others(name, arguments)) && name != "git" {
            self.suffixes(arguments, dirs, false);
            self.perhaps(name, arguments, dirs, input);
        }
        Outcome::new(dirs, input.worked_on())
    }

    /// Commands among the arguments of a program: it may run them.
    fn suffixes(&mut self, arguments: &[Field], dirs: &Dirs, certain: bool) {
        if self.lenient
            || arguments
                .first()
                .and_then(Field::name)
                .is_some_and(|name| TALKERS.contains(&name.as_str()))
        {
            return;
        }
        let before = self.danger.clone();
        for (index, field) in arguments.iter().enumerate().skip(usize::from(certain)).take(16) {
            let name = field.name().unwrap_or_default();
            let is_command = matches!(name.as_str(), "rm" | "dd" | "shred")
                || is_shell(&name)
                || self.programs.is_denied(&name);
            if is_command && index + 1 < arguments.len() {
                self.deeper(&arguments[index..], dirs, &Feed::Nothing);
            }
        }
        // It may as well be a text.
        if !certain
            && matches!(self.danger, Danger::Denied(_))
            && !matches!(before, Danger::Denied(_))
        {
            self.danger = before;
            self.critical(reason::PERHAPS);
        }
    }

    pub(super) fn was_fetched(&self, file: &Field) -> bool {
        file.is_downloaded() || self.fetched.iter().any(|known| same_file(known, &file.text))
    }
}

/// What stands behind `-S` of `env`, which may come after other letters.
fn split_string(text: &str) -> Option<&str> {
    let (letters, script) = text.strip_prefix('-')?.split_once('S')?;
    letters.chars().all(|one| "iv0".contains(one)).then_some(script)
}

/// Package managers that run a command, and readers that are told a program to read with.
fn runs_others(name: &str, arguments: &[Field]) -> bool {
    let first = arguments.first().map_or("", |field| field.text.as_str());
    match name {
        "npm" | "pnpm" | "yarn" => matches!(first, "exec" | "x" | "dlx" | "node"),
        "man" => first.starts_with("-P") || first.starts_with("--pager"),
        "less" | "more" => first.starts_with('+'),
        _ => false,
    }
}

/// `command -v name` only looks for it.
fn is_question(arguments: &[Field]) -> bool {
    arguments.first().is_some_and(|field| matches!(field.text.as_str(), "-v" | "-V"))
}

/// Files that a download leaves.
fn fetched(name: &str, arguments: &[Field]) -> Vec<String> {
    let mut files = Vec::new();
    let is_wget = name.starts_with("wget");
    for (index, field) in arguments.iter().enumerate() {
        let text = field.text.as_str();
        let names_file =
            matches!(text, "-o" | "--output" | "--output-document") || (is_wget && text == "-O");
        if names_file && let Some(file) = arguments.get(index + 1) {
            files.push(file.text.clone());
        }
        let behind =
            ["--output=", "--output-document="].iter().find_map(|key| text.strip_prefix(key));
        let attached =
            text.strip_prefix(if is_wget { "-O" } else { "-o" }).filter(|file| !file.is_empty());
        files.extend(behind.or(attached).map(str::to_owned));
        if text.contains("://") {
            let path = text.split(['?', '#']).next().unwrap_or_default();
            files
                .extend(path.rsplit('/').next().filter(|file| !file.is_empty()).map(str::to_owned));
        }
    }
    files
}

fn same_file(known: &str, path: &str) -> bool {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    !known.is_empty() && known != "-" && name(known) == name(path)
}

fn echoed(arguments: &[Field]) -> Feed {
    let is_option =
        |field: &&Field| matches!(field.text.as_str(), "-n" | "-e" | "-E" | "-ne" | "-en");
    let words: Vec<_> = arguments.iter().skip_while(is_option).cloned().collect();
    let is_escaped = arguments.iter().take_while(is_option).any(|field| field.text.contains('e'));
    let text = joined(&words) + "\n";
    Feed::Known(if is_escaped { unescaped(&text) } else { text })
}

fn printed(arguments: &[Field]) -> Feed {
    let arguments = if arguments.first().is_some_and(|field| field.text == "--") {
        &arguments[1..]
    } else {
        arguments
    };
    let Some((format, values)) = arguments.split_first() else { return Feed::Nothing };
    if format.text == "-v" {
        return Feed::Unknown;
    }
    let mut pieces = format.text.split('%');
    let begin = unescaped(pieces.next().unwrap_or_default());
    let pieces: Vec<_> = pieces.collect();
    if pieces.is_empty() {
        return Feed::Known(begin);
    }
    if pieces.iter().any(|piece| !piece.starts_with(['s', 'b', 'q'])) {
        return Feed::Unknown;
    }
    let mut text = String::new();
    let rounds: Vec<_> =
        if values.is_empty() { vec![values] } else { values.chunks(pieces.len()).collect() };
    for round in rounds {
        text += &begin;
        for (index, piece) in pieces.iter().enumerate() {
            text += &unescaped(round.get(index).map_or("", |field| &field.text));
            text += &unescaped(&piece[1..]);
        }
    }
    Feed::Known(text)
}

pub(super) fn joined(fields: &[Field]) -> String {
    let texts: Vec<_> = fields.iter().map(|field| field.text.as_str()).collect();
    texts.join(" ")
}

/// The same as a script that has these arguments.
pub(super) fn quoted(fields: &[Field]) -> String {
    let quote = |field: &Field| {
        let is_plain = field
            .text
            .chars()
            .any(|one| is_unknown(one) || one == WILD || one == super::field::HOME);
        if is_plain {
            field.text.clone()
        } else {
            format!("'{}'", field.text.replace('\'', r"'\''"))
        }
    };
    fields.iter().map(quote).collect::<Vec<_>>().join(" ")
}
