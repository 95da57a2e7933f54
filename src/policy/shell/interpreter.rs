//! Interpreters of other languages: where their code stands, in an argument, a file or what they read.

use super::code::{removes_input, runs_input};
use super::field::{Feed, Field, is_unknown};
use super::walk::{Dirs, Outcome, Walker};
use super::{reason, sql};

/// Without the numbers of versions.
const INTERPRETERS: [&str; 50] = [
    "python",
    "pypy",
    "ipython",
    "node",
    "nodejs",
    "deno",
    "bun",
    "ts-node",
    "tsx",
    "ruby",
    "irb",
    "perl",
    "raku",
    "php",
    "lua",
    "luajit",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "osascript",
    "tclsh",
    "wish",
    "expect",
    "pwsh",
    "powershell",
    "rscript",
    "r",
    "julia",
    "octave",
    "guile",
    "racket",
    "elixir",
    "iex",
    "erl",
    "ghc",
    "runghc",
    "groovy",
    "jshell",
    "jrunscript",
    "scala",
    "kotlin",
    "crystal",
    "gjs",
    "qjs",
    "emacs",
    "sbcl",
    "clisp",
    "gnuplot",
    "dc",
];
/// Options whose value is code, also with letters before them: `-ne`, `-pe`.
const CODE_LETTERS: [char; 5] = ['c', 'e', 'p', 'r', 'E'];
const CODE_OPTIONS: [&str; 11] = [
    "--eval",
    "-eval",
    "--print",
    "eval",
    "--execute",
    "--expression",
    "--source",
    "-Command",
    "-command",
    "--command",
    "--code",
];

pub(super) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&base(name))
}

/// `python3.11` is a Python.
fn base(name: &str) -> &str {
    name.trim_end_matches(|one: char| one.is_ascii_digit() || one == '.' || one == '-')
}

/// What the arguments of an interpreter say.
#[derive(Debug, Default)]
struct Given<'f> {
    code: Vec<Field>,
    file: Option<&'f Field>,
    /// Behind the code or the file.
    rest: &'f [Field],
}

impl<'f> Given<'f> {
    fn read(name: &str, arguments: &'f [Field]) -> Self {
        let is_awk = name.ends_with("awk");
        let mut given = Self::default();
        let mut at = 0;
        while let Some(field) = arguments.get(at) {
            at += 1;
            let text = field.text.as_str();
            let is_short = text.starts_with('-') && !text.starts_with("--") && text.len() > 1;
            let (option, value) = text.split_once('=').unwrap_or((text, ""));
            if CODE_OPTIONS.contains(&option) && !value.is_empty() {
                given.code.push(Field::new(value));
            } else if CODE_OPTIONS.contains(&text)
                || (is_short && is_awk && matches!(text, "-e" | "-E"))
                || (is_short && !is_awk && text.ends_with(CODE_LETTERS))
            {
                given.code.extend(arguments.get(at).cloned());
                at += 1;
            } else if matches!(text, "-m" | "-f" | "--file") {
                given.file = arguments.get(at);
                at += 1;
                break;
            } else if is_awk && matches!(text, "-F" | "-v" | "-i") {
                at += 1;
            } else if let Some(end) = text.find(CODE_LETTERS).filter(|_| is_short && !is_awk) {
                // Behind the letter, without a blank.
                given.code.push(Field { text: text[end + 1..].to_owned(), ..field.clone() });
            } else if text == "run" && matches!(name, "deno" | "bun") {
                continue;
            } else if !text.starts_with('-') && is_awk && given.code.is_empty() {
                given.code.push(field.clone());
            } else if !text.starts_with('-') || text == "-" {
                given.file = Some(field).filter(|_| given.code.is_empty());
                break;
            }
        }
        given.rest = arguments.get(at.saturating_sub(1)..).unwrap_or_default();
        given
    }
}

/// An address, or a package by its name.
fn is_remote(text: &str) -> bool {
    text.contains("://")
}

