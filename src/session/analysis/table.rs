//! Receives a table: its bytes go to a file of the session's workspace, and Python says what is in it.

use super::interpreters::describe;
use crate::files::{FileError, Incoming};
use crate::locale::Locale;
use crate::message::{Column, Dataset, Principal};
use crate::python::{DataFrameInfo, PythonError, Warning};
use crate::session::{Env, Registry, SessionHandle};
use bytes::Bytes;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use tokio::task::spawn_blocking;

/// What Python may say about a table.
const WARNINGS: [&str; 9] = [
    "header_only",
    "undecodable",
    "title_rows",
    "no_header",
    "short_header",
    "empty_header",
    "duplicate_header",
    "skipped_row",
    "more_warnings",
];

/// A table that is being received. Dropped before its end, it leaves nothing behind.
#[derive(Debug)]
pub struct IncomingTable {
    env: Env,
    principal: Principal,
    session: SessionHandle,
    incoming: Incoming,
    file: File,
    workspace: String,
    name: String,
}

/// A table that was received and described.
#[derive(Debug)]
pub struct Table(pub Dataset);

/// Why a table is not part of the session.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error(transparent)]
    Files(#[from] FileError),
    /// It is no table, or Python is not there to read it.
    #[error(transparent)]
    Python(#[from] PythonError),
    #[error("the file is empty; send a CSV file with a header and rows")]
    Empty,
    #[error("the gateway is shutting down")]
    Stopping,
}

impl Registry {
    /// Begins to receive a table for a session.
    pub async fn receive_table(
        &self,
        principal: &Principal,
        session: &SessionHandle,
        name: &str,
    ) -> Result<IncomingTable, TableError> {
        let (env, id) = (self.env.clone(), session.id().clone());
        let workspaces = env.files.workspaces(principal);
        let begun = spawn_blocking(move || {
            let workspace = workspaces.of(&id)?;
            let (incoming, file) = workspaces.receive(&workspace)?;
            Ok::<_, FileError>((workspace, incoming, file))
        });
        let (workspace, incoming, file) = begun.await.map_err(|_| TableError::Stopping)??;
        let (principal, session, name) = (principal.clone(), session.clone(), name.to_owned());
        let file = File::from_std(file);
        Ok(IncomingTable { env, principal, session, incoming, file, workspace, name })
    }
}

impl IncomingTable {
    pub async fn write(&mut self, piece: &Bytes) -> Result<(), TableError> {
        self.file.write_all(piece).await.map_err(FileError::from)?;
        Ok(())
    }

    /// The whole table is there. It stays only if it is one.
    pub async fn finish(mut self, locale: Locale) -> Result<Table, TableError> {
        self.file.flush().await.map_err(FileError::from)?;
        let Self { env, principal, session, incoming, workspace, name, .. } = self;
        let kept = spawn_blocking(move || incoming.keep(&name)).await;
        let name = kept.map_err(|_| TableError::Stopping)??;
        let described = describe(&env, &principal, session.id(), &workspace, &name).await;
        let info = match described {
            Ok(info) if info.columns.is_empty() => Err(TableError::Empty),
            described => described.map_err(TableError::from),
        };
        let info = match info {
            Ok(info) => info,
            Err(err) => {
                let workspaces = env.files.workspaces(&principal);
                // A file that cannot be analysed is of no use to anybody.
                let _ = spawn_blocking(move || workspaces.forget(&workspace, &name)).await;
                return Err(err);
            }
        };
        Ok(Table(Dataset {
            name,
            workspace,
            rows: info.shape[0],
            columns: columns(&info),
            head: info.head_text(),
            encoding: info.encoding.clone(),
            warnings: info.warnings().iter().map(|warning| said(locale, warning)).collect(),
            sampled: info.sampled.map(|sampled| (sampled.rows_read, sampled.rows_total)),
        }))
    }
}

fn columns(info: &DataFrameInfo) -> Vec<Column> {
    let column = |name: &String| Column {
        name: name.clone(),
        dtype: info.dtypes.get(name).cloned().unwrap_or_default(),
        values: info.values.get(name).cloned().unwrap_or_default(),
        date_format: info.dates.get(name).cloned(),
    };
    info.columns.iter().map(column).collect()
}

/// What was repaired or left out, for people.
fn said(locale: Locale, warning: &Warning) -> String {
    let Some(name) = WARNINGS.into_iter().find(|name| *name == warning.kind) else {
        return warning.kind.clone();
    };
    let values = warning.values.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    locale.say("table_warning", name, &values.collect::<Vec<_>>())
}
