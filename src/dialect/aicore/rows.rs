//! Serializes the rows of file lists. A long list is serialized once and shared by all sockets that show it.

use super::wire::{FileRow, Rows};
use crate::message::{FileList, ListedFile};
use serde_json::value::{RawValue, to_raw_value};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Serializing a shorter list is as fast as looking it up.
const LONG: usize = 64;
/// Number of cached lists, for all projects and users together. When it is exceeded, the oldest is dropped.
const REMEMBERED: usize = 32;

static WRITTEN: Mutex<Vec<Written>> = Mutex::new(Vec::new());

struct Written {
    /// Keeps the allocation alive, so that no other list can get the same address.
    list: Weak<FileList>,
    text: Arc<OnceLock<Box<RawValue>>>,
}

pub(super) fn of(list: &Arc<FileList>) -> Rows<'_> {
    if list.files.len() < LONG {
        return Rows::Few(rows(&list.files));
    }
    let text = remembered(list);
    // A second caller waits here for the first, outside of the lock.
    text.get_or_init(|| to_raw_value(&rows(&list.files)).unwrap_or_default());
    Rows::Written(text)
}

fn remembered(list: &Arc<FileList>) -> Arc<OnceLock<Box<RawValue>>> {
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    written.retain(|known| known.list.strong_count() > 0);
    if let Some(known) = written.iter().find(|known| known.list.as_ptr() == Arc::as_ptr(list)) {
        return Arc::clone(&known.text);
    }
    if written.len() >= REMEMBERED {
        written.remove(0);
    }
    let text = Arc::default();
    written.push(Written { list: Arc::downgrade(list), text: Arc::clone(&text) });
    text
}

fn rows(files: &[ListedFile]) -> Vec<FileRow<'_>> {
    files.iter().map(|file| FileRow { path: &file.path, modified: &file.modified }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ListRoots;

    fn list(count: usize) -> Arc<FileList> {
        let file = |n| ListedFile { path: format!("\"{n}\""), modified: "".into() };
        let files = (0..count).map(file).collect();
        Arc::new(FileList { roots: ListRoots::Temp, newest: None, files })
    }

    fn text(list: &Arc<FileList>) -> String {
        serde_json::to_string(&of(list)).unwrap()
    }

    #[test]
    fn a_long_list_is_written_once_and_forgotten_with_its_last_owner() {
        let long = list(LONG);
        let (Rows::Written(first), Rows::Written(again)) = (of(&long), of(&long)) else {
            panic!("not remembered")
        };
        assert!(Arc::ptr_eq(&first, &again));
        let plain = serde_json::to_string(&rows(&long.files)).unwrap();
        assert_eq!(text(&long), plain);
        // Equal rows in another list are cached separately.
        let Rows::Written(other) = of(&list(LONG)) else { panic!("not remembered") };
        assert!(!Arc::ptr_eq(&first, &other));
        drop((again, other));
        drop(long);
        of(&list(LONG));
        assert_eq!(Arc::strong_count(&first), 1);
        assert!(matches!(of(&list(LONG - 1)), Rows::Few(_)));
    }
}
