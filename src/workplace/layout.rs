//! Finds files in a result that would complete a git directory. Its settings could run programs for whoever uses git
//! there, so these files are left out. Only names are compared, so an agent that changes a directory meanwhile cannot
//! deceive us.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

const HEAD: &str = "HEAD";
const PARTS: [&str; 4] = [HEAD, "objects", "refs", "commondir"];

/// Takes the files out of `present` that would make a directory a git directory that it was not before. `listed` are
/// the entries of the index, as `ls-files --stage` prints them.
pub(super) fn take_out(
    present: &mut Vec<OsString>,
    gone: &[OsString],
    listed: &[u8],
) -> Vec<OsString> {
    if !present.iter().any(|path| parts(path).next().is_some()) {
        return Vec::new();
    }
    let known = listed.split(|byte| *byte == 0).filter_map(|line| {
        let path = line.splitn(2, |byte| *byte == b'\t').nth(1)?;
        Some(OsString::from_vec(path.to_vec()))
    });
    let known: BTreeSet<_> = known.collect();
    let before: BTreeSet<_> = known.iter().flat_map(parts).collect();
    let gone: BTreeSet<_> = gone.iter().collect();
    let staying = known.iter().filter(|path| !gone.contains(path));
    let after: BTreeSet<_> = staying.chain(present.iter()).flat_map(parts).collect();
    let completes = |path: &OsString| {
        parts(path).any(|(directory, part)| {
            let is_missing = !before.contains(&(directory.clone(), part));
            // Without `HEAD` the other parts are ordinary files.
            let is_needed = part == HEAD || before.contains(&(directory.clone(), HEAD));
            is_missing
                && is_needed
                && is_layout(&after, &directory)
                && !is_layout(&before, &directory)
        })
    };
    let (out, rest) = std::mem::take(present).into_iter().partition(completes);
    *present = rest;
    out
}

type Part = (PathBuf, &'static str);

fn is_layout(found: &BTreeSet<Part>, directory: &Path) -> bool {
    let has = |part: &'static str| found.contains(&(directory.to_owned(), part));
    has(HEAD) && ((has("objects") && has("refs")) || has("commondir"))
}

/// The parts of git directories that a path is, or is inside of.
fn parts(path: &OsString) -> impl Iterator<Item = Part> + '_ {
    let path = Path::new(path);
    path.ancestors().filter_map(move |way| {
        let part = PARTS.into_iter().find(|part| way.file_name() == Some(OsStr::new(part)))?;
        let is_file = way.as_os_str().as_bytes().len() == path.as_os_str().as_bytes().len();
        (is_file || !matches!(part, HEAD | "commondir")).then_some(())?;
        Some((way.parent()?.to_owned(), part))
    })
}
