//! A client that does as little as possible: frames made once, answers only looked at where it matters.

use crate::server::Server;
use crate::wire;
use std::io::{ErrorKind, Read};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    inbox: Inbox,
}

/// What has come and was not taken yet.
#[derive(Debug)]
pub(crate) struct Inbox {
    buffer: Vec<u8>,
    filled: usize,
}

impl Client {
    /// Opens a socket; on a gateway it becomes the `socket` of the session, or of a new one.
    pub(crate) async fn connect(server: &Server, socket: &str, session: Option<&str>) -> Self {
        let (client, _) = Self::join(server, socket, session).await;
        client
    }

    /// The same with further keys in the first packet, each with its comma.
    pub(crate) async fn connect_with(
        server: &Server,
        socket: &str,
        session: Option<&str>,
        more: &str,
    ) -> Self {
        Self::join_with(server, socket, session, more).await.0
    }

    /// The same, and the id of the session; empty on an echo.
    pub(crate) async fn join(
        server: &Server,
        socket: &str,
        session: Option<&str>,
    ) -> (Self, String) {
        Self::join_with(server, socket, session, "").await
    }

    async fn join_with(
        server: &Server,
        socket: &str,
        session: Option<&str>,
        more: &str,
    ) -> (Self, String) {
        let stream = TcpStream::connect(server.addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut client = Self { stream, inbox: Inbox::new() };
        client.upgrade(server, wire::PATH).await;
        if !server.is_gateway {
            return (client, String::new());
        }
        client.send(&frame(&wire::connect(socket, session, more))).await;
        let id = wire::session_id(&client.receive_text().await);
        (client, id)
    }

    /// A client of the core/UI interface with a session of its own.
    pub(crate) async fn core_ui(server: &Server, query: &str) -> Self {
        let stream = TcpStream::connect(server.addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut client = Self { stream, inbox: Inbox::new() };
        client.upgrade(server, &format!("/core-ui/ws?{query}")).await;
        client.receive_text_with("connected").await;
        client
    }

    /// A page of the agent UI, with a conversation of its own.
    pub(crate) async fn smol(server: &Server) -> Self {
        let stream = TcpStream::connect(server.addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut client = Self { stream, inbox: Inbox::new() };
        client.upgrade(server, "/ws?conversation=new").await;
        client.receive_text_with("history_end").await;
        client
    }

    /// A client of the data analyst, with a session that has this table.
    pub(crate) async fn analyst(server: &Server, table: &str) -> Self {
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        let token = server.token().unwrap_or_default();
        let request = format!(
            "POST /analyst/upload?name=sales.csv HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{table}",
            server.addr,
            table.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let at = answer.find("\"session\":\"").unwrap_or_else(|| panic!("{answer}"));
        let session: String = answer[at + 11..].chars().take_while(|c| *c != '"').collect();
        let stream = TcpStream::connect(server.addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut client = Self { stream, inbox: Inbox::new() };
        client.upgrade(server, &format!("/analyst/ws?session={session}")).await;
        client.receive_text_with("dataset_info").await;
        client
    }

    async fn upgrade(&mut self, server: &Server, path: &str) {
        let token = server
            .token()
            .map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\n{token}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            path, server.addr
        );
        self.stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(self.stream.read_u8().await.unwrap());
        }
        assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
    }

    pub(crate) async fn send(&mut self, frame: &[u8]) {
        self.stream.write_all(frame).await.unwrap();
    }

    /// Sends `frame` so many times with at most `window` unanswered, and takes all answers.
    pub(crate) async fn talk(mut self, frame: &[u8], count: usize, window: usize) -> Self {
        let mut sent = 0;
        while sent < window.min(count) {
            self.send(frame).await;
            sent += 1;
        }
        for _ in 0..count {
            self.receive().await;
            if sent < count {
                self.send(frame).await;
                sent += 1;
            }
        }
        self
    }

    /// For who reads and writes without a runtime.
    pub(crate) fn into_parts(self) -> (std::net::TcpStream, Inbox) {
        (self.stream.into_std().unwrap(), self.inbox)
    }

    pub(crate) fn from_parts(stream: std::net::TcpStream, inbox: Inbox) -> Self {
        Self { stream: TcpStream::from_std(stream).unwrap(), inbox }
    }

    /// Takes one text and drops it.
    pub(crate) async fn receive(&mut self) {
        self.fill_until_text().await;
        self.inbox.take_frame();
    }

    pub(crate) async fn receive_text(&mut self) -> String {
        let length = self.fill_until_text().await;
        let header = header(&self.inbox.buffer).0;
        let text = String::from_utf8(self.inbox.buffer[header..length].to_vec()).unwrap();
        self.inbox.take_frame();
        text
    }

    /// Passes over texts until one with this in it.
    pub(crate) async fn receive_text_with(&mut self, part: &str) {
        while !self.receive_text().await.contains(part) {}
    }

    /// Passes over texts until one of this kind, and tells how many there were before it.
    pub(crate) async fn receive_kind(&mut self, kind: &str) -> (String, usize) {
        let wanted = wire::kind(kind);
        for before in 0.. {
            let text = self.receive_text().await;
            if text.contains(&wanted) {
                return (text, before);
            }
        }
        unreachable!("texts are counted without an end")
    }

    /// Length of the first frame with its header, once it is a whole text; pings are passed over.
    async fn fill_until_text(&mut self) -> usize {
        loop {
            self.inbox.drop_pings();
            if let Some(length) = whole(&self.inbox.buffer[..self.inbox.filled]) {
                return length;
            }
            let read = self.stream.read(self.inbox.room()).await;
            self.inbox.filled += checked(read);
        }
    }
}

impl Inbox {
    fn new() -> Self {
        Self { buffer: vec![0; 16 * 1024], filled: 0 }
    }

    /// Takes what the stream has at this moment.
    pub(crate) fn read_from(&mut self, stream: &mut std::net::TcpStream) {
        let read = stream.read(self.room());
        if !matches!(&read, Err(err) if err.kind() == ErrorKind::WouldBlock) {
            self.filled += checked(read);
        }
    }

    fn room(&mut self) -> &mut [u8] {
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.filled * 2, 0);
        }
        &mut self.buffer[self.filled..]
    }

    /// Takes the first text out of the buffer if it is complete.
    pub(crate) fn take_frame(&mut self) -> Option<()> {
        self.drop_pings();
        let length = whole(&self.buffer[..self.filled])?;
        self.drop_first(length);
        Some(())
    }

    fn drop_pings(&mut self) {
        while self.filled > 0
            && self.buffer[0] & 0x0f != 1
            && let Some(length) = whole(&self.buffer[..self.filled])
        {
            assert_ne!(self.buffer[0] & 0x0f, 8, "the server has closed");
            self.drop_first(length);
        }
    }

    fn drop_first(&mut self, length: usize) {
        self.buffer.copy_within(length..self.filled, 0);
        self.filled -= length;
    }
}

fn checked(read: std::io::Result<usize>) -> usize {
    let read = read.unwrap();
    assert!(read > 0, "the server has closed");
    read
}

/// Length of the first frame with its header, once it is complete.
fn whole(bytes: &[u8]) -> Option<usize> {
    let needed = match bytes.get(1)? & 0x7f {
        126 => 4,
        127 => 10,
        _ => 2,
    };
    if bytes.len() < needed {
        return None;
    }
    let (header, payload) = header(bytes);
    (bytes.len() >= header + payload).then_some(header + payload)
}

/// Lengths of a server's frame: header and payload.
fn header(bytes: &[u8]) -> (usize, usize) {
    let number = |range: std::ops::Range<usize>| {
        bytes[range].iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    match bytes[1] & 0x7f {
        126 => (4, number(2..4)),
        127 => (10, number(2..10)),
        short => (2, usize::from(short)),
    }
}

/// A masked text frame; the mask is zero, which spares the client the work and the server none.
pub(crate) fn frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81];
    match u16::try_from(text.len()) {
        Ok(length) if length < 126 => frame.push(0x80 | length as u8),
        Ok(length) => {
            frame.push(0x80 | 126);
            frame.extend(length.to_be_bytes());
        }
        Err(_) => {
            frame.push(0x80 | 127);
            frame.extend((text.len() as u64).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    frame
}
