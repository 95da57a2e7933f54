//! Files that git stores in another form, by a filter such as that of Git LFS. The index has the stored form (for LFS a
//! short pointer), the disk has the real content. We run no filters, so the snapshot of an unchanged file has the stored
//! form. Written into the project, that would replace the real file by a pointer. So whatever overwrites files of the
//! project first takes their real contents from the disk, and never writes a stored form over a file.

use super::change::{Mode, RawChange, raw_changes};
use super::folder::{Folder, is_absent};
use super::footprint::Mark;
use super::frozen::LARGEST_FILE;
use super::index::{Extent, Index, joined};
use super::objects::Ids;
use super::private::replace;
use super::removal::remove_tree;
use super::{GitError, Repository, TreeId};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Most bytes of real contents that one snapshot reads. Further files stay as they are, and are in the file backups.
const MOST_BYTES: u64 = if cfg!(test) { 1 << 20 } else { LARGEST_FILE };
/// File in our own directory with lines of two hashes: a real content, and its stored form.
const FORMS: &str = "filtered";
/// Most lines of that file. If there are more, the earlier ones are forgotten.
const MOST_FORMS: usize = 20_000;
const ATTRIBUTES: &str = ".gitattributes";
const DOING: &str = "keeping the contents of files with a filter";

/// A change of the project's files. Both trees have real contents as far as they are known.
#[derive(Debug)]
pub(super) struct RealCourse {
    pub(super) from: TreeId,
    pub(super) to: TreeId,
    /// Paths that stay as they are, relative to the project: only the stored form of the new content is known, or the
    /// present content is too large for a snapshot.
    pub(super) kept: Vec<String>,
}

impl RealCourse {
    /// The trees as they are.
    pub(super) fn plain(from: &TreeId, to: &TreeId) -> Self {
        Self { from: from.clone(), to: to.clone(), kept: Vec::new() }
    }
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    path: OsString,
    mode: Mode,
    hash: String,
}

/// What is on disk.
#[derive(Debug, Default)]
struct Contents {
    read: Vec<Entry>,
    /// Files that are too large, or not readable for us.
    unread: BTreeSet<OsString>,
}

/// Stored forms by real contents. A content that is stored as it is has itself for its form.
type Forms = BTreeMap<String, String>;

impl Repository {
    /// `index` is the one of the project's files when they were like `from`. `only` is one path of the project.
    pub(super) fn real_course(
        &self,
        index: &Index,
        from: &TreeId,
        to: &TreeId,
        only: Option<&str>,
    ) -> Result<RealCourse, GitError> {
        let changes = self.filtered_changes(index, from, to, only)?;
        if changes.is_empty() {
            return Ok(RealCourse::plain(from, to));
        }
        let old: Vec<_> = changes.iter().filter_map(old_entry).collect();
        let contents = self.contents(&old)?;
        let forms = self.note_forms(&old, &contents.read)?;
        let (new, kept) = self.new_entries(&changes, &old, &contents, &forms)?;
        Ok(RealCourse {
            from: self.tree_with(from, &contents.read)?,
            to: self.tree_with(to, &new)?,
            kept: kept.iter().map(|path| self.told(path)).collect(),
        })
    }

    /// The tree with the real contents of all files of the project that have a filter, for a backup of the project.
    pub(super) fn real_tree(&self, tree: &TreeId) -> Result<TreeId, GitError> {
        if !self.has_git() {
            return Ok(tree.clone());
        }
        let stored = match self.memory().filtered(tree) {
            Some(known) => known,
            None => {
                let stored = self.filtered_files(tree)?;
                self.memory().note_filtered(tree.clone(), stored.clone());
                stored
            }
        };
        if stored.is_empty() {
            return Ok(tree.clone());
        }
        let entry = |(hash, path)| Entry { path, mode: Mode::File, hash };
        let stored: Vec<_> = stored.into_iter().map(entry).collect();
        let contents = self.contents(&stored)?;
        self.note_forms(&stored, &contents.read)?;
        self.tree_with(tree, &contents.read)
    }

