//! A model server that speaks chat completions and answers at once, and what it takes to ask it directly.

use crate::server::Server;
use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const ANSWER: &str = concat!(
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"hello\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
);

pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening on http://{}/", listener.local_addr().unwrap());
        let app = Router::new().route("/v1/chat/completions", post(answer));
        let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, app).await.unwrap();
    });
}

async fn answer(_question: String) -> Response {
    ([(CONTENT_TYPE, "text/event-stream")], Body::from(ANSWER)).into_response()
}

/// From a question to the first of its answer, over a connection that is kept.
pub(crate) struct Direct {
    stream: TcpStream,
    request: String,
}

impl Direct {
    pub(crate) async fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let body =
            r#"{"model":"bench","stream":true,"messages":[{"role":"user","content":"hello"}]}"#;
        let (length, addr) = (body.len(), server.addr);
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {addr}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        Self { stream, request }
    }

    pub(crate) async fn first_token(&mut self) -> Duration {
        let begun = Instant::now();
        self.stream.write_all(self.request.as_bytes()).await.unwrap();
        let (mut heard, mut piece, mut first) = (String::new(), [0; 4096], None);
        while !heard.contains("[DONE]") {
            let read = self.stream.read(&mut piece).await.unwrap();
            assert!(read > 0, "the model server is gone");
            heard.push_str(&String::from_utf8_lossy(&piece[..read]));
            if first.is_none() && heard.contains("hello") {
                first = Some(begun.elapsed());
            }
        }
        first.unwrap()
    }
}
