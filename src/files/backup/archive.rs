//! Backups on disk: `YYYYMMDD/HHMMSS.all/` holds everything, `YYYYMMDD/HHMMSS/` what had changed since the one
//! before it, and `YYYYMMDD/HHMMSS.manifest` what had gone. All of them in order are the project.

use super::super::rights;
use super::super::rules::Rules;
use super::super::tree::{Root, Tree};
use super::Backup;
use super::moment::Moment;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const FULL: &str = ".all";
const PART: &str = ".part";

/// One backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layer {
    pub(super) moment: Moment,
    pub(super) is_full: bool,
}

/// What is known about a backup besides its files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    /// Of the list that belongs to it.
    pub(super) count: usize,
    pub(super) digest: u64,
    /// Directories like `.github` were looked at, which older gateways did not do.
    pub(super) hidden: bool,
    pub(super) gone: Vec<PathBuf>,
}

#[derive(Debug)]
pub(super) struct Archive {
    base: PathBuf,
}

impl Archive {
    pub(super) fn new(base: PathBuf) -> Self {
        Self { base }
    }

    /// From the newest full one on, oldest first. Names that are not ours are passed over.
    pub(super) fn layers(&self) -> Vec<Layer> {
        let mut layers: Vec<Layer> = names(&self.base)
            .into_iter()
            .flat_map(|day| {
                let times = names(&self.base.join(&day));
                times.into_iter().filter_map(move |name| layer(&day, &name))
            })
            .collect();
        layers.sort_by_key(|layer| layer.moment);
        let first = layers.iter().rposition(|layer| layer.is_full).unwrap_or(layers.len());
        layers.split_off(first)
    }

    /// What people are told about them, oldest first.
    pub(super) fn backups(&self) -> Vec<Backup> {
        let told = |layer: &Layer| Backup {
            moment: layer.moment,
            is_full: layer.is_full,
            files: self.manifest(layer).count,
        };
        self.layers().iter().map(told).collect()
    }

    pub(super) fn path(&self, layer: &Layer) -> PathBuf {
        let full = if layer.is_full { FULL } else { "" };
        let day = self.base.join(layer.moment.day());
        day.join(format!("{}{full}", layer.moment.time()))
    }

    pub(super) fn base(&self) -> &Path {
        &self.base
    }

    pub(super) fn open(&self, layer: &Layer) -> io::Result<Dir> {
        Dir::open_ambient_dir(self.path(layer), ambient_authority())
    }

    pub(super) fn manifest(&self, layer: &Layer) -> Manifest {
        fs::read(self.manifest_path(layer)).ok().and_then(|text| read(&text)).unwrap_or_default()
    }

    /// The files as they were after the last of these layers.
    pub(super) fn tree(&self, layers: &[Layer]) -> io::Result<Tree> {
        let mut whole = Tree::default();
        for layer in layers {
            for path in self.manifest(layer).gone {
                whole.remove(&path);
            }
            let root = Root { path: self.path(layer), rules: Rules::Everything };
            for (path, stamp) in Tree::survey(&root, &mut |_| {})?.files() {
                whole.insert(&path, stamp);
            }
        }
        Ok(whole)
    }

    /// A hidden directory to fill; what an earlier attempt left is removed.
    pub(super) fn begin(&self, layer: &Layer) -> io::Result<Dir> {
        let part = self.part(layer);
        match fs::remove_dir_all(&part) {
            Err(err) if err.kind() != ErrorKind::NotFound => return Err(err),
            Ok(()) | Err(_) => {}
        }
        rights::make_directory(&part)?;
        Dir::open_ambient_dir(part, ambient_authority())
    }

    /// Makes what was filled a backup, all at once.
    pub(super) fn commit(&self, layer: &Layer, manifest: &Manifest) -> io::Result<()> {
        fs::write(self.manifest_path(layer), text(manifest))?;
        fs::rename(self.part(layer), self.path(layer))
    }

    pub(super) fn abandon(&self, layer: &Layer) {
        // It may be that nothing was begun.
        let _ = fs::remove_dir_all(self.part(layer));
        let _ = fs::remove_file(self.manifest_path(layer));
        self.tidy(layer);
    }

