//! The lock file and our own Python, which are compiled in.

use super::error::PythonError;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) const LOCK: &str = include_str!("../../config/python/requirements.txt");
pub(super) const PREPARE: &str = include_str!("../../config/python/kakehashi_prepare.py");
/// What runs in the closed view.
const FILES: [(&str, &str); 7] = [
    ("kakehashi_parent.py", include_str!("../../config/python/kakehashi_parent.py")),
    ("kakehashi_child.py", include_str!("../../config/python/kakehashi_child.py")),
    ("kakehashi_charts.py", include_str!("../../config/python/kakehashi_charts.py")),
    ("kakehashi_column.py", include_str!("../../config/python/kakehashi_column.py")),
    ("kakehashi_header.py", include_str!("../../config/python/kakehashi_header.py")),
    ("kakehashi_reader.py", include_str!("../../config/python/kakehashi_reader.py")),
    ("kakehashi_room.py", include_str!("../../config/python/kakehashi_room.py")),
];

/// The first digits of a hash are enough to tell our own files apart.
pub(super) fn short_hash(texts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update(text.len().to_le_bytes());
        hasher.update(text);
    }
    hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The packages of the lock file, by name.
pub(super) fn packages() -> BTreeSet<&'static str> {
    let lines = LOCK.lines().filter(|line| !line.starts_with([' ', '#']));
    lines.filter_map(|line| Some(line.split_once("==")?.0)).collect()
}

/// Writes our own files where the closed view shows them from, if they are not there yet.
pub(super) fn write(directory: &Path) -> Result<PathBuf, PythonError> {
    let texts = FILES.map(|(_, text)| text);
    let place = directory.join(format!("program-{}", short_hash(&texts)));
    let failed = |err| PythonError::File(place.display().to_string(), err);
    if is_whole(&place) {
        return Ok(place);
    }
    fs::create_dir_all(&place).map_err(failed)?;
    for (name, text) in FILES {
        // Others may read the file while it is written.
        let part = place.join(format!(".{name}.{}", std::process::id()));
        let written = fs::write(&part, text).and_then(|()| fs::rename(&part, place.join(name)));
        written.map_err(failed)?;
    }
    Ok(place)
}

fn is_whole(place: &Path) -> bool {
    FILES
        .iter()
        .all(|(name, text)| fs::read(place.join(name)).is_ok_and(|found| found == text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_of_the_lock_has_hashes_and_no_address() {
        let all = packages();
        for name in
            ["pandas", "numpy", "scikit-learn", "matplotlib", "seaborn", "matplotlib-fontja"]
        {
            assert!(all.contains(name), "{name}");
        }
        for block in LOCK.split("\n    # via").filter(|block| block.contains("==")) {
            assert!(block.contains("--hash=sha256:"), "{block}");
        }
        assert!(!LOCK.contains("://") && !LOCK.contains("--index") && !LOCK.contains("--find"));
    }

    #[test]
    fn a_changed_file_is_written_again() {
        let directory = tempfile::tempdir().unwrap();
        let place = write(directory.path()).unwrap();
        fs::write(place.join(FILES[0].0), "other").unwrap();
        assert_eq!(write(directory.path()).unwrap(), place);
        assert!(is_whole(&place));
    }
}
