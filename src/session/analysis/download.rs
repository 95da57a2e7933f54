//! Files of a session's workspace for downloads.

use super::super::chat::analyst::media_type;
use crate::message::{Principal, SessionId};
use crate::session::Registry;
use tokio::task::spawn_blocking;

/// A whole file.
#[derive(Debug)]
pub struct WorkspaceFile {
    pub name: String,
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
}

impl Registry {
    /// `None`: the session has no such file.
    pub async fn workspace_file(
        &self,
        principal: &Principal,
        session: &SessionId,
        name: &str,
    ) -> Option<WorkspaceFile> {
        let workspaces = self.env.files.workspaces(principal);
        let (session, name) = (session.clone(), name.to_owned());
        let read = spawn_blocking(move || {
            let workspace = workspaces.find(&session)?;
            let bytes = workspaces.read(&workspace, &name).ok()?;
            Some(WorkspaceFile { media_type: media_type(&name), name, bytes })
        });
        read.await.ok()?
    }

    /// The report that was written last, as `md` or `html`.
    pub async fn newest_report(
        &self,
        principal: &Principal,
        session: &SessionId,
        ending: &str,
    ) -> Option<WorkspaceFile> {
        let workspaces = self.env.files.workspaces(principal);
        let (id, ending) = (session.clone(), ending.to_owned());
        let found = spawn_blocking(move || workspaces.newest(&id, "report", &ending));
        let name = found.await.ok()??;
        self.workspace_file(principal, session, &name).await
    }
}