    /// Gives up the oldest state: the second layer goes into the first, which takes its name. Whatever stops this
    /// halfway, all later states stay what they are.
    pub(super) fn merge(&self, oldest: &Layer, next: &Layer) -> io::Result<()> {
        let (below, above) = (self.open(oldest)?, self.open(next)?);
        for path in self.manifest(next).gone {
            let _ = below.remove_file(path);
        }
        let root = Root { path: self.path(next), rules: Rules::Everything };
        for (path, _) in Tree::survey(&root, &mut |_| {})?.files() {
            if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                make_way(&below, parent);
                rights::make_directory_below(&below, parent)?;
            }
            // A directory of that name has no files any more.
            let _ = below.remove_dir_all(&path);
            above.rename(&path, &below, &path)?;
        }
        let full = Layer { is_full: true, ..next.clone() };
        fs::remove_dir_all(self.path(next))?;
        fs::rename(self.path(oldest), self.path(&full))?;
        let _ = fs::remove_file(self.manifest_path(oldest));
        self.tidy(oldest);
        Ok(())
    }

    /// Removes what was begun and never finished.
    pub(super) fn sweep(&self) {
        for day in names(&self.base) {
            let day = self.base.join(day);
            let parts = names(&day).into_iter().filter(|name| is_part(name));
            parts.for_each(|part| drop(fs::remove_dir_all(day.join(part))));
        }
    }

    /// Removes the directory of a day of which nothing is left.
    fn tidy(&self, layer: &Layer) {
        // Fails, as it should, if there is anything in it.
        let _ = fs::remove_dir(self.base.join(layer.moment.day()));
    }

    fn part(&self, layer: &Layer) -> PathBuf {
        self.base.join(layer.moment.day()).join(format!(".{}{PART}", layer.moment.time()))
    }

    fn manifest_path(&self, layer: &Layer) -> PathBuf {
        let day = self.base.join(layer.moment.day());
        day.join(format!("{}.manifest", layer.moment.time()))
    }
}

/// A file where a directory is needed now.
fn make_way(below: &Dir, directory: &Path) {
    for part in directory.ancestors().filter(|part| !part.as_os_str().is_empty()) {
        if below.symlink_metadata(part).is_ok_and(|about| !about.is_dir()) {
            let _ = below.remove_file(part);
        }
    }
}

fn is_part(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(PART)
}

/// From the names of its two directories.
pub(super) fn layer(day: &str, name: &str) -> Option<Layer> {
    let time = name.strip_suffix(FULL);
    let moment = Moment::parse(day, time.unwrap_or(name))?;
    Some(Layer { moment, is_full: time.is_some() })
}

fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

/// Paths may hold everything but NUL, so that is what stands between them. An empty one before them says `hidden`: older
/// gateways take it for one more path, of which there is nothing to remove.
fn text(manifest: &Manifest) -> Vec<u8> {
    let mut text = format!("{} {:016x}", manifest.count, manifest.digest).into_bytes();
    if manifest.hidden {
        text.push(0);
    }
    for path in &manifest.gone {
        text.push(0);
        text.extend(path.as_os_str().as_bytes());
    }
    text
}

fn read(text: &[u8]) -> Option<Manifest> {
    let mut parts = text.split(|byte| *byte == 0);
    let head = std::str::from_utf8(parts.next()?).ok()?;
    let (count, digest) = head.split_once(' ')?;
    let (marks, gone): (Vec<_>, Vec<_>) = parts.partition(|path| path.is_empty());
    let gone = gone.into_iter().map(|path| PathBuf::from(OsStr::from_bytes(path))).collect();
    Some(Manifest {
        count: count.parse().ok()?,
        digest: u64::from_str_radix(digest, 16).ok()?,
        hidden: !marks.is_empty(),
        gone,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_keeps_every_path() {
        let odd = OsStr::from_bytes(b"a\n\xff/b");
        let gone = vec![PathBuf::from(odd), "c d".into()];
        for (hidden, gone) in [(true, gone.clone()), (false, gone), (true, vec![])] {
            let manifest = Manifest { count: 3, digest: u64::MAX, hidden, gone };
            assert_eq!(read(&text(&manifest)), Some(manifest));
        }
        assert_eq!(read(b"nonsense"), None);
    }
}
