//! Everybody's directories, which are full of sockets of others: each box has its own.

use std::path::{Path, PathBuf};

pub(super) const FRESH: [&str; 3] = ["/tmp", "/var/tmp", "/run"];

/// The directory that is another one in a box, if the path is below it.
pub fn replaced_in(path: &Path) -> Option<&'static Path> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| PathBuf::from(path));
    let (asked, fresh) = (real(path), FRESH.map(Path::new));
    fresh.into_iter().find(|fresh| path.starts_with(fresh) || asked.starts_with(real(fresh)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_tmp_is_elsewhere_in_a_box() {
        assert_eq!(replaced_in(Path::new("/tmp/a/b")), Some(Path::new("/tmp")));
        assert_eq!(replaced_in(Path::new("/tmpfile")), None);
        assert_eq!(replaced_in(Path::new("/")), None);
    }
}
