//! One TCP connection with its permit. A write that makes no progress for too long fails, both in plain HTTP and on a
//! WebSocket.

use super::admission::Permit;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// Whether bytes of the peer arrive, and how many more bytes it may send. Bytes count, not messages: a peer in the
/// middle of a long message is alive, although it cannot answer pings until the message is sent.
#[derive(Debug, Clone, Default)]
pub(super) struct PeerActivity(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    /// Set by every byte of the peer.
    heard: AtomicBool,
    /// How many more bytes may be read; 0 means any number, and [`SPENT`] none.
    allowance: AtomicU64,
    /// The client's own address, also behind a proxy.
    client: Mutex<Option<IpAddr>>,
}

const SPENT: u64 = u64::MAX;

impl PeerActivity {
    /// Who sends the current request. A proxy may send requests of several clients over one connection.
    pub(super) fn set_client(&self, address: IpAddr) {
        *self.0.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
    }

    pub(super) fn client(&self) -> Option<IpAddr> {
        *self.0.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn touch(&self) {
        self.0.heard.store(true, Relaxed);
    }

    /// Whether the peer has sent anything since the last call.
    pub(super) fn was_heard(&self) -> bool {
        self.0.heard.swap(false, Relaxed)
    }

    /// Limits how many more bytes are read. Until the peer is authenticated, its messages must not fill the memory.
    pub(super) fn limit_bytes(&self, bytes: usize) {
        self.0.allowance.store(u64::try_from(bytes).unwrap_or(SPENT - 1).max(1), Relaxed);
    }

    /// Lifts the limit of [`PeerActivity::limit_bytes`].
    pub(super) fn lift_limit(&self) {
        self.0.allowance.store(0, Relaxed);
    }

    /// The load and the store need not be one atomic step: the task that reads this connection is also the one that
    /// changes the allowance.
    fn on_bytes(&self, bytes: usize) -> io::Result<()> {
        self.touch();
        match self.0.allowance.load(Relaxed) {
            0 => Ok(()),
            SPENT => Err(io::ErrorKind::QuotaExceeded.into()),
            left => {
                let left = left.saturating_sub(u64::try_from(bytes).unwrap_or(SPENT));
                self.0.allowance.store(if left == 0 { SPENT } else { left }, Relaxed);
                Ok(())
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Connection<S = TcpStream> {
    stream: S,
    activity: PeerActivity,
    write_timeout: Duration,
    /// The write timeout; it runs while the send buffer is full.
    stalled: Option<Pin<Box<Sleep>>>,
    _permit: Option<Permit>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, permit: Permit, write_timeout: Duration) -> Self {
        Self {
            stream,
            activity: PeerActivity::default(),
            write_timeout,
            stalled: None,
            _permit: Some(permit),
        }
    }

    pub(super) fn activity(&self) -> PeerActivity {
        self.activity.clone()
    }

    /// Waits for the first byte without consuming it; `None` if the peer closes without sending.
    pub(super) async fn first_byte(&self) -> io::Result<Option<u8>> {
        let mut first = [0];
        let read = self.stream.peek(&mut first).await?;
        Ok((read > 0).then_some(first[0]))
    }
}

impl<S: AsyncWrite + Unpin> Connection<S> {
    /// Passes progress through; a write that is stalled for longer than `write_timeout` becomes an error.
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            // A peer that reads again is alive; while its buffer was full, no ping could reach it.
            if self.stalled.take().is_some() {
                self.activity.touch();
            }
            return written;
        }
        let write_timeout = self.write_timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(write_timeout)));
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
        let bytes = buf.filled().len() - before;
        if bytes > 0 {
            self.activity.on_bytes(bytes)?;
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
            activity: PeerActivity::default(),
            write_timeout: Duration::from_secs(5),
            stalled: None,
            _permit: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_without_progress_times_out() {
        let (ours, _theirs) = duplex(4);
        let err = connection(ours).write_all(b"too much").await.unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn an_unauthenticated_peer_may_send_a_limited_number_of_bytes() {
        let (ours, mut theirs) = duplex(64);
        let mut ours = connection(ours);
        let activity = ours.activity.clone();
        activity.limit_bytes(8);
        let mut buffer = [0; 8];
        theirs.write_all(b"12345678").await.unwrap();
        ours.read_exact(&mut buffer).await.unwrap();
        theirs.write_all(b"9").await.unwrap();
        let refused = ours.read_exact(&mut buffer[..1]).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::QuotaExceeded);
        activity.lift_limit();
        theirs.write_all(b"12345678").await.unwrap();
        ours.read_exact(&mut buffer).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_peer_that_keeps_reading_stays_connected() {
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