impl Walker<'_> {
    pub(super) fn interpreter(
        &mut self,
        name: &str,
        arguments: &[Field],
        dirs: &Dirs,
        input: &Feed,
    ) -> Outcome {
        let name = base(name);
        let Given { code, file, rest } = Given::read(name, arguments);
        if arguments.iter().any(|field| field.text.to_lowercase().starts_with("-enc")) {
            self.critical(reason::UNKNOWN);
        }
        self.edits_in_place(name, arguments, dirs);
        for field in &code {
            if field.is_downloaded() {
                self.critical(reason::DOWNLOADED);
            }
            if !field.text.is_empty() && field.text.chars().all(is_unknown) {
                self.unknown(reason::UNKNOWN);
            }
            self.code(&field.text, dirs);
            self.imports(&field.text, dirs);
            self.reads(&field.text, input, dirs);
        }
        if !code.is_empty() {
            // They may be what the code runs.
            self.suffixes(rest, dirs, input, false);
        }
        match file {
            Some(file) if file.feed.is_some() || !super::run::is_stdin(&file.text) => {
                self.code_of_file(file, rest, dirs)
            }
            Some(_) => self.code_of(input, dirs),
            None if code.is_empty() => self.code_of(input, dirs),
            None => {}
        }
        Outcome::new(dirs, input.worked_on())
    }

    /// Modules that the script itself has written or downloaded.
    fn imports(&mut self, code: &str, dirs: &Dirs) {
        if !["import", "require", "use ", "load"].iter().any(|word| code.contains(word)) {
            return;
        }
        let is_named = |file: &str| {
            let name = file.rsplit('/').next().and_then(|name| name.split('.').next());
            let mut words = code.split(|one: char| !one.is_alphanumeric() && one != '_');
            name.is_some_and(|name| !name.is_empty() && words.any(|word| word == name))
        };
        if self.fetched.iter().any(|file| is_named(file)) {
            self.critical(reason::DOWNLOADED);
        }
        let written = self.written.iter().filter(|(file, _)| is_named(file));
        let texts: Vec<_> = written.map(|(_, text)| text.clone()).take(8).collect();
        texts.iter().for_each(|text| self.code(text, dirs));
    }

    /// Code that works on what it reads.
    fn reads(&mut self, code: &str, input: &Feed, dirs: &Dirs) {
        if *input != Feed::Nothing && removes_input(code) {
            self.critical(reason::REMOVES_UNKNOWN);
        }
        if !runs_input(code) {
            return;
        }
        match input {
            Feed::Known(text) => {
                self.perhaps_texts(std::slice::from_ref(text), dirs);
                self.code(text, dirs);
            }
            Feed::Downloaded => self.critical(reason::DOWNLOADED),
            Feed::Nothing | Feed::File | Feed::Unknown => {}
        }
    }

    fn code_of(&mut self, feed: &Feed, dirs: &Dirs) {
        if feed.is_downloaded() {
            self.critical(reason::DOWNLOADED);
        } else if let Feed::Known(text) = feed {
            self.code(text, dirs);
        }
    }

    fn code_of_file(&mut self, file: &Field, rest: &[Field], dirs: &Dirs) {
        if let Some(feed) = &file.feed {
            return self.code_of(&feed.clone(), dirs);
        }
        // `-m name`
        let module = Field::new(format!("{}.py", file.text));
        if self.may_be_fetched(file, dirs) || self.was_fetched(&module) || is_remote(&file.text) {
            self.critical(reason::DOWNLOADED);
        }
        for file in [file, &module] {
            if let Some(text) = self.content_of(file) {
                self.code(&text, dirs);
            }
        }
        // `python -m timeit '...'`, and scripts of frameworks that empty a database.
        let is_flush = |field: &Field| matches!(field.text.as_str(), "flush" | "reset_db");
        if rest.iter().any(is_flush) && file.text.ends_with("manage.py") {
            self.critical(reason::DATA);
        }
        if file.text == "sqlite3" && rest.iter().any(|field| sql::destroys(&field.text)) {
            self.critical(reason::DATA);
        }
        if file.text.ends_with("rimraf") || file.text.ends_with("del-cli") {
            self.critical(reason::REMOVES);
        }
        let is_code = |field: &&Field| field.text.contains(['(', ';']);
        let texts: Vec<_> = rest.iter().filter(is_code).map(|field| field.text.clone()).collect();
        if matches!(file.text.as_str(), "timeit" | "pdb" | "IPython" | "ptpython") {
            texts.iter().for_each(|text| self.code(text, dirs));
        }
    }

    /// `perl -pi -e '...' FILE`
    fn edits_in_place(&mut self, name: &str, arguments: &[Field], dirs: &Dirs) {
        let is_in_place = |field: &Field| {
            let letters = field.text.strip_prefix('-').unwrap_or_default();
            letters
                .trim_start_matches(|one: char| one.is_ascii_digit() || "pnlawsW".contains(one))
                .starts_with('i')
        };
        let edits = matches!(name, "perl" | "ruby") && arguments.iter().any(is_in_place);
        if edits && arguments.iter().any(|field| self.is_users(field, dirs)) {
            self.critical(reason::WRITES_OUTSIDE);
        }
    }
}
