//! Cuts a byte stream into lines. Nothing is lost: too long lines are split, broken UTF-8 is shown as such.

use super::super::AgentOutput;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

/// A longer line is passed on in pieces of this size.
const LONGEST_LINE: usize = 64 * 1024;
const READ_SIZE: usize = 16 * 1024;

/// Nobody receives the lines any more.
#[derive(Debug)]
pub(super) struct Closed;

/// Sends every line until the pipe is at its end; an unreadable pipe counts as ended.
pub(super) async fn forward(
    pipe: Option<impl AsyncRead + Unpin>,
    output: &mpsc::Sender<AgentOutput>,
) -> Result<(), Closed> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    let mut waiting = Vec::with_capacity(READ_SIZE);
    loop {
        waiting.reserve(READ_SIZE);
        let searched = waiting.len();
        let ended = !matches!(pipe.read_buf(&mut waiting).await, Ok(1..));
        let mut start = 0;
        while let Some(line) = next_line(&waiting[start..], searched.saturating_sub(start)) {
            send(output, line.text).await?;
            start += line.used;
        }
        waiting.drain(..start);
        if ended {
            return if waiting.is_empty() { Ok(()) } else { send(output, &waiting).await };
        }
    }
}

struct Line<'a> {
    text: &'a [u8],
    used: usize,
}

/// The first `searched` bytes are known to contain no line end.
fn next_line(bytes: &[u8], searched: usize) -> Option<Line<'_>> {
    let end = bytes.iter().skip(searched).position(|&byte| byte == b'\n').map(|at| at + searched);
    match end {
        Some(end) if end <= LONGEST_LINE => {
            let text = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
            Some(Line { text, used: end + 1 })
        }
        _ if bytes.len() > LONGEST_LINE => {
            let used = character_border(bytes, LONGEST_LINE);
            Some(Line { text: &bytes[..used], used })
        }
        _ => None,
    }
}

/// The last place up to `limit` that does not cut a UTF-8 character; `limit` itself if this is no UTF-8.
fn character_border(bytes: &[u8], limit: usize) -> usize {
    let is_border = |at: &usize| bytes[*at] & 0xC0 != 0x80;
    (limit.saturating_sub(3)..=limit).rev().find(is_border).unwrap_or(limit)
}

async fn send(output: &mpsc::Sender<AgentOutput>, text: &[u8]) -> Result<(), Closed> {
    let line = String::from_utf8_lossy(text).into_owned();
    output.send(AgentOutput::Line(line)).await.map_err(|_| Closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_lose_their_ends() {
        assert_eq!(split(b"a\nb\r\n\nc").await, ["a", "b", "", "c"]);
        assert_eq!(split(b"").await, Vec::<String>::new());
    }

    #[tokio::test]
    async fn broken_text_is_shown_as_broken() {
        assert_eq!(split(b"a\xFFb\n").await, ["a\u{FFFD}b"]);
    }

    #[tokio::test]
    async fn long_line_is_split_between_characters() {
        let text = "x".to_owned() + &"\u{3042}".repeat(70_000);
        let pieces = split(format!("{text}\nend").as_bytes()).await;
        assert!(pieces.iter().all(|piece| piece.len() <= LONGEST_LINE));
        assert_eq!(pieces[..pieces.len() - 1].concat(), text);
        assert_eq!(pieces.last().map(String::as_str), Some("end"));
    }

    #[tokio::test]
    async fn long_binary_line_is_split_anyway() {
        let pieces = split(&[0x80; 3 * LONGEST_LINE]).await;
        assert_eq!(pieces.concat().chars().count(), 3 * LONGEST_LINE);
    }

    #[tokio::test]
    async fn line_of_exactly_the_limit_stays_whole() {
        let line = "y".repeat(LONGEST_LINE);
        assert_eq!(split(format!("{line}\n{line}\nz\n").as_bytes()).await, [&line, &line, "z"]);
    }

    async fn split(bytes: &[u8]) -> Vec<String> {
        let (output, mut lines) = mpsc::channel(64);
        forward(Some(bytes), &output).await.unwrap();
        drop(output);
        let mut found = Vec::new();
        while let Some(AgentOutput::Line(line)) = lines.recv().await {
            found.push(line);
        }
        found
    }
}
