//! What single programs destroy, by their options and where their files lie.

use super::field::{Feed, Field, HOME, UNKNOWN, WILD, is_disk, is_unknown, may_climb};
use super::walk::{Dirs, Outcome, Walker};
use super::{Danger, reason};
use crate::policy::scope::Lies;
use std::path::{Path, PathBuf};

/// Where something lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whereabouts {
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
    pub(super) fn judge(&mut self, name: &str, argv: &[Field], dirs: &Dirs) {
        if self.programs.is_denied(name) {
            self.note(Danger::Denied(reason::RIGHTS.to_owned()));
        }
        let arguments = &argv[1..];
        if self.programs.is_critical(name, arguments) {
            self.critical(reason::OVERWRITES);
            self.disks(arguments);
        }
        match name {
            "rm" | "grm" => self.removes(arguments, dirs),
            "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "chcon" => {
                let options = Options::read(arguments);
                if options.has(&['R'], "recursive") {
                    self.critical(reason::RIGHTS_OF_ALL);
                } else if options.hidden && arguments.iter().any(Field::is_unknown) {
                    self.unknown(reason::UNKNOWN);
                }
            }
            "dd" => self.copies(arguments),
            "cp" | "mv" | "install" | "ln" => {
                if let Some(last) = arguments.last() {
                    self.writes(&last.clone());
                }
            }
            "git" => self.git(arguments, dirs),
            _ => {}
        }
    }

    fn removes(&mut self, arguments: &[Field], dirs: &Dirs) {
        let options = Options::read(arguments);
        let is_recursive = options.has(&['r', 'R'], "recursive");
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
                Whereabouts::Unknown => self.critical(reason::REMOVES_UNKNOWN),
                Whereabouts::Inside if is_recursive => self.critical(reason::REMOVES),
                // A file may be called like an option.
                Whereabouts::Inside if target.text.contains(WILD) => {
                    self.critical(reason::REMOVES_UNKNOWN)
                }
                Whereabouts::Inside => {}
            }
        }
        if is_recursive && options.operands.is_empty() && !arguments.is_empty() {
            self.critical(reason::REMOVES);
        }
    }

    fn copies(&mut self, arguments: &[Field]) {
        for target in arguments.iter().filter_map(|field| field.text.strip_prefix("of=")) {
            self.writes(&Field::new(target));
        }
    }

    /// A program that overwrites gets these.
    fn disks(&mut self, arguments: &[Field]) {
        let is_whole_disk = |field: &Field| field.device().is_some_and(|device| is_disk(&device));
        if arguments.iter().any(is_whole_disk) {
            self.note(Danger::Denied(reason::DISK.to_owned()));
        }
    }

    /// Something is written there.
    pub(super) fn writes(&mut self, field: &Field) {
        match field.device() {
            Some(device) if is_disk(&device) => self.note(Danger::Denied(reason::DISK.to_owned())),
            Some(_) => self.critical(reason::DEVICE),
            None => {}
        }
    }

    /// `find` and the like: what they do with what they find.
    pub(super) fn found(&mut self, arguments: &[Field], dirs: &Dirs) -> Outcome {
        let is_begin = |field: &&Field| !field.text.starts_with(['-', '(', '!']);
        let mut rest = arguments;
        // How it follows links, and how it is to be debugged.
        while let Some((first, others)) = rest.split_first()
            && (matches!(first.text.as_str(), "-L" | "-H" | "-P" | "-D" | "--")
                || first.text.starts_with("-O"))
        {
            rest = &others[usize::from(first.text == "-D").min(others.len())..];
        }
        let mut begins: Vec<Field> = rest.iter().take_while(is_begin).cloned().collect();
        for pair in arguments.windows(2).filter(|pair| pair[0].text.starts_with("-f")) {
            if matches!(pair[0].text.as_str(), "-fprint" | "-fprint0" | "-fprintf" | "-fls") {
                self.writes(&pair[1]);
            }
        }
        if begins.is_empty() {
            begins.push(Field::new("."));
        }
        let farthest = begins.iter().map(|begin| self.whereabouts(begin, dirs)).max();
        let is_outside = farthest == Some(Whereabouts::Outside);
        let path =
            begins.iter().map(|field| field.text.replace(HOME, "~")).collect::<Vec<_>>().join(" ");
        let denied =
            Danger::Denied(format!("it would remove {path}, which is outside the place of work"));
        if arguments.iter().any(|field| field.text == "-delete") {
            self.note(if is_outside {
                denied.clone()
            } else {
                Danger::Critical(reason::REMOVES.to_owned())
            });
        }
        let runs = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        for (index, _) in
            arguments.iter().enumerate().filter(|(_, field)| runs.contains(&field.text.as_str()))
        {
            let rest = &arguments[index + 1..];
            let end = rest
                .iter()
                .position(|field| matches!(field.text.as_str(), ";" | "+"))
                .unwrap_or(rest.len());
            for begin in &begins {
                let one = format!("{}/{UNKNOWN}", begin.text);
                let argv: Vec<_> = rest[..end]
                    .iter()
                    .map(|field| Field::new(field.text.replace("{}", &one)))
                    .collect();
                if argv.first().and_then(Field::name).is_some_and(|name| name == "rm") {
                    self.note(if is_outside {
                        denied.clone()
                    } else {
                        Danger::Critical(reason::REMOVES.to_owned())
                    });
                }
                self.deeper(&argv, dirs, &Feed::Nothing);
            }
        }
        Outcome::new(dirs, Feed::Unknown)
    }

    fn whereabouts(&self, field: &Field, dirs: &Dirs) -> Whereabouts {
        let text = field.text.as_str();
        if text.starts_with(HOME) {
            return Whereabouts::Outside;
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
