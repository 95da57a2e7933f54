//! Files of a session's workspace for downloads. The newest report is also there as an archive with its figures.

use super::super::chat::made::media_type;
use crate::message::{Principal, SessionId};
use crate::session::Registry;
use std::io;
use tar::{Builder, Header};
use tokio::task::spawn_blocking;

/// How figures of a report begin and end in its Markdown.
const FIGURE: [&str; 2] = ["](<", ">)"];

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

    /// The report that was written last, with its figures, as a tar archive.
    pub async fn newest_report_archive(
        &self,
        principal: &Principal,
        session: &SessionId,
    ) -> Option<WorkspaceFile> {
        let report = self.newest_report(principal, session, "md").await?;
        let text = String::from_utf8_lossy(&report.bytes).into_owned();
        let mut files = Vec::new();
        for name in figures(&text) {
            files.extend(self.workspace_file(principal, session, name).await);
        }
        let name = "report.tar".to_owned();
        let packed = spawn_blocking(move || archive(std::iter::once(&report).chain(&files)));
        let bytes = packed.await.ok()?.ok()?;
        Some(WorkspaceFile { name, media_type: "application/x-tar", bytes })
    }
}

/// Names of the figures that a report shows, each once.
fn figures(markdown: &str) -> Vec<&str> {
    let [begin, end] = FIGURE;
    let pieces = markdown.split(begin).skip(1);
    let mut names: Vec<_> = pieces.filter_map(|piece| Some(piece.split_once(end)?.0)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn archive<'a>(files: impl Iterator<Item = &'a WorkspaceFile>) -> io::Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    for WorkspaceFile { name, bytes, .. } in files {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, bytes.as_slice())?;
    }
    builder.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_report_are_found_once() {
        let text = "# a\n\n![x](<b.png>)\n![](<a.png>) ![x](<b.png>) ](<never closed";
        assert_eq!(figures(text), ["a.png", "b.png"]);
        assert!(figures("[link](other.png)").is_empty());
    }
}
