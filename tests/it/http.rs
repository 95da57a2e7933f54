//! Requests over plain HTTP. Every answer is held against the document for programs.

use crate::openapi;
use crate::support::{PATIENCE, TOKEN};
use serde_json::Value;
use std::fmt::Write;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// One request, to be completed and sent.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    method: &'static str,
    path: String,
    headers: String,
    body: Vec<u8>,
}

pub(crate) fn get(path: &str) -> Ask {
    Ask { method: "GET", path: path.to_owned(), headers: String::new(), body: Vec::new() }
}

pub(crate) fn post(path: &str, body: &Value) -> Ask {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    Ask { method: "POST", path: path.to_owned(), headers: String::new(), body }
        .header("Content-Type", "application/json")
}

/// A body of another type than JSON.
pub(crate) fn announced(path: &str, kind: &str) -> Ask {
    Ask { method: "POST", ..get(path) }.header("Content-Type", kind)
}

pub(crate) fn delete(path: &str) -> Ask {
    Ask { method: "DELETE", ..get(path) }
}

impl Ask {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        write!(self.headers, "{name}: {value}\r\n").unwrap();
        self
    }

    pub(crate) fn bearer(self, secret: &str) -> Self {
        self.header("Authorization", &format!("Bearer {secret}"))
    }

    /// As the local user.
    pub(crate) fn local(self) -> Self {
        self.bearer(TOKEN)
    }

    pub(crate) fn body(self, body: &str) -> Self {
        self.bytes(body.as_bytes())
    }

    /// A body that may be no text.
    pub(crate) fn bytes(mut self, body: &[u8]) -> Self {
        body.clone_into(&mut self.body);
        self
    }

    pub(crate) async fn send(self, addr: SocketAddr) -> Reply {
        let Self { method, path, headers, body } = self;
        let ask = async {
            let mut stream = TcpStream::connect(addr).await.unwrap();
            let (length, line) = (body.len(), encoded(&path));
            let request = format!(
                "{method} {line} HTTP/1.1\r\nHost: {addr}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            let request = [request.as_bytes(), &body].concat();
            stream.write_all(&request).await.unwrap();
            let mut response = Vec::new();
            stream.read_to_end(&mut response).await.unwrap();
            // Of pictures only the head is looked at.
            String::from_utf8_lossy(&response).into_owned()
        };
        let response = timeout(PATIENCE, ask).await.unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let reply = Reply { status, head: head.to_owned(), body: body.to_owned() };
        openapi::check(method, path.split('?').next().unwrap(), &reply);
        reply
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Reply {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|err| panic!("{err}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut named = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        named.next().map(|row| row.1.to_owned())
    }

    /// What a browser would send back.
    pub(crate) fn cookie(&self) -> Option<String> {
        self.header("set-cookie")?.split(';').next().map(str::to_owned)
    }

    /// `NG` and its code.
    #[track_caller]
    pub(crate) fn refused(&self) -> String {
        let json = self.json();
        assert_eq!(json["status"], "NG", "{json}");
        json["error"]["code"].as_str().unwrap().to_owned()
    }
}

/// As browsers do it.
pub(crate) fn encoded(path: &str) -> String {
    let mut line = String::new();
    for byte in path.bytes() {
        if byte.is_ascii() {
            line.push(char::from(byte));
        } else {
            write!(line, "%{byte:02X}").unwrap();
        }
    }
    line
}
