//! How a prompt gets into a command: as a part of its arguments, or as a file of the agent's own.

use super::AgentPrompt;
use crate::message::one_line;
use crate::process::AgentHome;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::fs::OpenOptions;
use tokio::io::AsyncWriteExt;

/// Takes the place of the prompt in the row's command.
const PLACE: &str = "{prompt}";
/// Takes the place of a file with the prompt.
const FILE_PLACE: &str = "{prompt_file}";
/// Linux takes no longer argument, with its end.
const LONGEST: usize = 128 * 1024;
/// Files of that name that somebody else has put there.
const MOST_TAKEN: usize = 100;

/// A command that can be started.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) command: Vec<String>,
    /// Gone when the command is.
    _file: Option<PromptFile>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ArgumentError {
    #[error(
        "the prompt makes an argument of {} KiB, and a command takes at most {} KiB; shorten it, or write {FILE_PLACE} \
         instead of {PLACE} in the agent's row, if it can read a file", .0.div_ceil(1024), LONGEST / 1024
    )]
    TooLong(usize),
    #[error("the prompt cannot be written to a file: {0}")]
    File(#[from] io::Error),
}

/// Puts the prompt into the row's command.
pub(super) async fn fill(
    row: &[String],
    prompt: &AgentPrompt,
    home: Option<&AgentHome>,
) -> Result<Filled, ArgumentError> {
    let text = text(prompt);
    let file = if row.iter().any(|part| part.contains(FILE_PLACE)) {
        Some(PromptFile::write(home, &text).await?)
    } else {
        None
    };
    let path = file.as_ref().map(|file| file.0.display().to_string()).unwrap_or_default();
    // Each part once: a prompt may speak of such places too.
    let filled = |part: &String| {
        if part.contains(FILE_PLACE) {
            part.replace(FILE_PLACE, &path)
        } else {
            part.replace(PLACE, &text)
        }
    };
    let command: Vec<String> = row.iter().map(filled).collect();
    match command.iter().map(|part| part.len() + 1).max() {
        Some(longest) if longest > LONGEST => Err(ArgumentError::TooLong(longest)),
        Some(_) | None => Ok(Filled { command, _file: file }),
    }
}

/// The prompt with the files it is about. No name of a file can pass for a line of the prompt.
fn text(prompt: &AgentPrompt) -> String {
    let line = |path: &PathBuf| format!("\n[attached file] {}", one_line(&path.to_string_lossy()));
    let files = prompt.attachments.iter().map(line);
    std::iter::once(prompt.text.clone()).chain(files).collect()
}

/// In the agent's own directory for what is needed for a moment.
#[derive(Debug)]
struct PromptFile(PathBuf);

impl PromptFile {
    async fn write(home: Option<&AgentHome>, text: &str) -> io::Result<Self> {
        let home = home.ok_or_else(|| io::Error::other("the agent has no home"))?;
        home.make()?;
        let (file, mut opened) = Self::create(&home.temp).await?;
        opened.write_all(text.as_bytes()).await?;
        opened.flush().await?;
        Ok(file)
    }

    /// Never through a link that the agent has put there.
    async fn create(directory: &Path) -> io::Result<(Self, tokio::fs::File)> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        for _ in 0..MOST_TAKEN {
            let number = LAST.fetch_add(1, Ordering::Relaxed);
            let path = directory.join(format!("prompt-{}-{number}.txt", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).await {
                Ok(opened) => return Ok((Self(path), opened)),
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => (),
                Err(err) => return Err(err),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Drop for PromptFile {
    fn drop(&mut self) {
        // The agent may have taken it away already.
        let _ = std::fs::remove_file(&self.0);
    }
}
