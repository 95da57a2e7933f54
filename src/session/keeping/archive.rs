//! A session as one tar archive: `session.json`, `events.jsonl`, and the user's files that the events mention.
//! Everything here blocks. Memory does not grow with the session: its events pass through an unnamed temporary file.

use crate::files::Belongings;
use crate::message::{Principal, SessionId};
use crate::store::{Exported, ReadOnlyStore, Scope, Store, StoreError};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tar::{Builder, Header};
use tokio::sync::OwnedSemaphorePermit;

/// Buffer size for reading files.
const READ_BUFFER: usize = 64 * 1024;

/// A session at one moment. Later changes are not in it.
#[derive(Debug)]
pub struct Archive {
    about: Exported,
    events: File,
    length: u64,
    /// Paths as the user knows them.
    files: BTreeSet<String>,
    belongings: Belongings,
    /// Permit that bounds how many archives there are at once.
    _place: Option<OwnedSemaphorePermit>,
}

impl Archive {
    /// `None`: there is no such session within this scope.
    pub(super) fn take(
        store: &Store,
        data: &Path,
        scope: Scope<'_>,
        id: &SessionId,
    ) -> Result<Option<Self>, StoreError> {
        Self::collect(data, |lines, mentioned| store.export(scope, id, lines, mentioned))
    }

    /// `take` for the operator, from a process beside the gateway.
    pub fn take_read_only(
        store: &ReadOnlyStore,
        data: &Path,
        id: &SessionId,
    ) -> Result<Option<Self>, StoreError> {
        Self::collect(data, |lines, mentioned| store.export(id, lines, mentioned))
    }

    fn collect(
        data: &Path,
        export: impl FnOnce(
            &mut BufWriter<File>,
            &mut dyn FnMut(&Principal, &str),
        ) -> Result<Option<Exported>, StoreError>,
    ) -> Result<Option<Self>, StoreError> {
        let mut lines = BufWriter::new(nameless(data)?);
        let mut files = BTreeSet::new();
        let mut mentioned = |principal: &Principal, path: &str| {
            if !files.contains(path) && Belongings::of(data, principal).holds(path) {
                files.insert(path.to_owned());
            }
        };
        let Some(about) = export(&mut lines, &mut mentioned)? else { return Ok(None) };
        let mut events = lines.into_inner().map_err(io::IntoInnerError::into_error)?;
        let length = events.stream_position()?;
        events.rewind()?;
        let belongings = Belongings::of(data, &about.principal);
        Ok(Some(Self { about, events, length, files, belongings, _place: None }))
    }

    /// Holds a permit until the archive is written or dropped.
    pub(super) fn holding(self, place: OwnedSemaphorePermit) -> Self {
        Self { _place: Some(place), ..self }
    }

    /// Ends with an error when `out` takes no more.
    pub fn write(self, out: impl Write) -> io::Result<()> {
        let mut tar = Builder::new(out);
        let about = self.about.about.as_bytes();
        let size = u64::try_from(about.len()).unwrap_or(u64::MAX);
        append(&mut tar, "session.json", size, self.about.used, about)?;
        let events = BufReader::with_capacity(READ_BUFFER, self.events);
        append(&mut tar, "events.jsonl", self.length, self.about.used, events)?;
        for path in &self.files {
            // The file may have been removed meanwhile to make room for another.
            let Some(file) = self.belongings.open(path) else { continue };
            let about = file.metadata()?;
            let modified = about.modified().unwrap_or(self.about.used);
            let content = BufReader::with_capacity(READ_BUFFER, file);
            append(&mut tar, &format!("files/{path}"), about.len(), modified, content)?;
        }
        tar.into_inner()?.flush()
    }
}

fn append(
    tar: &mut Builder<impl Write>,
    path: &str,
    size: u64,
    modified: SystemTime,
    content: impl Read,
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o600);
    header.set_mtime(modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs());
    // The header states the size, so exactly that many bytes must follow, even if the file has changed meanwhile.
    tar.append_data(&mut header, path, content.chain(io::repeat(0)).take(size))
}

/// A file without a name. It is gone when it is closed, also after a crash.
fn nameless(data: &Path) -> io::Result<File> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = data.join(format!(".export.{}.{count}.part", std::process::id()));
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
