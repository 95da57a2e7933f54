//! Tables that seaborn knows by name. There is no network where it would get them from.

use super::error::PythonError;
use std::fs;
use std::path::{Path, PathBuf};

const PLACE: &str = "datasets";
/// Not the well-known one: invented passengers in its columns, made by `scripts/synthetic-titanic`.
const TITANIC: &str = include_str!("../../config/python/titanic.csv");
const TABLE: &str = "titanic.csv";
const NOTE: &str = "README.txt";
const SAID: &str = "titanic.csv is synthetic: its passengers are invented, in the columns of the well-known data set.\n\
    Put the real file here under the same name, and it is used in its place.\n";

/// Makes the directory. A table that somebody has put there stays.
pub(super) fn write(place: &Path) -> Result<PathBuf, PythonError> {
    let directory = place.join(PLACE);
    let failed = |err| PythonError::File(directory.display().to_string(), err);
    fs::create_dir_all(&directory).map_err(failed)?;
    for (name, text) in [(NOTE, SAID), (TABLE, TITANIC)] {
        let file = directory.join(name);
        if !file.exists() {
            // Others may read the file while it is written.
            let part = directory.join(format!(".{name}.{}", std::process::id()));
            fs::write(&part, text).and_then(|()| fs::rename(&part, &file)).map_err(failed)?;
        }
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_the_user_stays() {
        let place = tempfile::tempdir().unwrap();
        let directory = write(place.path()).unwrap();
        assert!(fs::read_to_string(directory.join(NOTE)).unwrap().contains("synthetic"));
        fs::write(directory.join(TABLE), "mine").unwrap();
        write(place.path()).unwrap();
        assert_eq!(fs::read_to_string(directory.join(TABLE)).unwrap(), "mine");
    }
}
