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
    pub(super) fn git(&mut self, arguments: &[Field], dirs: &Dirs) {
        let Some((name, rest)) = subcommand(arguments) else { return };
        if name.is_unknown() {
            return self.unknown(reason::UNKNOWN);
        }
        let options = Options::read(rest);
        let is_unclear = rest.iter().any(Field::is_unclear);
        let operand =
            |index: usize| options.operands.get(index).map_or("", |field| field.text.as_str());
        let force = options.has(&['f'], "force");
        // A branch of such a name makes a push of it a forced one.
        let is_signed = options.operands.iter().any(|field| field.text.starts_with('+'));
        let loses = match name.text.as_str() {
            "reset" => options.has(&[], "hard") || options.has(&[], "merge") || is_unclear,
            "clean" => !options.has(&['n'], "dry-run"),
            // One argument is a branch, and no option that throws work away.
            "switch" if rest.len() == 1 => rest.iter().any(Field::may_be_several),
            "checkout" | "restore" | "switch" => {
                overwrites(&name.text, &options)
                    || self.names_directory(&name.text, &options, dirs)
                    || (name.text == "checkout" && options.has(&['B'], "\0"))
                    || (force || is_unclear || is_signed)
            }
            "branch" => {
                options.has(&['D'], "\0")
                    || (force && (options.has(&['d'], "delete") || !options.operands.is_empty()))
                    || is_signed
            }
            "fetch" | "pull" => rest.iter().any(|field| replaces_branch(&field.text, force)),
            "submodule" => operand(0) == "deinit" && force,
            "stash" => matches!(operand(0), "drop" | "clear"),
            "reflog" => matches!(operand(0), "expire" | "delete"),
            "gc" | "prune" => {
                let is_now =
                    |field: &Field| field.text.ends_with("now") || field.text.ends_with("all");
                rest.iter().any(is_now) || name.text == "prune"
            }
            "worktree" => operand(0) == "remove" && force,
            "rm" => !options.has(&[], "cached"),
            "update-ref" => {
                options.has(&['d'], "delete")
                    || (options.operands.len() > 1 && !operand(0).starts_with("refs/remotes"))
            }
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

    /// Another name for a command of git itself.
    fn alias(&mut self, key: &str, value: &str, dirs: &Dirs) {
        if key.to_lowercase().starts_with("alias.") && !value.starts_with('!') {
            let words: Vec<_> = value.split_whitespace().map(Field::new).collect();
            self.git(&words, dirs);
        }
    }

    /// What `git clone` makes.
    pub(super) fn clones(&mut self, arguments: &[Field]) {
        let Some((name, rest)) = subcommand(arguments).filter(|(name, _)| name.text == "clone")
        else {
            return;
        };
        let operands = Options::read(rest).operands;
        let last = operands.last().map_or(name.text.as_str(), |field| field.text.as_str());
        let last = last.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
        self.fetched_directories.push(last.trim_end_matches(".git").to_owned());
    }

    /// A directory that is named stands for all files in it.
    fn names_directory(&self, name: &str, options: &Options<'_>, dirs: &Dirs) -> bool {
        let is_staged = name == "restore" && options.has(&['S'], "staged");
        let is_directory = |field: &&Field| {
            let mut places = dirs.iter().flatten().map(|dir| dir.join(&field.text));
            places.any(|place| place.is_dir())
        };
        name != "switch"
            && !is_staged
            && !options.has(&['b'], "orphan")
            && options.operands.iter().any(is_directory)
    }

    /// Aliases, hooks and loops of git run commands, too.
    pub(super) fn scripts_of_git(&mut self, arguments: &[Field], dirs: &Dirs) {
        let mut scripts = Vec::new();
        for (index, field) in arguments.iter().enumerate() {
            let next = arguments.get(index + 1).map(|field| field.text.as_str());
            let is_setting = matches!(field.text.as_str(), "-c" | "--config");
            let setting = if is_setting { next } else { field.text.strip_prefix("--config=") };
            if let Some((key, value)) = setting.and_then(|setting| setting.split_once('=')) {
                self.alias(key, value, dirs);
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
                let rest = arguments[index + 1..].iter().map(|field| field.text.as_str());
                let words: Vec<_> = rest.skip_while(|text| text.starts_with('-')).collect();
                scripts.push(words.join(" "));
            }
            // `git config alias.x '!...'` is run by whoever uses it.
            if field.text == "config" {
                for pair in arguments[index + 1..].windows(2) {
                    self.alias(&pair[0].text, &pair[1].text, dirs);
                }
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

/// A branch here becomes the one from there, whatever it holds.
fn replaces_branch(refspec: &str, force: bool) -> bool {
    let is_address = refspec.contains("://") || refspec.contains('@');
    let Some((source, target)) = refspec.split_once(':').filter(|_| !is_address) else {
        return false;
    };
    let is_kept = ["refs/remotes/", "refs/tags/"].iter().any(|begin| target.starts_with(begin));
    (force || source.starts_with('+')) && !is_kept
}

fn pushes_over(rest: &[Field], options: &Options<'_>) -> bool {
    let is_forced = |field: &Field| {
        field.text.starts_with('+') || (field.text.starts_with(':') && field.text.len() > 1)
    };
    let long = ["force", "force-with-lease", "force-if-includes", "mirror", "delete", "prune"];
    long.iter().any(|name| options.has(&['f', 'd'], name)) || rest.iter().any(is_forced)
}
