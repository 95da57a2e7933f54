//! One command with its arguments: builtins, shells, and programs that run what they are given.

use super::field::{EXPORTED, Feed, Field, UNKNOWN, WILD, is_unknown};
use super::walk::{Dirs, Outcome, Walker, moved};
use super::{interpreter, reason, suffix, trusted, wrapper};

const SHELLS: [&str; 14] = [
    "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "fish", "csh", "tcsh", "rbash",
    "yash", "rksh",
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
        if !self.take_step() {
            return Outcome::new(dirs, Feed::Unknown);
        }
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
        self.judge(&name, argv, dirs, input);
        if self.fetched.iter().any(|file| same_file(file, &first.text)) {
            self.critical(reason::DOWNLOADED);
        }
        if first.text.contains('/') || self.variables.contains_key("PATH") {
            self.run_written(first, dirs);
        }
        if first.text.contains('/') && self.may_be_fetched(first, dirs) {
            self.critical(reason::DOWNLOADED);
        }
        let is_usual = !self.variables.contains_key("PATH");
        if let Some(says) = trusted::says(first, &name, arguments).filter(|_| is_usual) {
            return Outcome::new(dirs, says);
        }
        if let Some(outcome) = self.builtin(&name, arguments, dirs, input) {
            return outcome;
        }
        if is_shell(&name) {
            return self.shell(arguments, dirs, input);
        }
        if interpreter::is_interpreter(&name) {
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
            "xargs" | "parallel" => return Some(self.fanned_out(name, arguments, dirs, input)),
            "find" | "fd" | "fdfind" => return Some(self.found(arguments, dirs)),
            "watch" | "script" | "flock" | "su" | "sg" | "at" | "batch" | "ssh" => {
                self.scripts_of(name, arguments, dirs, input);
            }
            "git" => self.scripts_of_git(arguments, dirs),
            _ => {}
        }
        let wrapper = wrapper::find(name)?;
        let begin = wrapper.begin(arguments);
        let inner = &arguments[begin..];
        // What the shell itself reads is another file now.
        self.is_bare_exec |= name == "exec" && inner.is_empty();
        if name == "chroot" {
            let outcome = self.deeper(inner, &vec![None], input);
            return Some(Outcome::new(dirs, outcome.says));
        }
        if name == "coproc" {
            let outcome = self.deeper(inner, dirs, &Feed::Unknown);
            return Some(Outcome::new(dirs, outcome.says));
        }
        let outcome = self.deeper(inner, dirs, input);
        // An option that we do not know may have hidden where it begins.
        self.suffixes(inner, dirs, input, true);
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
                    Some(_) => self.assigned(std::slice::from_ref(field), dirs),
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
    fn fanned_out(
        &mut self,
        name: &str,
        arguments: &[Field],
        dirs: &Dirs,
        input: &Feed,
    ) -> Outcome {
        let begin = wrapper::XARGS.begin(arguments);
        // Without a command `parallel` runs what it is given.
        if name == "parallel" {
            match &arguments[begin..] {
                [] => return self.fed(input, dirs),
                [mark, commands @ ..] if mark.text.starts_with(":::") => {
                    for command in commands {
                        self.text(&command.text, dirs, &Feed::Nothing);
                    }
                }
                _ => {}
            }
        }
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
            // One argument, whatever it is.
            if field.text == place && !matches!(input, Feed::Known(_) | Feed::Downloaded) {
                field.text = EXPORTED.to_string();
                continue;
            }
            let all: Vec<_> = more.iter().map(|field| field.text.as_str()).collect();
            field.text = field.text.replace(&place, &all.join(" "));
        }
        let program = argv.first().and_then(Field::name).unwrap_or_default();
        let is_last = argv.last().is_some_and(|field| field.text.contains(is_unknown));
        // Each file becomes the same one.
        if program == "tee"
            || (matches!(program.as_str(), "cp" | "mv" | "ln") && is_placed && is_last)
        {
            self.critical(reason::OVERWRITES);
        }
        if argv.is_empty() {
            return Outcome::new(dirs, input.worked_on());
        }
        if !is_placed {
            argv.extend(more);
        }
        // `parallel 'echo {}'`
        if name == "parallel" && !argv[0].text.contains([';', '|', '&', '$', '`', '<', '>', '\n']) {
            let words: Vec<_> = argv[0].text.split_whitespace().map(Field::new).collect();
            argv.splice(0..1, words);
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
            self.text(&joined(&arguments[wrapper.begin(arguments)..]), dirs, input);
            if name == "watch" {
                return;
            }
            let options = &arguments[..wrapper.begin(arguments)];
            self.perhaps(name, options, dirs, &Feed::Nothing);
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
        self.recipe(name, arguments, dirs);
        if let Some(outcome) = self.downloads(name, arguments, dirs, input) {
            return outcome;
        }
        self.writes_output(arguments, dirs);
        if name == "sed" || name == "gsed" {
            self.sed(arguments, dirs);
        } else if !suffix::only_talks(name, arguments) && name != "git" {
            self.suffixes(arguments, dirs, input, false);
            self.perhaps(name, arguments, dirs, input);
        }
        Outcome::new(dirs, input.worked_on())
    }
}

/// What stands behind `-S` of `env`, which may come after other letters.
fn split_string(text: &str) -> Option<&str> {
    let (letters, script) = text.strip_prefix('-')?.split_once('S')?;
    letters.chars().all(|one| "iv0".contains(one)).then_some(script)
}

/// What a program reads that nobody has told another file.
pub(super) fn is_stdin(text: &str) -> bool {
    matches!(text, "-" | "/dev/stdin")
        || text.starts_with("/dev/fd/")
        || text.starts_with("/proc/self/fd/")
}

pub(super) fn same_file(known: &str, path: &str) -> bool {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    !known.is_empty() && known != "-" && name(known).eq_ignore_ascii_case(&name(path))
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
