//! Files of the configured projects, opened when they are first used and shared by all sessions on them.

use crate::files::Files;
use dashmap::DashMap;
use std::path::Path;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub(crate) struct Projects {
    /// Of the gateway's own project.
    own: Files,
    /// Of others, by path. Sessions on the same project share its indexes.
    others: Arc<DashMap<String, Files>>,
}

impl Projects {
    pub(in crate::session) fn new(own: Files) -> Self {
        Self { own, others: Arc::default() }
    }

    /// Files of an allowed project; `None`: the gateway's own. Reads the disk when the project is first used.
    pub(in crate::session) fn open(&self, path: Option<&str>) -> Result<Files, String> {
        let Some(path) = path else { return Ok(self.own.clone()) };
        let known = self.others.get(path).map(|files| files.clone());
        if let Some(files) = known {
            return Ok(files);
        }
        let files = self.own.for_project(Path::new(path)).map_err(|err| err.to_string())?;
        Ok(self.others.entry(path.to_owned()).or_insert(files).clone())
    }

    /// All that are open.
    pub(in crate::session) fn opened(&self) -> Vec<Files> {
        let others = self.others.iter().map(|files| files.value().clone());
        others.chain([self.own.clone()]).collect()
    }
}
