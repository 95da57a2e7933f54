//! What `.gitignore` files leave out. They are read so that nothing in their place keeps anybody waiting, which other
//! readers of them do not care for.

use crate::regular;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder};
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

pub const NAME: &str = ".gitignore";
/// Longer ones are read so far.
const LONGEST: u64 = 1 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The directory's own rules; lines that cannot be understood are passed over, and like git we follow no link.
pub fn read(directory: &Path) -> Option<Gitignore> {
    let path = directory.join(NAME);
    let mut text = Vec::new();
    regular::open(&path).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
    if text.len() as u64 == LONGEST {
        // Half a line would be another rule.
        let end = text.iter().rposition(|byte| *byte == b'\n')?;
        text.truncate(end);
    }
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
    let mut builder = GitignoreBuilder::new(directory);
    for line in text.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok()) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let _ = builder.add_line(Some(path.clone()), line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// Asks the nearest rules first; the first that know the path decide.
pub fn is_ignored<'a>(
    rules: impl IntoIterator<Item = &'a Gitignore>,
    path: &Path,
    is_dir: bool,
) -> bool {
    let decided = rules.into_iter().map(|rules| rules.matched(path, is_dir));
    decided.into_iter().find(|answer| !answer.is_none()).is_some_and(|answer| answer.is_ignore())
}

/// One walk from `start` down, without what the rules from `top` on leave out and what is not wanted. Links are not
/// followed.
pub fn walk(
    top: &Path,
    start: &Path,
    wants: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let descent = Mutex::new(Descent::new(top, start));
    let mut walk = WalkBuilder::new(start);
    // Its own reader of rules would wait at a pipe for ever.
    walk.standard_filters(false).follow_links(false).filter_entry(move |entry| {
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        let mut descent = descent.lock().unwrap_or_else(PoisonError::into_inner);
        wants(entry) && descent.enters(entry.path(), is_dir)
    });
    walk
}

/// The rules on the way down: a directory is asked about before everything in it, and all of that before the next.
#[derive(Debug)]
struct Descent {
    /// The nearest last.
    rules: Vec<Gitignore>,
}

impl Descent {
    fn new(top: &Path, start: &Path) -> Self {
        let between = start.ancestors().take_while(|directory| directory.starts_with(top));
        let mut rules: Vec<_> = between.filter_map(read).collect();
        rules.reverse();
        Self { rules }
    }

    fn enters(&mut self, path: &Path, is_dir: bool) -> bool {
        while self.rules.pop_if(|rules| !path.starts_with(rules.path())).is_some() {}
        if is_ignored(self.rules.iter().rev(), path, is_dir) {
            return false;
        }
        if is_dir {
            self.rules.extend(read(path));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_walk_keeps_to_the_rules_of_every_directory_on_its_way() {
        let top = tempfile::tempdir().unwrap();
        for (path, content) in [
            (".gitignore", "*.log\nout/\n"),
            ("a.log", ""),
            ("a/.gitignore", "!b.log\n*.tmp\n"),
            ("a/b.log", ""),
            ("a/c.tmp", ""),
            ("a/deep/b.log", ""),
            ("a/out/x", ""),
            ("b/b.log", ""),
            ("b/c.tmp", ""),
            ("b/unwanted", ""),
        ] {
            let path = top.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        std::os::unix::fs::symlink(top.path(), top.path().join("b/link")).unwrap();
        let walked = |start: &str| -> Vec<String> {
            let start = top.path().join(start);
            let mut walk = walk(top.path(), &start, |entry| entry.file_name() != "unwanted");
            let entries = walk.sort_by_file_name(Ord::cmp).build().map(Result::unwrap);
            let files = entries.filter(|entry| entry.path().is_file());
            let below = files.map(|entry| entry.path().strip_prefix(top.path()).unwrap().into());
            below
                .map(|path: std::path::PathBuf| path.into_os_string().into_string().unwrap())
                .collect()
        };
        assert_eq!(
            walked(""),
            [".gitignore", "a/.gitignore", "a/b.log", "a/deep/b.log", "b/c.tmp"]
        );
        assert_eq!(walked("a"), ["a/.gitignore", "a/b.log", "a/deep/b.log"]);
        assert_eq!(walked("a/deep"), ["a/deep/b.log"]);
        // Who asks for something by its name gets it.
        assert_eq!(walked("a.log"), ["a.log"]);
    }
}
