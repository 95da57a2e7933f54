//! One TCP connection with its permit. A peer that takes nothing for too long loses it, in plain HTTP and as
//! a WebSocket alike.

use super::admission::Permit;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// When the peer was last heard, down to single bytes: a peer in the middle of a long message is not silent,
/// although it cannot answer pings meanwhile.
#[derive(Debug, Clone, Default)]
pub(super) struct Heard(Arc<AtomicU64>);

impl Heard {
    pub(super) fn touch(&self) {
        self.0.store(millis(), Relaxed);
    }

    pub(super) fn silence(&self) -> Duration {
        Duration::from_millis(millis().saturating_sub(self.0.load(Relaxed)))
    }
}

/// Since the first use.
fn millis() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[derive(Debug)]
pub(super) struct Connection<S = TcpStream> {
    stream: S,
    heard: Heard,
    patience: Duration,
    /// Runs while the peer's side is full.
    stalled: Option<Pin<Box<Sleep>>>,
    _permit: Option<Permit>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, permit: Permit, patience: Duration) -> Self {
        Self { stream, heard: Heard::default(), patience, stalled: None, _permit: Some(permit) }
    }

    pub(super) fn heard(&self) -> Heard {
        self.heard.clone()
    }

    /// Waits for it and leaves it to be read; `None` if the peer has nothing to say.
    pub(super) async fn first_byte(&self) -> io::Result<Option<u8>> {
        let mut first = [0];
        let read = self.stream.peek(&mut first).await?;
        Ok((read > 0).then_some(first[0]))
    }
}

impl<S: AsyncWrite + Unpin> Connection<S> {
    /// Lets progress pass, and turns a standstill into an error.
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            // A peer that makes room again is alive; while it was full, nobody could ask it.
            if self.stalled.take().is_some() {
                self.heard.touch();
            }
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.heard.touch();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    fn connection<S>(stream: S) -> Connection<S> {
        Connection {
            stream,
            heard: Heard::default(),
            patience: Duration::from_secs(5),
            stalled: None,
            _permit: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_given_up() {
        let (ours, _theirs) = duplex(4);
        let err = connection(ours).write_all(b"too much").await.unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_peer_that_goes_on_is_kept() {
        let (ours, mut theirs) = duplex(1);
        let reader = async {
            for _ in 0..8 {
                sleep(Duration::from_secs(4)).await;
                theirs.read_u8().await.unwrap();
            }
        };
        let mut ours = connection(ours);
        let (written, ()) = tokio::join!(ours.write_all(b"slow but"), reader);
        written.unwrap();
    }
}
