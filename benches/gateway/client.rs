//! A client that does as little as possible: one frame made once, answers only counted.
#![expect(clippy::non_ascii_literal, reason = "frames of the packet dialect")]

use crate::server::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PATH: &str = "/core/ws/AI%E3%82%B3%E3%82%A2";

#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
    /// One microphone packet as it goes over the network.
    packet: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(server: &Server, pcm_bytes: usize) -> Self {
        let stream = TcpStream::connect(server.addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let samples: Vec<u8> = (0..pcm_bytes).map(|index| (index * 7 % 251) as u8).collect();
        let pcm = base64_simd::STANDARD.encode_to_string(samples);
        let packet = frame(&format!(
            r#"{{"セッションID":"ws-00000000000000000000000000000000","チャンネル":"audio","メッセージ識別":"input_audio","メッセージ内容":"audio/pcm;rate=24000","ファイル名":"{pcm}","サムネイル画像":null}}"#
        ));
        let mut client = Self { stream, buffer: vec![0; 64 * 1024], filled: 0, packet };
        client.upgrade(server).await;
        if server.is_gateway {
            let connect = frame(r#"{"type":"connect","セッションID":null,"ソケット番号":"audio"}"#);
            client.stream.write_all(&connect).await.unwrap();
            client.receive().await;
        }
        client
    }

    async fn upgrade(&mut self, server: &Server) {
        let request = format!(
            "GET {PATH} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            server.addr
        );
        self.stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(self.stream.read_u8().await.unwrap());
        }
        assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
    }

    /// Sends `count` packets with at most `window` unanswered, and takes all answers.
    pub(crate) async fn talk(mut self, count: usize, window: usize) {
        let mut sent = 0;
        while sent < window.min(count) {
            self.stream.write_all(&self.packet).await.unwrap();
            sent += 1;
        }
        for _ in 0..count {
            self.receive().await;
            if sent < count {
                self.stream.write_all(&self.packet).await.unwrap();
                sent += 1;
            }
        }
    }

    /// Takes one text frame and drops it; pings are passed over.
    async fn receive(&mut self) {
        loop {
            if let Some((is_text, length)) = whole_frame(&self.buffer[..self.filled]) {
                self.buffer.copy_within(length..self.filled, 0);
                self.filled -= length;
                if is_text {
                    return;
                }
                continue;
            }
            let read = self.stream.read(&mut self.buffer[self.filled..]).await.unwrap();
            assert!(read > 0, "the server has closed");
            self.filled += read;
        }
    }
}

/// Whether the first frame is a text, and its length with its header, once it is complete.
fn whole_frame(bytes: &[u8]) -> Option<(bool, usize)> {
    let short = usize::from(bytes.get(1)? & 0x7f);
    let (header, payload) = match short {
        126 => (4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
        127 => (10, usize::try_from(u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?)).ok()?),
        short => (2, short),
    };
    (bytes.len() >= header + payload).then_some((bytes[0] & 0x0f == 1, header + payload))
}

/// A masked text frame; the mask is zero, which spares the client the work and the server none.
fn frame(text: &str) -> Vec<u8> {
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
