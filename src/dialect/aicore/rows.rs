//! Serializes the rows of file lists. A long list is serialized once and shared by all sockets that show it.

use super::wire::{FileRow, Rows};
use crate::message::{FileList, ListedFile};
use serde_json::value::{RawValue, to_raw_value};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Lists with at least this many files are cached; serializing a shorter list is as fast as looking it up.
const CACHED_FROM: usize = 64;
/// Cached lists, for all projects and users together. Full: the oldest is dropped.
const CACHE_CAPACITY: usize = 32;

static CACHE: Mutex<Vec<CachedRows>> = Mutex::new(Vec::new());

struct CachedRows {
    /// Keeps the allocation alive, so that no other list can get the same address.
    list: Weak<FileList>,
    text: Arc<OnceLock<Box<RawValue>>>,
}

pub(super) fn of(list: &Arc<FileList>) -> Rows<'_> {
    if list.files.len() < CACHED_FROM {
        return Rows::Plain(rows(&list.files));
    }
    let text = cached(list);
    // A second caller waits here for the first, outside of the lock.
    text.get_or_init(|| to_raw_value(&rows(&list.files)).unwrap_or_default());
    Rows::Serialized(text)
}

fn cached(list: &Arc<FileList>) -> Arc<OnceLock<Box<RawValue>>> {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    cache.retain(|known| known.list.strong_count() > 0);
    if let Some(known) = cache.iter().find(|known| known.list.as_ptr() == Arc::as_ptr(list)) {
        return Arc::clone(&known.text);
    }
    if cache.len() >= CACHE_CAPACITY {
        cache.remove(0);
    }
    let text = Arc::default();
    cache.push(CachedRows { list: Arc::downgrade(list), text: Arc::clone(&text) });
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
    fn a_long_list_is_serialized_once_and_leaves_the_cache_with_its_last_owner() {
        let long = list(CACHED_FROM);
        let (Rows::Serialized(first), Rows::Serialized(again)) = (of(&long), of(&long)) else {
            panic!("not cached")
        };
        assert!(Arc::ptr_eq(&first, &again));
        let plain = serde_json::to_string(&rows(&long.files)).unwrap();
        assert_eq!(text(&long), plain);
        // Equal rows in another list are cached separately.
        let Rows::Serialized(other) = of(&list(CACHED_FROM)) else { panic!("not cached") };
        assert!(!Arc::ptr_eq(&first, &other));
        drop((again, other));
        drop(long);
        of(&list(CACHED_FROM));
        assert_eq!(Arc::strong_count(&first), 1);
        assert!(matches!(of(&list(CACHED_FROM - 1)), Rows::Plain(_)));
    }
}