    /// The tree with the stored forms of files whose real content was brought back to the disk. Until the user's git
    /// looks at such a file, its index cannot tell that the file has not changed.
    pub(super) fn in_stored_form(&self, tree: TreeId) -> Result<TreeId, GitError> {
        let forms = self.forms();
        if !forms.iter().any(|(real, form)| real != form) {
            return Ok(tree);
        }
        let Some((_, head)) = self.head()? else { return Ok(tree) };
        let git = self.with_users("diff-tree", &[]).args(["-r", "-z", "--raw", "--no-abbrev"]);
        let listed = git.arg("--no-renames").arg(head.as_str()).arg(tree.as_str()).read()?;
        let mut changes = raw_changes(&listed);
        changes.retain(|change| {
            is_file(change.old_mode) && forms.get(&change.new_hash) == Some(&change.old_hash)
        });
        let entries: Vec<_> = changes
            .into_iter()
            .map(|change| Entry { path: change.path, mode: change.new_mode, hash: change.old_hash })
            .collect();
        self.tree_with(&tree, &entries)
    }

    /// Changes of files that have a filter before or after the change, by paths of the repository.
    fn filtered_changes(
        &self,
        index: &Index,
        from: &TreeId,
        to: &TreeId,
        only: Option<&str>,
    ) -> Result<Vec<RawChange>, GitError> {
        if !self.has_git() {
            return Ok(Vec::new());
        }
        let mut changes = self.differences(from, to, Extent::Project)?;
        let is_attributes =
            |change: &RawChange| Path::new(&change.path).file_name() == Some(ATTRIBUTES.as_ref());
        let other_rules = changes.iter().any(is_attributes);
        changes.retain(|change| only.is_none_or(|only| change.path.to_string_lossy() == only));
        for change in &mut changes {
            change.path = self.prefix().join(&change.path).into_os_string();
        }
        let paths: Vec<_> = changes.iter().map(|change| change.path.clone()).collect();
        let mut filtered = index.with_filter(&paths)?;
        if other_rules {
            let later = Index::of_nothing(self, self.top());
            later.reset(Some(to))?;
            filtered.extend(later.with_filter(&paths)?);
        }
        changes.retain(|change| filtered.contains(&change.path));
        Ok(changes)
    }

    /// Hashes and paths of the project's files that have a filter.
    fn filtered_files(&self, tree: &TreeId) -> Result<Vec<(String, OsString)>, GitError> {
        let index = Index::of_nothing(self, self.top());
        index.reset(Some(tree))?;
        let mut entries = index.entries()?;
        entries.retain(|(_, path)| Path::new(path).starts_with(self.prefix()));
        let paths: Vec<_> = entries.iter().map(|(_, path)| path.clone()).collect();
        let filtered = index.with_filter(&paths)?;
        entries.retain(|(_, path)| filtered.contains(path));
        Ok(entries)
    }

    /// Stores what is on disk at these paths.
    fn contents(&self, entries: &[Entry]) -> Result<Contents, GitError> {
        let copies = self.private().fresh_directory()?;
        let read = self.read_contents(entries, &copies);
        let _ = remove_tree(&copies);
        read
    }

    fn read_contents(&self, entries: &[Entry], copies: &Path) -> Result<Contents, GitError> {
        let top = Folder::open(self.top()).map_err(GitError::io(DOING))?;
        let room = Folder::open(copies).map_err(GitError::io(DOING))?;
        let known = self.known_contents(entries)?;
        let (mut contents, mut copied, mut left) = (Contents::default(), Vec::new(), MOST_BYTES);
        for entry in entries {
            if let Some(known) = known.get(&entry.path) {
                contents.read.push(known.clone());
                continue;
            }
            let mark = Mark::of(&self.top().join(&entry.path));
            let name = copied.len().to_string();
            let copy = copy(&top, Path::new(&entry.path), &room, OsStr::new(&name), &mut left);
            match copy.map_err(GitError::io(DOING))? {
                Copied::Nothing => (),
                Copied::Unfit => drop(contents.unread.insert(entry.path.clone())),
                Copied::File(mode) => copied.push((Entry { mode, ..entry.clone() }, mark)),
            }
        }
        let hashes = self.hash_copies(copies, copied.len())?;
        for ((entry, mark), hash) in copied.into_iter().zip(hashes) {
            if let Some(mark) = mark {
                let (path, mode) = (entry.path.clone(), entry.mode);
                self.memory().note_content(path, mark, mode, hash.clone());
            }
            contents.read.push(Entry { hash, ..entry });
        }
        Ok(contents)
    }

