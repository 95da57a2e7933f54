//! What programs write, move and unpack: outside the place of work that overwrites files of the user. Directories for
//! temporary files are nobody's.

use super::danger::{Options, Whereabouts};
use super::field::{Feed, Field, HOME, WILD, is_disk, lexical};
use super::run::is_stdin;
use super::walk::{Dirs, Walker};
use super::{Danger, field::is_unknown, reason};
use crate::policy::scope::Lies;
use std::path::{Path, PathBuf};

/// Everybody may write there.
const SCRATCH: [&str; 3] = ["/tmp", "/var/tmp", "/private/tmp"];

impl Walker<'_> {
    /// Something is written there.
    pub(super) fn writes(&mut self, field: &Field, dirs: &Dirs) {
        match field.device() {
            Some(device) if is_disk(&device) => self.note(Danger::Denied(reason::DISK.to_owned())),
            Some(_) => self.critical(reason::DEVICE),
            None if is_own_device(&field.text) => {}
            None if self.is_users(field, dirs) => self.critical(reason::WRITES_OUTSIDE),
            // Settings of git name programs that it runs.
            None if field.text.ends_with(".git/config") => self.critical(reason::UNKNOWN),
            None => {}
        }
    }

    /// It lies outside the place of work, and may be something that the user needs.
    pub(super) fn is_users(&self, field: &Field, dirs: &Dirs) -> bool {
        if self.whereabouts(field, dirs) != Whereabouts::Outside {
            return false;
        }
        if field.text.starts_with(HOME) || self.is_linked(&field.text) {
            return true;
        }
        let known = field.text.split(is_unknown).next().unwrap_or_default();
        let known = known.split(WILD).next().unwrap_or_default();
        let begins = dirs.iter().map(|dir| match dir {
            Some(dir) => dir.join(known),
            None => PathBuf::from(known),
        });
        let mut paths = begins.map(|path| lexical(&path));
        !paths.all(|path| self.is_scratch(&path) || self.scope.lies(&path) == Lies::Inside)
    }

    /// A link there may lead anywhere.
    fn is_scratch(&self, path: &Path) -> bool {
        let real = self.scope.real(path);
        real.is_some_and(|real| SCRATCH.iter().any(|scratch| real.starts_with(scratch)))
    }

    /// `cp`, `mv`, `ln` and `install`.
    pub(super) fn places(&mut self, name: &str, arguments: &[Field], dirs: &Dirs, input: &Feed) {
        let options = Options::read(arguments);
        let named = target_directory(arguments);
        let mut sources: Vec<Field> = options.operands.iter().copied().cloned().collect();
        let target = match named {
            Some(target) => {
                sources.retain(|field| field.text != target.text);
                Some(target)
            }
            None if sources.len() > 1 => sources.pop(),
            None => None,
        };
        if let Some(target) = &target {
            self.writes(target, dirs);
            self.follow(name, &sources, target, dirs, input);
        }
        self.renames(&sources);
        if name == "mv" {
            self.moves(&sources, target.as_ref(), dirs);
        }
        let is_emptied = sources.iter().any(|source| source.text == "/dev/null");
        let is_any = |target: &Field| target.is_wild() || target.may_be_several();
        if is_emptied && target.as_ref().is_some_and(is_any) {
            self.critical(reason::OVERWRITES);
        }
    }

    /// What is moved away is not where it was.
    fn moves(&mut self, sources: &[Field], target: Option<&Field>, dirs: &Dirs) {
        if sources.iter().any(|source| self.is_users(source, dirs)) {
            self.critical(reason::WRITES_OUTSIDE);
        }
        let leaves =
            target.is_some_and(|target| self.whereabouts(target, dirs) == Whereabouts::Outside);
        let is_all = |source: &Field| {
            let is_all = matches!(source.text.as_str(), "." | "./" | ".git");
            is_all || source.is_wild() || (source.is_unknown() && !source.is_unset())
        };
        if leaves && sources.iter().any(is_all) {
            self.critical(reason::WRITES_OUTSIDE);
        }
    }

    /// What is known of a file is known of its copy; a link that leads outside does so under its own name.
    fn follow(&mut self, name: &str, sources: &[Field], target: &Field, dirs: &Dirs, input: &Feed) {
        for source in sources {
            if source.feed.is_none() && is_stdin(&source.text) {
                self.keep_written(std::slice::from_ref(target), input, dirs);
            }
            if self.was_fetched(source) {
                self.fetched.push(target.text.clone());
            }
            let content = source.feed.clone().or_else(|| self.content_of(source).map(Feed::Known));
            if let Some(content) = content {
                self.keep_written(std::slice::from_ref(target), &content, dirs);
            }
            if name == "ln" && self.whereabouts(source, dirs) == Whereabouts::Outside {
                self.links.push(target.text.trim_end_matches('/').to_owned());
            }
        }
    }

    /// A dangerous program is not known by another name any more.
    fn renames(&mut self, sources: &[Field]) {
        for name in sources.iter().filter_map(Field::name) {
            if self.programs.is_denied(&name) {
                self.note(Danger::Denied(reason::RIGHTS.to_owned()));
            }
            let is_dangerous = matches!(name.as_str(), "rm" | "unlink" | "dd");
            if is_dangerous || self.programs.is_critical(&name, &[]) {
                self.critical(reason::UNKNOWN);
            }
        }
    }

    /// `-o FILE` means the same to many programs.
    pub(super) fn writes_output(&mut self, arguments: &[Field], dirs: &Dirs) {
        let names = ["-o", "-out", "--out", "--output", "--output-file", "--outfile"];
        for pair in arguments.windows(2).filter(|pair| names.contains(&pair[0].text.as_str())) {
            self.writes(&pair[1], dirs);
        }
        for (name, value) in arguments.iter().filter_map(|field| field.text.split_once('=')) {
            if names.contains(&name) {
                self.writes(&Field::new(value), dirs);
            }
        }
    }

    fn tar(&mut self, arguments: &[Field], options: &Options<'_>, dirs: &Dirs) {
        // `tar xf` without a dash
        let is_first = |letter: char| {
            arguments
                .first()
                .is_some_and(|field| !field.text.starts_with('-') && field.text.contains(letter))
        };
        let extracts = options.has(&['x'], "extract") || options.has(&[], "get") || is_first('x');
        if extracts {
            let to = value(arguments, "-C", "--directory");
            self.writes(&to.unwrap_or_else(|| Field::new(".")), dirs);
        }
        if extracts && (options.has(&['P'], "absolute-names") || is_first('P')) {
            self.critical(reason::WRITES_OUTSIDE);
        }
        if options.has(&[], "remove-files") {
            self.critical(reason::REMOVES);
        }
    }

    /// Programs that unpack files, or take the place of those that they have read.
    pub(super) fn unpacks(&mut self, name: &str, arguments: &[Field], dirs: &Dirs, input: &Feed) {
        let options = Options::read(arguments);
        let is_archiver =
            matches!(name, "tar" | "gtar" | "bsdtar" | "unzip" | "7z" | "7za" | "cpio");
        let is_fetched = arguments.iter().any(|field| self.was_fetched(field));
        self.is_unpacked |= is_archiver && (input.is_downloaded() || is_fetched);
        match name {
            "tar" | "gtar" | "bsdtar" => self.tar(arguments, &options, dirs),
            "unzip" => {
                let is_shown = options.has(&['l', 'p', 't', 'v', 'Z'], "\0");
                if !is_shown {
                    let to = value(arguments, "-d", "\0");
                    self.writes(&to.unwrap_or_else(|| Field::new(".")), dirs);
                }
            }
            "7z" | "7za" | "7zz" => {
                if let Some(to) = value(arguments, "-o", "\0") {
                    self.writes(&to, dirs);
                }
            }
            "dpkg" | "dpkg-deb" if options.has(&['x'], "extract") => {
                if let Some(to) = arguments.last() {
                    self.writes(to, dirs);
                }
            }
            "ssh-keygen" if !options.has(&['l', 'y', 'F', 'R'], "\0") => {
                if let Some(to) = value(arguments, "-f", "\0") {
                    self.writes(&to, dirs);
                }
            }
            "zip" if options.has(&['m'], "move") => self.critical(reason::REMOVES),
            "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "compress" => {
                let keeps = options.has(&['k', 'c', 'l', 't'], "keep");
                if !keeps && options.operands.iter().any(|field| self.is_users(field, dirs)) {
                    self.critical(reason::WRITES_OUTSIDE);
                }
            }
            "rsync" => {
                let target = options.operands.last().filter(|field| !is_remote(field));
                if let Some(target) = target.filter(|_| options.operands.len() > 1) {
                    self.writes(target, dirs);
                }
            }
            _ => {}
        }
    }
}

/// The harmless devices of a program, and its own open files.
fn is_own_device(text: &str) -> bool {
    let path = lexical(Path::new(text));
    path.starts_with("/dev") || path.starts_with("/proc/self/fd")
}

/// `host:path` and `scheme://...`
pub(super) fn is_remote(field: &Field) -> bool {
    let before = field.text.split('/').next().unwrap_or_default();
    before.len() > 1 && before.contains(':')
}

/// `-t DIR` of `cp`, `mv`, `ln` and `install`.
fn target_directory(arguments: &[Field]) -> Option<Field> {
    value(arguments, "-t", "--target-directory")
}

/// The value of an option, behind it or as the next argument.
fn value(arguments: &[Field], short: &str, long: &str) -> Option<Field> {
    arguments.iter().enumerate().find_map(|(index, field)| {
        let text = field.text.as_str();
        if text == short || text == long {
            return arguments.get(index + 1).cloned();
        }
        let attached = text.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
        let attached =
            attached.or_else(|| text.strip_prefix(short).filter(|_| !text.starts_with("--")));
        attached.map(Field::new)
    })
}
