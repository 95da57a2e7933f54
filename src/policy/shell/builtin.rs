//! Builtins of a shell: directories, variables, and what they say.

use super::environment::Seen;
use super::field::{Feed, Field, HOME, SEPARATOR, UNKNOWN, is_unknown};
use super::reason;
use super::run::{is_stdin, joined};
use super::walk::{Dirs, Outcome, Walker, both, moved, union};
use super::word::unescaped;

impl Walker<'_> {
    pub(super) fn builtin(
        &mut self,
        name: &str,
        arguments: &[Field],
        dirs: &Dirs,
        input: &Feed,
    ) -> Option<Outcome> {
        let says = match name {
            "cd" | "pushd" | "chdir" => return Some(self.change(arguments, dirs)),
            "popd" => {
                return Some(Outcome { done: vec![None], ..Outcome::new(dirs, Feed::Nothing) });
            }
            "cat" | "tee" => return Some(self.passed_on(name, arguments, dirs, input)),
            "eval" => return Some(self.text(&joined(arguments), dirs, input)),
            "source" | "." => {
                self.is_anything_set = true;
                return Some(self.sourced(arguments, dirs, input));
            }
            "echo" => echoed(arguments),
            "printf" => self.prints(arguments),
            "pwd" => match dirs.as_slice() {
                [Some(only)] => Feed::Known(format!("{}\n", only.to_string_lossy())),
                _ => Feed::Unknown,
            },
            "which" | "type" | "command" if name != "command" || is_question(arguments) => {
                let last = arguments.last().filter(|field| !field.text.starts_with('-'));
                last.map_or(Feed::Unknown, |field| Feed::Known(format!("{}\n", field.text)))
            }
            "trap" => {
                let script = arguments.iter().find(|field| !field.text.starts_with('-'));
                script.map(|script| self.text(&script.text, dirs, input));
                Feed::Nothing
            }
            "mkfifo" | "mknod" => {
                self.keep_written(arguments, &Feed::Unknown, dirs);
                Feed::Nothing
            }
            // They replace commands by files.
            "hash" | "enable"
                if arguments.iter().any(|field| matches!(field.text.as_str(), "-p" | "-f")) =>
            {
                self.unknown(reason::UNKNOWN);
                Feed::Nothing
            }
            _ => return self.sets(name, arguments, dirs, input),
        };
        Some(Outcome::new(dirs, says))
    }

    /// Builtins that set variables and other names.
    fn sets(
        &mut self,
        name: &str,
        arguments: &[Field],
        dirs: &Dirs,
        input: &Feed,
    ) -> Option<Outcome> {
        match name {
            "alias" => {
                let pairs = arguments.iter().filter_map(|field| field.text.split_once('='));
                for (name, value) in pairs {
                    self.aliases.insert(name.to_owned(), value.to_owned());
                }
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                let is_reference = |field: &Field| {
                    let letters = field.text.strip_prefix('-').unwrap_or_default();
                    name != "export" && letters.contains('n') && !letters.starts_with('-')
                };
                // What is assigned to one name is then the value of another.
                if arguments.iter().any(is_reference) {
                    self.unknown(reason::UNKNOWN);
                    self.is_anything_set = true;
                }
                self.assigned(arguments, dirs);
            }
            "read" | "mapfile" | "readarray" | "getopts" | "let" => {
                self.reads_into(name, arguments, dirs, input);
            }
            "set" | "setenv" => self.set(arguments, dirs),
            "shift" => {
                for list in self.variables.get("@").cloned().unwrap_or_default() {
                    let fields: Vec<_> = list.split(SEPARATOR).map(Field::new).collect();
                    (1..fields.len().min(9)).for_each(|begin| self.positional(&fields[begin..]));
                }
            }
            _ => return None,
        }
        Some(Outcome::new(dirs, Feed::Nothing))
    }

    fn prints(&mut self, arguments: &[Field]) -> Feed {
        if let [option, variable, rest @ ..] = arguments
            && option.text == "-v"
        {
            self.is_anything_set |= variable.is_unknown();
            self.assign(&variable.text, vec![printed(rest).text()]);
        }
        printed(arguments)
    }

    fn reads_into(&mut self, name: &str, arguments: &[Field], dirs: &Dirs, input: &Feed) {
        let text = match input {
            Feed::Known(text) => text.trim_end().to_owned(),
            Feed::Nothing | Feed::File | Feed::Unknown | Feed::Downloaded => UNKNOWN.to_string(),
        };
        for field in arguments.iter().filter(|field| !field.text.starts_with('-')) {
            self.substituted_again(name, field, dirs);
            self.is_anything_set |= field.is_unknown();
            self.assign(&field.text, vec![text.clone(), UNKNOWN.to_string()]);
        }
        for name in ["REPLY", "MAPFILE", "OPTARG"] {
            self.assign(name, vec![UNKNOWN.to_string()]);
        }
    }

    /// `set -- a b` for `$1` and `$2`. In other shells the first word is the name of a variable.
    fn set(&mut self, arguments: &[Field], dirs: &Dirs) {
        let is_option = |field: &&Field| field.text.starts_with(['-', '+']) && field.text != "--";
        let mut values = &arguments[arguments.iter().take_while(is_option).count()..];
        if values.first().is_some_and(|field| field.text == "--") {
            values = &values[1..];
        }
        self.positional(values);
        self.assigned(values, dirs);
        if let [name, values @ ..] = values {
            self.assign(&name.text, values.iter().map(|field| field.text.clone()).collect());
        }
    }

    /// Arithmetic substitutes once more.
    pub(super) fn substituted_again(&mut self, name: &str, field: &Field, dirs: &Dirs) {
        if name == "let" && field.text.contains(['$', '`']) {
            self.text(&format!(": \"{}\"", field.text), dirs, &Feed::Nothing);
        }
    }

    pub(super) fn change(&mut self, arguments: &[Field], dirs: &Dirs) -> Outcome {
        let is_option = |field: &&Field| field.text.len() > 1 && field.text.starts_with('-');
        let target = arguments.iter().find(|field| !is_option(field));
        let mut done = match target.map(|field| field.text.as_str()) {
            None => moved(dirs, &HOME.to_string()),
            Some("-") => vec![None],
            Some(target) => moved(dirs, target),
        };
        if self.variables.contains_key("CDPATH") {
            done = union(done, &vec![None]);
        }
        Outcome { done, ..Outcome::new(dirs, Feed::Nothing) }
    }

    pub(super) fn passed_on(
        &mut self,
        name: &str,
        arguments: &[Field],
        dirs: &Dirs,
        input: &Feed,
    ) -> Outcome {
        let is_file = |field: &&Field| field.text == "-" || !field.text.starts_with('-');
        let files: Vec<_> = arguments.iter().filter(is_file).collect();
        if name == "tee" {
            files.iter().for_each(|field| self.writes(field, dirs));
            if files.iter().any(|field| field.is_wild()) {
                self.critical(reason::OVERWRITES);
            }
            if input.is_downloaded() {
                self.fetched.extend(files.iter().map(|field| field.text.clone()));
            }
            let files: Vec<_> = files.into_iter().cloned().collect();
            self.keep_written(&files, input, dirs);
            return Outcome::new(dirs, input.clone());
        }
        let one = |field: &&Field| {
            let is_input = field.text == "-" || (field.feed.is_none() && is_stdin(&field.text));
            if is_input { input.clone() } else { self.content(field) }
        };
        let says = match files.as_slice() {
            [] => input.clone(),
            many => {
                many.iter().map(one).reduce(|one, next| both(&one, &next)).unwrap_or(Feed::Nothing)
            }
        };
        Outcome::new(dirs, says)
    }

    /// `name=value` as arguments.
    pub(super) fn assigned(&mut self, arguments: &[Field], dirs: &Dirs) {
        for field in arguments {
            let Some((name, value)) = field.text.split_once('=') else {
                self.is_anything_set |= field.is_unknown();
                continue;
            };
            self.is_anything_set |= name.contains(is_unknown);
            let value = Field { text: value.to_owned(), feed: field.feed.clone() };
            self.variable(name, &value, dirs, Seen::ByPrograms);
            self.assign(name, vec![value.text]);
        }
    }
}

/// `command -v name` only looks for it.
fn is_question(arguments: &[Field]) -> bool {
    arguments.first().is_some_and(|field| matches!(field.text.as_str(), "-v" | "-V"))
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
