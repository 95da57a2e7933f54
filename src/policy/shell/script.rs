//! Scripts that shells read: from an argument, a file, or what they are fed.

use super::field::{Feed, Field};
use super::run::{is_stdin, same_file};
use super::walk::{Dirs, Outcome, Walker};
use super::word::unescaped;
use super::{interpreter, reason};

impl Walker<'_> {
    pub(super) fn sourced(&mut self, arguments: &[Field], dirs: &Dirs, input: &Feed) -> Outcome {
        let Some(file) = arguments.first() else { return Outcome::new(dirs, Feed::Unknown) };
        let is_input = file.feed.is_none() && is_stdin(&file.text);
        let feed = if is_input { input.clone() } else { self.content(file) };
        self.fed(&feed, dirs)
    }

    /// What is read from a file, as far as the script itself tells it.
    pub(super) fn content(&self, file: &Field) -> Feed {
        match &file.feed {
            Some(feed) => feed.clone(),
            None if self.was_fetched(file) => Feed::Downloaded,
            None => self.content_of(file).map_or(Feed::File, Feed::Known),
        }
    }

    /// A file that the script itself has written before, all that was ever written there.
    pub(super) fn content_of(&self, file: &Field) -> Option<String> {
        let known = self.written.iter().filter(|(name, _)| same_file(name, &file.text));
        let texts: Vec<_> = known.map(|(_, text)| text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    pub(super) fn run_written(&mut self, program: &Field, dirs: &Dirs) {
        if let Some(text) = self.content_of(program) {
            self.run_content(&text, dirs);
        }
    }

    /// A file with this content runs.
    pub(super) fn run_content(&mut self, text: &str, dirs: &Dirs) {
        if self.depth >= super::parse::DEEPEST {
            return self.unknown(reason::UNREADABLE);
        }
        self.depth += 1;
        let line = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
        let words = line.split(['/', ' ']).map(Field::new);
        if words.filter_map(|word| word.name()).any(|name| interpreter::is_interpreter(&name)) {
            self.code(text, dirs);
        } else {
            self.text(text, dirs, &Feed::Nothing);
        }
        self.depth -= 1;
    }

    /// A shell reads its script from here.
    pub(super) fn fed(&mut self, feed: &Feed, dirs: &Dirs) -> Outcome {
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

    pub(super) fn shell(&mut self, arguments: &[Field], dirs: &Dirs, input: &Feed) -> Outcome {
        // It only looks for mistakes.
        let is_checked = arguments.first().is_some_and(|field| field.text == "-n");
        let undoes = |field: &Field| field.text.starts_with('+') || field.may_be_several();
        if is_checked && !arguments.iter().any(undoes) {
            return Outcome::new(dirs, Feed::Nothing);
        }
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
            if self.start_file(field, rest.clone().next(), dirs, input)
                || (!is_long && text.ends_with(['o', 'O']))
            {
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
            if let Some(own) = values.first() {
                self.assign("0", vec![own.text.clone()]);
            }
            self.text(&script.text, dirs, input)
        } else {
            let options = &arguments[..arguments.len() - rest.len()];
            match rest.first().filter(|_| !options.iter().any(is_read)) {
                None => self.fed(input, dirs),
                Some(file) if file.text == "-" => self.fed(input, dirs),
                Some(file) => {
                    if !is_stdin(&file.text) && self.may_be_fetched(file, dirs) {
                        self.critical(reason::DOWNLOADED);
                    }
                    self.sourced(&rest, dirs, input)
                }
            }
        };
        // What it changes is its own.
        Outcome::new(dirs, inner.says)
    }

    /// A file that an interactive shell reads first. The answer tells whether the next argument names it.
    fn start_file(
        &mut self,
        option: &Field,
        next: Option<&Field>,
        dirs: &Dirs,
        input: &Feed,
    ) -> bool {
        let (name, file) = option.text.split_once('=').unwrap_or((&option.text, ""));
        if !matches!(name, "--rcfile" | "--init-file") {
            return false;
        }
        let attached = Field { text: file.to_owned(), feed: option.feed.clone() };
        let is_next = file.is_empty();
        let file = if is_next { next.cloned() } else { Some(attached) };
        self.sourced(file.as_slice(), dirs, input);
        is_next
    }
}

/// `-s`, also among other letters: the script is what the shell is fed.
fn is_read(option: &Field) -> bool {
    let letters = option.text.strip_prefix('-').unwrap_or_default();
    letters.contains('s') && letters.chars().all(|one| one.is_ascii_alphabetic())
}
