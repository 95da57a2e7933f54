//! Code of other languages. Nobody here understands it, but the commands that it holds as texts are looked at, and
//! calls that remove or overwrite files.

use super::danger::Whereabouts;
use super::field::{Feed, Field, HOME};
use super::walk::{Dirs, Walker};
use super::word::unescaped;
use super::{Danger, reason, sql};

/// Calls that remove whole directories.
pub(super) const REMOVERS: [&str; 18] = [
    "remove_dir",
    "remove_entry",
    "RemoveAll",
    "deleteRecursively",
    "del_dir_r",
    "FileUtils.rm_r",
    "rmtree",
    "rmSync",
    "fs.rm(",
    "promises.rm(",
    "rm_rf",
    "rm_r(",
    "remove_tree",
    "removeSync",
    "rimraf",
    "emptyDir",
    "delete-directory",
    "file delete",
];
/// Calls that remove, move or overwrite single files, in small letters.
const CHANGERS: [&str; 26] = [
    "symlink",
    "os.remove",
    "os.unlink",
    "os.rename",
    "os.replace",
    "os.truncate",
    "os.chmod",
    "os.chown",
    "removedirs",
    ".unlink",
    "unlink",
    "shutil.move",
    "shutil.copy",
    ".write_text",
    ".write_bytes",
    "writefile",
    "appendfile",
    "renamesync",
    "truncatesync",
    "file.delete",
    "file.write",
    "file.rename",
    "deno.remove",
    "file_put_contents",
    "os.remove(",
    "delete-file",
];
/// Code reads there, and cannot do harm.
const READ_ONLY: [&str; 4] = ["/proc/", "/sys/", "/usr/share/", "/dev/"];
/// Modes in which `open` overwrites.
const WRITING: [&str; 6] = ["w", "wb", "a", "ab", "w+", "r+"];

/// Calls that run a text as code, calls that run a command, and what makes a text of something that nobody can read
/// here. All in small letters.
const EVALUATORS: [&str; 5] = ["exec(", "eval(", "iex ", "invoke-expression", "loadstring("];
const RUNNERS: [&str; 24] = [
    "system",
    "popen",
    "popen2",
    "popen3",
    "subprocess",
    "spawn",
    "spawnsync",
    "exec",
    "execsync",
    "execfile",
    "execfilesync",
    "execl",
    "execlp",
    "execv",
    "execve",
    "execvp",
    "child_process",
    "shell_exec",
    "passthru",
    "proc_open",
    "qx",
    "cmd",
    "command",
    "shell",
];
const HIDERS: [&str; 27] = [
    "b64decode",
    "fromhex",
    "unhexlify",
    "decompress",
    "urlopen",
    "requests.get",
    "atob(",
    "base64",
    "fetch(",
    "iwr",
    "invoke-webrequest",
    "downloadstring",
    "chr(",
    "chr,",
    "fromcharcode",
    "fromcodepoint",
    "buffer.from",
    "bytes(",
    "bytearray(",
    "bytes.fromhex",
    "pack(",
    "rot13",
    "rot_13",
    "[::-1]",
    "reverse",
    "marshal",
    "unescape(",
];
/// Calls whose first argument certainly is a shell command.
const CERTAIN: [&str; 10] = [
    "system",
    "popen",
    "getoutput",
    "getstatusoutput",
    "check_output",
    "execSync",
    "shell_exec",
    "passthru",
    "os.execute",
    "os:cmd",
];
/// Languages in which a line begins with what it does.
const WORDS_THAT_RUN: [&str; 6] = ["exec", "spawn", "system", "shell", "sh", "!"];
/// Pieces of code, and texts in it, that are looked at.
const MOST_PIECES: usize = 256;