    /// Contents that were read before and are still stored, of files that have not changed since.
    fn known_contents(&self, entries: &[Entry]) -> Result<BTreeMap<OsString, Entry>, GitError> {
        let mut known = BTreeMap::new();
        for Entry { path, .. } in entries {
            let mark = Mark::of(&self.top().join(path));
            if let Some((mode, hash)) = mark.and_then(|mark| self.memory().content(path, &mark)) {
                known.insert(path.clone(), Entry { path: path.clone(), mode, hash });
            }
        }
        if !known.is_empty() {
            let ids: Ids = known.values().map(|entry| entry.hash.clone()).collect();
            let gone = self.absent_here(&ids)?;
            known.retain(|_, entry| !gone.contains(&entry.hash));
        }
        Ok(known)
    }

    /// Stores the copies byte for byte. Their names are numbers.
    fn hash_copies(&self, copies: &Path, count: usize) -> Result<Vec<String>, GitError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let names: String = (0..count).map(|number| format!("{number}\n")).collect();
        let git = self.content("hash-object", &[]).args(["-w", "--no-filters", "--stdin-paths"]);
        let told = git.at(copies).input(names.into_bytes()).word()?;
        Ok(told.lines().map(str::to_owned).collect())
    }

    /// Notes which stored form belongs to which real content, and returns everything that is noted.
    fn note_forms(&self, stored: &[Entry], real: &[Entry]) -> Result<Forms, GitError> {
        let mut forms = self.forms();
        let stored: BTreeMap<_, _> =
            stored.iter().map(|entry| (&entry.path, &entry.hash)).collect();
        let pairs = real.iter().filter_map(|entry| Some((entry, *stored.get(&entry.path)?)));
        let mut new: Vec<_> =
            pairs.filter(|(entry, form)| forms.get(&entry.hash) != Some(*form)).collect();
        if new.iter().any(|(entry, form)| entry.hash != **form) {
            // A file that somebody has changed since the snapshot is not the real content of the form in it.
            let changed = Index::of_project(self)?.changed(Extent::Repository)?;
            new.retain(|(entry, form)| entry.hash == **form || !changed.contains(&entry.path));
        }
        if new.is_empty() {
            return Ok(forms);
        }
        if forms.len() + new.len() > MOST_FORMS {
            forms.clear();
        }
        forms.extend(new.into_iter().map(|(entry, form)| (entry.hash.clone(), form.clone())));
        let lines: String = forms.iter().map(|(real, form)| format!("{real} {form}\n")).collect();
        let path = self.private().root().join(FORMS);
        replace(&path, lines.as_bytes()).map_err(GitError::io(DOING))?;
        Ok(forms)
    }

    fn forms(&self) -> Forms {
        let text = fs::read_to_string(self.private().root().join(FORMS)).unwrap_or_default();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        pairs.map(|(real, form)| (real.to_owned(), form.to_owned())).collect()
    }

    /// Entries that differ from the new tree: real contents in the place of stored forms, and files that stay as they
    /// are, with their paths.
    fn new_entries(
        &self,
        changes: &[RawChange],
        old: &[Entry],
        contents: &Contents,
        forms: &Forms,
    ) -> Result<(Vec<Entry>, Vec<OsString>), GitError> {
        let wanted: Ids = changes.iter().map(|change| change.new_hash.clone()).collect();
        let real = self.real_of(&wanted, forms)?;
        let stored = self.stored_by_user(&wanted)?;
        let (mut new, mut kept) = (Vec::new(), Vec::new());
        for change in changes {
            let (path, hash) = (&change.path, &change.new_hash);
            let here =
                |entries: &[Entry]| entries.iter().find(|entry| entry.path == *path).cloned();
            let present = here(&contents.read).or_else(|| here(old));
            let only_stored = stored.contains(hash) && !forms.contains_key(hash);
            match (real.get(hash), present) {
                (_, Some(present)) if contents.unread.contains(path) => {
                    new.push(present);
                    kept.push(path.clone());
                }
                (Some(real), _) if is_file(change.new_mode) => {
                    let (mode, hash) = (change.new_mode, real.clone());
                    new.push(Entry { path: path.clone(), mode, hash });
                }
                (None, Some(present)) if is_file(change.new_mode) && only_stored => {
                    new.push(present);
                    kept.push(path.clone());
                }
                _ => (),
            }
        }
        Ok((new, kept))
    }

    /// Real contents that we have, by their stored forms.
    fn real_of(&self, wanted: &Ids, forms: &Forms) -> Result<BTreeMap<String, String>, GitError> {
        let pairs = forms.iter().filter(|(real, form)| real != form && wanted.contains(*form));
        let mut found: BTreeMap<_, _> =
            pairs.map(|(real, form)| (form.clone(), real.clone())).collect();
        if !found.is_empty() {
            let gone = self.absent_here(&found.values().cloned().collect())?;
            found.retain(|_, real| !gone.contains(real));
        }
        Ok(found)
    }

    /// Objects that the user's repository has. Others cannot be stored forms.
    fn stored_by_user(&self, hashes: &Ids) -> Result<Ids, GitError> {
        let Some(user) = self.user() else { return Ok(Ids::new()) };
        let is_object = |hash: &&String| hash.bytes().any(|digit| digit != b'0');
        let all: Ids = hashes.iter().filter(is_object).cloned().collect();
        if all.is_empty() {
            return Ok(all);
        }
        let absent = self.absent_in(&user.objects(), &all)?;
        Ok(all.difference(&absent).cloned().collect())
    }

    fn tree_with(&self, tree: &TreeId, entries: &[Entry]) -> Result<TreeId, GitError> {
        if entries.is_empty() {
            return Ok(tree.clone());
        }
        let index = Index::of_nothing(self, self.top());
        index.reset(Some(tree))?;
        let line = |entry: &Entry| {
            let about = format!("{} {}\t", entry.mode.octal(), entry.hash).into_bytes();
            [about, entry.path.as_bytes().to_vec()].concat()
        };
        index.set(&entries.iter().map(line).collect::<Vec<_>>())?;
        index.tree()
    }
}

