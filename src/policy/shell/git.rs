//! `git`: what throws work away, on this machine or on another one, and what runs other commands.

use super::danger::Options;
use super::field::{Feed, Field, WILD};
use super::reason;
use super::walk::{Dirs, Walker};

/// Options before the subcommand that have a value.
const VALUED: [&str; 7] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"];

/// Options and addresses whose rest is run.
const PROGRAMS: [&str; 6] =
    ["--upload-pack=", "--receive-pack=", "--extcmd=", "ext::", "-O", "--open-files-in-pager="];
/// Parts of the names of settings whose values are run.
const RUNS: [&str; 15] = [
    "fsmonitor",
    "editor",
    "sshcommand",
    "pager",
    "hookspath",
    "helper",
    "command",
    "external",
    "textconv",
    "driver",
    "clean",
    "smudge",
    "process",
    "program",
    ".cmd",
];

impl Walker<'_> {
    pub(super) fn git(&mut self, arguments: &[Field], _dirs: &Dirs) {
        let Some((name, rest)) = subcommand(arguments) else { return };
        if name.is_unknown() {
            return self.unknown(reason::UNKNOWN);
        }
        let options = Options::read(rest);
        let is_unclear = rest.iter().any(Field::is_unknown);
        let operand =
            |index: usize| options.operands.get(index).map_or("", |field| field.text.as_str());
        let force = options.has(&['f'], "force");
        let loses = match name.text.as_str() {
            "reset" => options.has(&[], "hard") || options.has(&[], "merge") || is_unclear,
            "clean" => !options.has(&['n'], "dry-run"),
            "checkout" | "restore" | "switch" => {
                overwrites(&name.text, &options) || (force || is_unclear)
            }
            "branch" => options.has(&['D'], "\0") || (force && options.has(&['d'], "delete")),
            "stash" => matches!(operand(0), "drop" | "clear"),
            "reflog" => matches!(operand(0), "expire" | "delete"),
            "gc" | "prune" => {
                rest.iter().any(|field| field.text.contains("now")) || name.text == "prune"
            }
            "worktree" => operand(0) == "remove" && force,
            "rm" => !options.has(&[], "cached"),
            "update-ref" => options.has(&['d'], "delete"),
            "filter-branch" | "filter-repo" => true,
            "read-tree" => options.has(&[], "reset"),
            "checkout-index" => force,
            _ => false,
        };
        if loses {
            self.critical(reason::LOSES);
        }
        if name.text == "push" && (pushes_over(rest, &options) || is_unclear) {
            self.critical(reason::PUSHES_OVER);
        }
    }

    /// Aliases, hooks and loops of git run commands, too.
    pub(super) fn scripts_of_git(&mut self, arguments: &[Field], dirs: &Dirs) {
        let mut scripts = Vec::new();
        for (index, field) in arguments.iter().enumerate() {
            let next = arguments.get(index + 1).map(|field| field.text.as_str());
            let setting =
                if field.text == "-c" { next } else { field.text.strip_prefix("--config=") };
            if let Some((_, value)) = setting.and_then(|setting| setting.split_once('=')) {
                scripts.extend(value.strip_prefix('!').map(str::to_owned));
                let key = setting.unwrap_or_default().to_lowercase();
                if RUNS.iter().any(|name| key.contains(name)) && !value.is_empty() {
                    scripts.push(value.to_owned());
                }
            }
            let is_filter = field.text.ends_with("-filter");
            if matches!(
                field.text.as_str(),
                "-x" | "--exec" | "--upload-pack" | "--receive-pack" | "--extcmd"
            ) || (field.text == "-u" && arguments.iter().any(|field| field.text == "clone"))
                || is_filter
            {
                scripts.extend(next.map(str::to_owned));
            }
            if field.text == "foreach" {
                let mut rest = arguments[index + 1..].iter().map(|field| field.text.as_str());
                scripts.extend(rest.find(|text| !text.starts_with('-')).map(str::to_owned));
            }
            // `git config alias.x '!...'` is run by whoever uses it.
            if field.text == "config" {
                let values = arguments[index + 1..].iter().map(|field| field.text.as_str());
                let values = values.filter(|text| text.contains(' ') || text.starts_with('!'));
                scripts.extend(values.map(|text| text.trim_start_matches('!').to_owned()));
            }
            let program = PROGRAMS.iter().find_map(|begin| field.text.strip_prefix(begin));
            scripts.extend(program.filter(|text| text.contains(' ')).map(str::to_owned));
            let behind =
                field.text.strip_prefix("--exec=").or_else(|| field.text.strip_prefix("-x"));
            scripts.extend(behind.filter(|script| !script.is_empty()).map(str::to_owned));
            if field.text == "run" && index > 0 && arguments[index - 1].text == "bisect" {
                self.deeper(&arguments[index + 1..], dirs, &Feed::Nothing);
            }
        }
        for script in scripts {
            self.text(&script, dirs, &Feed::Nothing);
        }
    }
}

fn subcommand(arguments: &[Field]) -> Option<(&Field, &[Field])> {
    let mut rest = arguments;
    while let Some((field, others)) = rest.split_first() {
        if !field.text.starts_with('-') {
            return Some((field, others));
        }
        let skipped = usize::from(VALUED.contains(&field.text.as_str()));
        rest = others.get(skipped..).unwrap_or_default();
    }
    None
}

/// Whether files are replaced that git has not kept, more than those that are named.
fn overwrites(name: &str, options: &Options<'_>) -> bool {
    if name == "switch" {
        return options.has(&['C'], "discard-changes");
    }
    let is_staged =
        name == "restore" && options.has(&['S'], "staged") && !options.has(&['W'], "worktree");
    let is_many = |field: &&Field| {
        let text = field.text.as_str();
        matches!(text, "." | "./" | ":/" | ":" | ".." | "*")
            || text.contains(WILD)
            || text.ends_with('/')
            || text.starts_with(":(")
    };
    !is_staged && options.operands.iter().any(is_many)
}

fn pushes_over(rest: &[Field], options: &Options<'_>) -> bool {
    let is_forced = |field: &Field| {
        field.text.starts_with('+') || (field.text.starts_with(':') && field.text.len() > 1)
    };
    let long = ["force", "force-with-lease", "force-if-includes", "mirror", "delete", "prune"];
    long.iter().any(|name| options.has(&['f', 'd'], name)) || rest.iter().any(is_forced)
}
