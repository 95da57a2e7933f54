//! Frames between the gateway and the parent in the closed view: four bytes of length, JSON, and bytes that follow it.
//! What comes from there is bounded and believed to be about the workspace only.

use serde::{Deserialize, Serialize};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const LONGEST_HEADER: usize = 64 * 1024;
/// A file is the longest of what may follow.
pub(super) const LONGEST_BYTES: usize = 64 * 1024 * 1024;

/// What the parent is to do.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Request<'a> {
    Describe { name: &'a str },
    Run { code: &'a str, keep: bool },
}

/// The first frame: whom the parent works for, and what its children are held to.
#[derive(Debug, Serialize)]
pub(super) struct Hello<'a> {
    /// `struct sock_filter` for children, in hexadecimal digits.
    pub(super) filter: String,
    pub(super) landlock: u8,
    pub(super) readable: &'a [String],
    pub(super) files: Vec<&'a str>,
    pub(super) chosen: Option<&'a str>,
    /// Of processor time of one action.
    pub(super) seconds: u64,
    pub(super) output: usize,
    pub(super) outputs: usize,
    pub(super) output_size: u64,
    pub(super) output_total: u64,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Told {
    Ready,
    /// What the code says, as it says it.
    Output,
    /// The end of what it said, after so many bytes that are left out.
    Tail {
        cut: u64,
    },
    File {
        name: String,
    },
    Described {
        status: Status,
    },
    Done {
        status: Status,
        skipped: Vec<(String, String)>,
    },
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Status {
    #[serde(rename = "S")]
    Success,
    #[serde(rename = "E")]
    Failed,
    #[serde(rename = "M")]
    Memory,
    #[serde(rename = "D")]
    Disk,
    #[serde(rename = "K")]
    Killed,
}

#[derive(Deserialize)]
struct Header {
    bytes: usize,
    #[serde(flatten)]
    told: Told,
}

pub(super) async fn write(
    pipe: &mut (impl AsyncWrite + Unpin),
    frame: &impl Serialize,
) -> io::Result<()> {
    let text = serde_json::to_vec(frame)?;
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    pipe.write_all(&length.to_be_bytes()).await?;
    pipe.write_all(&text).await?;
    pipe.flush().await
}

/// A frame that is cut off is lost when the future is dropped; then the other side has to be ended.
pub(super) async fn read(pipe: &mut (impl AsyncRead + Unpin)) -> io::Result<(Told, Vec<u8>)> {
    let length = usize::try_from(pipe.read_u32().await?).unwrap_or(usize::MAX);
    let text = exactly(pipe, length, LONGEST_HEADER).await?;
    let header: Header = serde_json::from_slice(&text)?;
    let bytes = exactly(pipe, header.bytes, LONGEST_BYTES).await?;
    Ok((header.told, bytes))
}

async fn exactly(
    pipe: &mut (impl AsyncRead + Unpin),
    length: usize,
    most: usize,
) -> io::Result<Vec<u8>> {
    if length > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"));
    }
    // What is promised takes memory only as it comes.
    let mut bytes = Vec::new();
    let limit = u64::try_from(length).unwrap_or(u64::MAX);
    pipe.take(limit).read_to_end(&mut bytes).await?;
    if bytes.len() < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(header: &str, bytes: &[u8]) -> Vec<u8> {
        let length = u32::try_from(header.len()).unwrap().to_be_bytes();
        [&length[..], header.as_bytes(), bytes].concat()
    }

    #[tokio::test]
    async fn frames_are_read_one_by_one() {
        let file = framed(r#"{"kind": "file", "bytes": 2, "name": "a"}"#, b"xy");
        let all = [file, framed(r#"{"kind": "ready", "bytes": 0}"#, b"")].concat();
        let mut pipe = all.as_slice();
        let (told, bytes) = read(&mut pipe).await.unwrap();
        assert!(matches!(told, Told::File { name } if name == "a"));
        assert_eq!(bytes, b"xy");
        assert!(matches!(read(&mut pipe).await.unwrap().0, Told::Ready));
        assert!(read(&mut pipe).await.is_err());
    }

    #[tokio::test]
    async fn nonsense_and_what_is_too_long_is_refused() {
        for bad in [
            framed(r#"{"kind": "file", "bytes": 99999999999, "name": "a"}"#, b""),
            framed(r#"{"kind": "file", "bytes": 9, "name": "a"}"#, b"short"),
            framed(r#"{"kind": "other", "bytes": 0}"#, b""),
            framed("{", b""),
            vec![0xff; 4],
            vec![0],
        ] {
            assert!(read(&mut bad.as_slice()).await.is_err(), "{bad:?}");
        }
    }
}
