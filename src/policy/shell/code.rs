//! Code for other interpreters. Nobody here understands it, but the commands that it holds as texts are looked at.

use super::field::{Feed, Field};
use super::walk::{Dirs, Outcome, Walker};
use super::{Danger, reason};

const INTERPRETERS: [&str; 22] = [
    "python",
    "python2",
    "python3",
    "pypy",
    "pypy3",
    "node",
    "nodejs",
    "deno",
    "bun",
    "ruby",
    "perl",
    "php",
    "lua",
    "luajit",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "osascript",
    "tclsh",
    "pwsh",
    "powershell",
];
/// Calls that remove whole directories.
const REMOVERS: [&str; 7] =
    ["rmtree", "rmSync", "fs.rm(", "rm_rf", "remove_tree", "removeSync", "rimraf"];

/// Calls that run a text as code, and those that make one of what nobody can read here.
const EVALUATORS: [&str; 5] = ["exec(", "eval(", "iex ", "invoke-expression", "loadstring("];
const HIDERS: [&str; 11] = [
    "b64decode",
    "fromhex",
    "decompress",
    "urlopen",
    "requests.get",
    "atob(",
    "base64",
    "fetch(",
    "iwr",
    "invoke-webrequest",
    "downloadstring",
];

pub(super) fn is_interpreter(name: &str) -> bool {
    let base = name.split('.').next().unwrap_or_default();
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&base) && name.starts_with("python")
}

impl Walker<'_> {
    pub(super) fn interpreter(
        &mut self,
        name: &str,
        arguments: &[Field],
        dirs: &Dirs,
        input: &Feed,
    ) -> Outcome {
        let says = Outcome::new(dirs, input.worked_on());
        let is_awk = name.ends_with("awk");
        let mut code = Vec::new();
        let mut file = None;
        let mut rest = arguments.iter();
        while let Some(field) = rest.next() {
            let text = field.text.as_str();
            let is_short = text.starts_with('-') && !text.starts_with("--") && text.len() > 1;
            // `-c`, `-e`, `-ne`, `-pe` and the like
            if (is_short && !is_awk && text.ends_with(['c', 'e', 'p', 'r', 'E']))
                || matches!(text, "--eval" | "--print" | "eval" | "-Command")
            {
                code.extend(rest.next());
            } else if is_short && matches!(text, "-m" | "-f") {
                file = rest.next();
                break;
            } else if is_short && is_awk && matches!(text, "-F" | "-v") {
                rest.next();
            } else if !text.starts_with('-') && is_awk && code.is_empty() {
                code.push(field);
            } else if text == "run" && matches!(name, "deno" | "bun") {
                continue;
            } else if !text.starts_with('-') || text == "-" {
                file = Some(field).filter(|_| text != "-");
                break;
            }
        }
        let reads = code.is_empty() && file.is_none();
        for field in code {
            if field.is_downloaded() {
                self.critical(reason::DOWNLOADED);
            }
            self.code(&field.text, dirs);
        }
        if reads && input.is_downloaded() {
            self.critical(reason::DOWNLOADED);
        } else if let Feed::Known(text) = input
            && reads
        {
            self.code(text, dirs);
        }
        if let Some(file) = file {
            match &file.feed {
                Some(Feed::Known(text)) if !file.is_downloaded() => self.code(text, dirs),
                _ if self.was_fetched(file) || file.text.contains("://") => {
                    self.critical(reason::DOWNLOADED);
                }
                _ if file.text == "/dev/stdin" => {
                    if let Feed::Known(text) = input {
                        self.code(text, dirs);
                    }
                }
                _ => {
                    if let Some(text) = self.content_of(file) {
                        self.code(&text, dirs);
                    }
                }
            }
        }
        says
    }

    pub(super) fn code(&mut self, code: &str, dirs: &Dirs) {
        let is_recursive = |name: &str| code.contains(name) && code.contains("recursive");
        if REMOVERS.iter().any(|name| code.contains(name)) || is_recursive("rmdirSync") {
            self.critical(reason::REMOVES);
        }
        let lower = code.to_lowercase();
        let evaluates = EVALUATORS.iter().any(|name| lower.contains(name));
        if evaluates && HIDERS.iter().any(|name| lower.contains(name)) {
            self.critical(reason::UNKNOWN);
        }
        if lower.contains("remove-item") && lower.contains("-r") {
            self.critical(reason::REMOVES);
        }
        let texts = literals(code);
        let before = std::mem::replace(&mut self.lenient, true);
        for text in texts.iter().filter(|text| text.contains(char::is_whitespace)) {
            self.text(text, dirs, &Feed::Nothing);
        }
        // A list of arguments, as it is given to a call.
        let fields: Vec<_> = texts.iter().map(Field::new).collect();
        for begin in 0..fields.len().min(32) {
            let name = fields[begin].name().unwrap_or_default();
            if name == "rm"
                || super::run::is_shell(&name)
                || (self.programs.is_denied(&name) && fields.len() > 1)
            {
                self.deeper(&fields[begin..], dirs, &Feed::Nothing);
            }
        }
        self.lenient = before;
        if let Danger::Denied(_) = &self.danger {
            return;
        }
        let is_quoted =
            |word: &str| texts.iter().any(|text| text.split_whitespace().any(|part| part == word));
        if is_quoted("rm") && texts.iter().any(|text| text.contains("-r")) {
            self.critical(reason::REMOVES);
        }
    }
}

/// Texts in quotes of any kind.
fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code.chars();
    while let Some(quote) = rest.by_ref().find(|one| matches!(one, '"' | '\'' | '`')) {
        let mut text = String::new();
        while let Some(one) = rest.next() {
            match one {
                _ if one == quote => break,
                '\\' => text.extend(rest.next()),
                _ => text.push(one),
            }
        }
        found.push(text);
    }
    found.extend(bracketed(code));
    found
}

/// `qw(...)`, `qx{...}` and `%x(...)`, as Perl and Ruby have them. Words of a list are texts of their own.
fn bracketed(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for begin in ["qw", "qx", "%x", "%w"] {
        for (at, _) in code.match_indices(begin) {
            let rest = &code[at + begin.len()..];
            let Some(open) = rest.chars().next().filter(|one| "([{<|/!".contains(*one)) else {
                continue;
            };
            let close = match open {
                '(' => ')',
                '[' => ']',
                '{' => '}',
                '<' => '>',
                other => other,
            };
            let inner = rest[1..].split(close).next().unwrap_or_default();
            if begin.ends_with('w') {
                found.extend(inner.split_whitespace().map(str::to_owned));
            } else {
                found.push(inner.to_owned());
            }
        }
    }
    found
}
