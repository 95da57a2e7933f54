//! Commands among the arguments of programs that nobody here knows: they may run them.

use super::field::{Feed, Field};
use super::run::is_shell;
use super::walk::{Dirs, Walker};
use super::{Danger, interpreter, reason, sql};

/// What package managers are told about packages; anything else may be a command of a package.
const PACKAGE_VERBS: [&str; 34] = [
    "add",
    "remove",
    "install",
    "i",
    "ci",
    "up",
    "upgrade",
    "update",
    "why",
    "info",
    "view",
    "list",
    "ls",
    "outdated",
    "link",
    "unlink",
    "uninstall",
    "rm",
    "un",
    "r",
    "test",
    "t",
    "run",
    "start",
    "build",
    "publish",
    "pack",
    "audit",
    "fund",
    "version",
    "config",
    "cache",
    "create",
    "init",
];
/// Arguments of one program that are looked through for commands.
const MOST_ARGUMENTS: usize = 128;
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

impl Walker<'_> {
    /// Commands among the arguments of a program: it may run them.
    pub(super) fn suffixes(
        &mut self,
        arguments: &[Field],
        dirs: &Dirs,
        input: &Feed,
        certain: bool,
    ) {
        // The arguments of a command that is found here are looked through already.
        if self.lenient
            || self.is_searching
            || arguments
                .first()
                .and_then(Field::name)
                .is_some_and(|name| TALKERS.contains(&name.as_str()))
        {
            return;
        }
        let before = self.danger.clone();
        self.is_searching = true;
        let rest = arguments.iter().enumerate().skip(usize::from(certain));
        for (index, field) in rest.take(MOST_ARGUMENTS) {
            let name = field.name().unwrap_or_default();
            let reads =
                is_shell(&name) || sql::is_client(&name) || interpreter::is_interpreter(&name);
            let is_fed = reads && *input != Feed::Nothing;
            if self.is_dangerous_program(&name) && (index + 1 < arguments.len() || is_fed) {
                self.deeper(&arguments[index..], dirs, input);
            }
        }
        self.is_searching = false;
        // It may as well be a text.
        if !certain
            && matches!(self.danger, Danger::Denied(_))
            && !matches!(before, Danger::Denied(_))
        {
            self.danger = before;
            self.critical(reason::PERHAPS);
        }
    }

    /// By its name alone: a program that may destroy something, or run something else.
    fn is_dangerous_program(&self, name: &str) -> bool {
        let dangerous =
            ["rm", "unlink", "dd", "git", "find", "chmod", "chown", "nsenter", "chroot"];
        dangerous.contains(&name)
            || is_shell(name)
            || interpreter::is_interpreter(name)
            || sql::is_client(name)
            || self.programs.is_denied(name)
            || self.programs.is_critical(name, &[])
    }
}

/// Nothing that it is told runs.
pub(super) fn only_talks(name: &str, arguments: &[Field]) -> bool {
    TALKERS.contains(&name) && !runs_others(name, arguments)
}
/// Package managers that run a command, and readers that are told a program to read with.
fn runs_others(name: &str, arguments: &[Field]) -> bool {
    let first = arguments.first().map_or("", |field| field.text.as_str());
    let has = |begins: &[&str]| {
        arguments.iter().any(|field| begins.iter().any(|begin| field.text.starts_with(begin)))
    };
    match name {
        "npm" | "pnpm" | "yarn" => !PACKAGE_VERBS.contains(&first),
        "cargo" => matches!(first, "watch" | "make" | "eval" | "script"),
        "apt" | "apt-get" => has(&["-o"]),
        "man" => has(&["-P", "--pager"]),
        "less" | "more" => has(&["+"]),
        _ => false,
    }
}