impl Walker<'_> {
    pub(super) fn code(&mut self, code: &str, dirs: &Dirs) {
        if self.depth >= super::parse::DEEPEST {
            return self.unknown(reason::UNREADABLE);
        }
        self.depth += 1;
        let before = std::mem::replace(&mut self.lenient, true);
        let texts = literals(code);
        self.calls(code, &texts, dirs);
        self.commands_of(code, &texts, dirs);
        self.lenient = before;
        self.depth -= 1;
    }

    /// What is called there, by its name.
    fn calls(&mut self, code: &str, texts: &[String], dirs: &Dirs) {
        let lower = code.to_lowercase();
        let has = |names: &[&str]| names.iter().any(|name| lower.contains(name));
        let is_recursive = lower.contains("recursive") && has(&["rmdir", "remove"]);
        if REMOVERS.iter().any(|name| code.contains(name)) || is_recursive {
            self.critical(reason::REMOVES);
        }
        if lower.contains("remove-item") && lower.contains("-r") {
            self.critical(reason::REMOVES);
        }
        if (has(&EVALUATORS) || runs(&lower)) && has(&HIDERS) {
            self.critical(reason::UNKNOWN);
        }
        if lower.contains("with administrator privileges") {
            self.note(Danger::Denied(reason::RIGHTS.to_owned()));
        }
        let is_many =
            has(&["glob", "<*", "*>", "listdir", "scandir", "readdir", "iterdir", "walk"]);
        if (removes_input(code) && is_many) || lower.contains("kill(-1") {
            self.critical(reason::REMOVES);
        }
        if lower.contains("fork") && has(&["while", "for(;;)", "loop"]) {
            self.critical(reason::FORKS);
        }
        let opens =
            lower.contains("open") && texts.iter().any(|text| WRITING.contains(&text.as_str()));
        let opens = opens || (lower.contains("print") && code.contains('>'));
        let is_outside = |text: &String| self.is_path_outside(text, dirs);
        if (opens || has(&CHANGERS)) && texts.iter().any(is_outside) {
            self.critical(reason::WRITES_OUTSIDE);
        }
        if has(&["execute", "query", "cursor"]) && texts.iter().any(|text| sql::destroys(text)) {
            self.critical(reason::DATA);
        }
    }

    fn is_path_outside(&self, text: &str, dirs: &Dirs) -> bool {
        let text = match text.strip_prefix('~') {
            Some(rest) => format!("{HOME}{rest}"),
            None => text.to_owned(),
        };
        let is_path = text.starts_with(['/', HOME]) || text.starts_with("..");
        let is_path = is_path && !READ_ONLY.iter().any(|begin| text.starts_with(begin));
        let field = Field::new(text);
        is_path
            && !field.text.contains(char::is_whitespace)
            && self.whereabouts(&field, dirs) == Whereabouts::Outside
            && self.is_users(&field, dirs)
    }

    /// Commands that stand there as texts.
    fn commands_of(&mut self, code: &str, texts: &[String], dirs: &Dirs) {
        let mut scripts: Vec<String> = texts.to_vec();
        scripts.extend(texts.iter().map(|text| unescaped(text)));
        scripts.push(texts.concat());
        scripts.retain(|text| text.contains(char::is_whitespace));
        scripts.dedup();
        scripts.extend(lines_that_run(code));
        for script in scripts.iter().take(MOST_PIECES) {
            self.text(script, dirs, &Feed::Nothing);
        }
        for script in called(code).iter().take(MOST_PIECES) {
            let before = std::mem::replace(&mut self.lenient, self.is_searching);
            self.text(script, dirs, &Feed::Nothing);
            self.lenient = before;
        }
        self.lists_of(texts, dirs);
        let runs = runs(&code.to_lowercase()) || code.contains('`');
        let is_word =
            |word: &str| texts.iter().any(|text| text.split_whitespace().any(|part| part == word));
        let is_recursive = texts.iter().any(|text| text.contains("-r"));
        if (runs && is_word("rm") || code.contains(".rm(")) && is_recursive {
            self.critical(reason::REMOVES);
        }
    }

    /// A list of arguments, as it is given to a call.
    fn lists_of(&mut self, texts: &[String], dirs: &Dirs) {
        let fields: Vec<_> = texts.iter().map(Field::new).collect();
        for begin in 0..fields.len().min(32) {
            let name = fields[begin].name().unwrap_or_default();
            let is_command = matches!(name.as_str(), "rm" | "git" | "find" | "chmod")
                || super::run::is_shell(&name)
                || self.programs.is_critical(&name, &[])
                || self.programs.is_denied(&name);
            if is_command && fields.len() > 1 {
                self.deeper(&fields[begin..], dirs, &Feed::Nothing);
            }
        }
    }
}

/// Whether code, in small letters, names a call that runs a command.
fn runs(code: &str) -> bool {
    let names = code.split(|one: char| !one.is_alphanumeric() && one != '_');
    names.into_iter().any(|name| RUNNERS.contains(&name))
}

/// Texts that such a call is given.
fn called(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in CERTAIN {
        for (at, _) in code.match_indices(name) {
            let rest = code[at + name.len()..].trim_start_matches(['(', ' ']);
            let rest = rest.trim_start_matches(['f', 'r', 'b', 'u']);
            if rest.starts_with(['"', '\'', '`']) {
                found.extend(literals(rest).into_iter().next());
            }
        }
    }
    found
}

/// Whether code runs what it reads: a call does, or a pipe into a shell.
pub(super) fn runs_input(code: &str) -> bool {
    let lower = code.to_lowercase();
    let is_piped =
        code.contains('|') && literals(code).iter().any(|text| super::run::is_shell(text));
    runs(&lower) || is_piped || EVALUATORS.iter().any(|name| lower.contains(name))
}

/// Whether code removes the files whose names it reads.
pub(super) fn removes_input(code: &str) -> bool {
    ["unlink", "os.remove", "File.delete", "rmSync"].iter().any(|name| code.contains(name))
}

/// What stands behind `exec`, `!` and the like at the beginning of a statement, without the brackets of a list.
fn lines_that_run(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for piece in code.split(['\n', ';', '{', '[']).take(MOST_PIECES) {
        let piece = piece.trim_start();
        let (first, rest) = match piece.strip_prefix('!') {
            Some(rest) => ("!", rest),
            None => piece.split_once(char::is_whitespace).unwrap_or((piece, "")),
        };
        if WORDS_THAT_RUN.contains(&first) {
            let rest = rest.trim_start_matches("{*}").trim_start_matches("--");
            found.push(rest.trim_matches(['{', '}', '[', ']', ' ']).to_owned());
        }
        // `exec {*}{rm -rf /}`, `[list rm -rf /]`
        if matches!(first, "rm" | "sudo" | "list") {
            let rest = if first == "list" { rest } else { piece };
            found.push(rest.trim_end_matches(['}', ']', ' ']).to_owned());
        }
    }
    found
}

/// Texts in quotes of any kind.
pub(super) fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code.chars();
    while let Some(quote) = rest.by_ref().find(|one| matches!(one, '"' | '\'' | '`')) {
        let mut text = String::new();
        while let Some(one) = rest.next() {
            match one {
                _ if one == quote => break,
                '\\' => {
                    let escaped = rest.next();
                    // Letters and digits mean something else behind it.
                    text.extend(escaped.filter(char::is_ascii_alphanumeric).map(|_| '\\'));
                    text.extend(escaped);
                }
                _ => text.push(one),
            }
        }
        found.push(text);
    }
    found.extend(bracketed(code));
    found.truncate(MOST_PIECES);
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
