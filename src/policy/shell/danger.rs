//! What single programs destroy, by their options and where their files lie.

use super::field::{Feed, Field, HOME, TEMPORARY, WILD, is_disk, is_unknown, may_climb};
use super::walk::{Dirs, Walker};
use super::{Danger, reason};
use crate::policy::scope::Lies;
use std::path::{Path, PathBuf};

/// Where something lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whereabouts {
    /// The script itself has made it with `mktemp`.
    Temporary,
    Inside,
    Unknown,
    Outside,
}

/// Options and the rest, as most programs read them.
#[derive(Debug, Default)]
pub(super) struct Options<'f> {
    short: String,
    long: Vec<&'f str>,
    pub(super) operands: Vec<&'f Field>,
    /// Something that is not known yet may be an option.
    pub(super) hidden: bool,
}

impl<'f> Options<'f> {
    pub(super) fn read(arguments: &'f [Field]) -> Self {
        let mut found = Self::default();
        let mut are_over = false;
        for field in arguments {
            let text = field.text.as_str();
            found.hidden |= !are_over && field.may_be_option();
            match text.strip_prefix('-').filter(|_| !are_over) {
                Some("-") => are_over = true,
                Some(rest) if rest.starts_with('-') => found.long.push(&rest[1..]),
                Some(rest) if !rest.is_empty() => found.short.push_str(rest),
                Some(_) | None => found.operands.push(field),
            }
        }
        found
    }

    /// Long options may be shortened.
    pub(super) fn has(&self, short: &[char], long: &str) -> bool {
        let is_long = |text: &&str| {
            let name = text.split('=').next().unwrap_or_default();
            name.len() >= 2 && long.starts_with(name)
        };
        self.short.contains(short) || self.long.iter().any(is_long)
    }
}