impl Index {
    /// Those of the paths for which the attributes in the index name a filter.
    fn with_filter(&self, paths: &[OsString]) -> Result<BTreeSet<OsString>, GitError> {
        if paths.is_empty() {
            return Ok(BTreeSet::new());
        }
        let git = self.git("check-attr").args(["-z", "--stdin", "--cached", "filter"]);
        let told = git.input(joined(paths)).read()?;
        let parts: Vec<_> = told.split(|byte| *byte == 0).collect();
        let rows = parts.chunks_exact(3);
        let named = rows.filter(|row| !matches!(row[2], b"unspecified" | b"unset" | b"set"));
        Ok(named.map(|row| OsString::from_vec(row[0].to_vec())).collect())
    }
}

fn old_entry(change: &RawChange) -> Option<Entry> {
    let (path, mode, hash) = (change.path.clone(), change.old_mode, change.old_hash.clone());
    is_file(mode).then_some(Entry { path, mode, hash })
}

fn is_file(mode: Mode) -> bool {
    match mode {
        Mode::File | Mode::Executable => true,
        Mode::Nothing | Mode::Link | Mode::Submodule => false,
    }
}

enum Copied {
    File(Mode),
    /// There is no file.
    Nothing,
    /// Too large, or not readable.
    Unfit,
}

fn copy(
    top: &Folder,
    path: &Path,
    room: &Folder,
    name: &OsStr,
    left: &mut u64,
) -> io::Result<Copied> {
    let (file, stamp) = match top.open_file(path) {
        Ok(Some(opened)) => opened,
        Ok(None) => return Ok(Copied::Nothing),
        Err(err) if is_absent(&err) => return Ok(Copied::Nothing),
        Err(_) => return Ok(Copied::Unfit),
    };
    if stamp.size() > *left {
        return Ok(Copied::Unfit);
    }
    let mut copy = room.new_file(name, 0o600)?;
    let bytes = io::copy(&mut file.take(*left + 1), &mut copy)?;
    if bytes > *left {
        room.remove(name)?;
        return Ok(Copied::Unfit);
    }
    *left -= bytes;
    Ok(Copied::File(if stamp.mode & 0o100 == 0 { Mode::File } else { Mode::Executable }))
}
