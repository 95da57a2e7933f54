//! Cuts what a program writes into lines of limited length.

use bytes::{Bytes, BytesMut};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

const READ_SIZE: usize = 64 * 1024;

/// Lines of one pipe.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    pipe: R,
    bytes: BytesMut,
    /// So many bytes at the beginning hold no line end.
    searched: usize,
    longest: usize,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error("a line is longer than {} MiB", .longest / (1024 * 1024))]
    TooLong { longest: usize },
    #[error("the output cannot be read: {0}")]
    Read(#[source] io::Error),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(pipe: R, longest: usize) -> Self {
        Self { pipe, bytes: BytesMut::new(), searched: 0, longest }
    }

    /// What was read already is lost.
    pub(crate) fn into_pipe(self) -> R {
        self.pipe
    }

    /// The next line without its end; `None`: the pipe is closed. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, LineError> {
        loop {
            if let Some(line) = self.take() {
                return Ok(Some(line));
            }
            if self.bytes.len() > self.longest {
                return Err(LineError::TooLong { longest: self.longest });
            }
            self.bytes.reserve(READ_SIZE);
            if self.pipe.read_buf(&mut self.bytes).await.map_err(LineError::Read)? == 0 {
                return Ok(None);
            }
        }
    }

    fn take(&mut self) -> Option<Bytes> {
        let end = self.bytes[self.searched..].iter().position(|&byte| byte == b'\n');
        let Some(end) = end else {
            self.searched = self.bytes.len();
            return None;
        };
        let mut line = self.bytes.split_to(self.searched + end + 1);
        self.searched = 0;
        line.truncate(line.len() - 1);
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        Some(line.freeze())
    }

    /// Passes over the beginning of a line that is too long.
    pub(crate) fn discard(&mut self) {
        self.bytes.clear();
        self.searched = 0;
    }

    /// What came after the last line end.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_one_by_one_and_a_rest_is_told() {
        let mut lines = Lines::new(&b"a\r\n\nbc\nrest"[..], 100);
        for expected in ["a", "", "bc"] {
            assert_eq!(lines.next().await.unwrap().unwrap(), expected);
        }
        assert!(lines.next().await.unwrap().is_none());
        assert_eq!(lines.rest(), b"rest");
    }

    #[tokio::test]
    async fn a_line_without_end_is_refused() {
        let text = vec![b'x'; 3 * READ_SIZE];
        let mut lines = Lines::new(&text[..], READ_SIZE);
        assert!(matches!(lines.next().await, Err(LineError::TooLong { .. })));
    }
}