impl Walker<'_> {
    /// What is known of this program, whoever runs it.
    pub(super) fn judge(&mut self, name: &str, argv: &[Field], dirs: &Dirs, input: &Feed) {
        if self.programs.is_denied(name) {
            self.note(Danger::Denied(reason::RIGHTS.to_owned()));
        }
        let arguments = &argv[1..];
        if self.programs.is_critical(name, arguments) {
            self.critical(reason::OVERWRITES);
            self.disks(arguments);
        }
        self.data(name, arguments, input);
        match name {
            "rm" | "grm" => self.removes(arguments, dirs),
            "unlink" => self.unlinks(arguments, dirs),
            "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "chcon" => {
                self.rights(arguments, dirs)
            }
            "dd" => self.copies(arguments, dirs),
            "cp" | "mv" | "install" | "ln" | "gcp" | "gmv" | "gln" | "ginstall" => {
                self.places(name.trim_start_matches('g'), arguments, dirs, input)
            }
            "docker" | "podman" | "nerdctl" => self.container(arguments),
            "nsenter" | "unshare" | "chroot" | "pivot_root" => self.critical(reason::LEAVES),
            "cmd" => {
                let line = super::run::joined(arguments).to_lowercase();
                if [" /s", "format "].iter().any(|part| line.contains(part)) {
                    self.critical(reason::REMOVES);
                }
            }
            "git" => {
                self.git(arguments, dirs);
                self.clones(arguments);
            }
            "pkill" | "killall" | "pgrep" => {
                let is_any = |field: &Field| matches!(field.text.as_str(), "." | ".*" | "^" | "");
                if name != "pgrep" && arguments.iter().any(is_any) {
                    self.critical(reason::OVERWRITES);
                }
            }
            _ => self.unpacks(name, arguments, dirs, input),
        }
    }

    fn rights(&mut self, arguments: &[Field], dirs: &Dirs) {
        let options = Options::read(arguments);
        let mut files = options.operands.iter().skip(1);
        if options.has(&['R'], "recursive") {
            self.critical(reason::RIGHTS_OF_ALL);
        } else if options.hidden && arguments.iter().any(Field::is_unknown) {
            self.unknown(reason::UNKNOWN);
        } else if files.any(|field| self.is_users(field, dirs)) {
            self.critical(reason::WRITES_OUTSIDE);
        }
    }

    fn unlinks(&mut self, arguments: &[Field], dirs: &Dirs) {
        for target in arguments {
            match self.whereabouts(target, dirs) {
                Whereabouts::Outside => self.critical(reason::REMOVES_OUTSIDE),
                Whereabouts::Unknown if !target.is_unset() => {
                    self.critical(reason::REMOVES_UNKNOWN)
                }
                Whereabouts::Unknown | Whereabouts::Inside | Whereabouts::Temporary => {}
            }
        }
    }

    fn removes(&mut self, arguments: &[Field], dirs: &Dirs) {
        let options = Options::read(arguments);
        let is_recursive = options.has(&['r', 'R'], "recursive");
        // One file whose name only the environment knows, as in `rm -f "$tmp"`.
        let is_one = options.operands.len() == 1 && !arguments.iter().any(Field::is_wild);
        for target in &options.operands {
            match self.whereabouts(target, dirs) {
                Whereabouts::Outside if is_recursive => {
                    let path = target
                        .text
                        .replace(HOME, "~")
                        .replace(WILD, "*")
                        .replace(is_unknown, "...");
                    self.note(Danger::Denied(format!(
                        "it would remove {path}, which is outside the place of work"
                    )));
                }
                Whereabouts::Outside => self.critical(reason::REMOVES_OUTSIDE),
                Whereabouts::Unknown if is_one && !is_recursive && target.is_unset() => {}
                Whereabouts::Unknown => self.critical(reason::REMOVES_UNKNOWN),
                Whereabouts::Temporary => {}
                Whereabouts::Inside if is_recursive => self.critical(reason::REMOVES),
                // A file may be called like an option.
                Whereabouts::Inside if target.text.contains(WILD) => {
                    self.critical(reason::REMOVES_UNKNOWN)
                }
                Whereabouts::Inside => {}
            }
        }
        if is_recursive && options.operands.is_empty() && !self.lenient {
            self.critical(reason::REMOVES);
        }
    }

    fn copies(&mut self, arguments: &[Field], dirs: &Dirs) {
        for target in arguments.iter().filter_map(|field| field.text.strip_prefix("of=")) {
            self.writes(&Field::new(target), dirs);
        }
    }

    /// A program that overwrites gets these.
    fn disks(&mut self, arguments: &[Field]) {
        let is_whole_disk = |field: &Field| field.device().is_some_and(|device| is_disk(&device));
        if arguments.iter().any(is_whole_disk) {
            self.note(Danger::Denied(reason::DISK.to_owned()));
        }
    }

    pub(super) fn whereabouts(&self, field: &Field, dirs: &Dirs) -> Whereabouts {
        let text = field.text.as_str();
        if text.starts_with(HOME) || self.is_linked(text) {
            return Whereabouts::Outside;
        }
        if let Some(rest) = text.strip_prefix(TEMPORARY) {
            let climbs = |part: &str| part == ".." || may_climb(part) || part.contains(is_unknown);
            let is_below = rest.is_empty() || rest.starts_with('/');
            return if is_below && !rest.split('/').any(climbs) {
                Whereabouts::Temporary
            } else {
                Whereabouts::Unknown
            };
        }
        let Some(unknown) = text.find(is_unknown) else {
            return self.known_whereabouts(text, dirs);
        };
        // As far as it is known it may lie outside already.
        let known = &text[..unknown];
        let known = &known[..known.rfind('/').map_or(0, |slash| slash + 1)];
        let is_outside =
            !known.is_empty() && self.known_whereabouts(known, dirs) == Whereabouts::Outside;
        if is_outside { Whereabouts::Outside } else { Whereabouts::Unknown }
    }

    /// The script itself has made a link of this name, or above it, that leads outside.
    pub(super) fn is_linked(&self, text: &str) -> bool {
        let text = text.trim_start_matches("./");
        let is_below = |rest: &str| rest.is_empty() || rest.starts_with('/');
        self.links
            .iter()
            .any(|link| text.strip_prefix(link.trim_start_matches("./")).is_some_and(is_below))
    }

    fn known_whereabouts(&self, text: &str, dirs: &Dirs) -> Whereabouts {
        let climbing: Vec<_> =
            text.split('/').map(|part| if may_climb(part) { ".." } else { part }).collect();
        let ways = [text.replace(WILD, "*"), climbing.join("/").replace(WILD, "*")];
        let mut worst = Whereabouts::Inside;
        for way in &ways {
            for dir in dirs {
                let found = match dir {
                    Some(dir) => self.lies(&dir.join(way)),
                    None if Path::new(way).is_absolute() => self.lies(&PathBuf::from(way)),
                    None => Whereabouts::Unknown,
                };
                worst = worst.max(found);
            }
        }
        worst
    }

    fn lies(&self, path: &Path) -> Whereabouts {
        match self.scope.lies(path) {
            Lies::Inside => Whereabouts::Inside,
            Lies::Readable | Lies::Outside => Whereabouts::Outside,
        }
    }
}
