//! The server of a chat model, on a free port: takes requests down and answers as a script says, byte by byte. It knows
//! nothing of vendors; what it says is what they were seen to say.

use kakehashi::provider::chat::{self, ChatConfig, ChatOutput, ChatRequest, ChatTurn, Client};
use kakehashi::provider::row::{ChatKey, ChatKind, ChatModel, Secret};
use serde_json::Value;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::sleep;

pub(crate) const VARIABLE: &str = "TEST_MODEL_KEY";
pub(crate) const KEY: &str = "sk-test-0123456789";

type Script = dyn Fn(&Asked) -> Reply + Send + Sync;

#[derive(Debug, Clone)]
pub(crate) struct ModelServer {
    pub(crate) addr: SocketAddr,
    seen: Arc<Mutex<Vec<Asked>>>,
    /// One permit for each connection that the client closed while it was still being answered.
    left: Arc<Semaphore>,
    connections: Arc<Semaphore>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The key is in this header and nowhere else.
    #[track_caller]
    pub(crate) fn assert_key_only_in(&self, name: &str, value: &str) {
        assert_eq!(self.header(name), Some(value));
        let others = self.headers.iter().filter(|(known, _)| known != name);
        let others: String = others.map(|(name, value)| format!("{name}: {value}\n")).collect();
        let rest = format!("{}\n{others}{}", self.line, self.body);
        assert!(!rest.contains(KEY), "{rest}");
    }
}

/// One answer to one request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    steps: Vec<Step>,
}

#[derive(Debug, Clone)]
enum Step {
    Say(Vec<u8>),
    Wait(Duration),
    /// Says nothing more and waits until the client leaves.
    Hang,
    /// Closes the connection.
    Cut,
}

impl Reply {
    /// Events as they are written here, in pieces of 7 bytes so that nothing arrives whole.
    pub(crate) fn events(text: &str) -> Self {
        Self::begin("text/event-stream; charset=utf-8").pieces(text).end()
    }

    /// The head of a stream whose pieces follow.
    pub(crate) fn begin(form: &str) -> Self {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {form}\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        Self::default().raw(head.as_bytes())
    }

    pub(crate) fn pieces(self, text: &str) -> Self {
        text.as_bytes().chunks(7).fold(self, Self::piece)
    }

    pub(crate) fn piece(self, bytes: &[u8]) -> Self {
        let head = format!("{:x}\r\n", bytes.len());
        self.raw(&[head.as_bytes(), bytes, b"\r\n"].concat())
    }

    pub(crate) fn end(self) -> Self {
        self.raw(b"0\r\n\r\n")
    }

    /// A whole answer.
    pub(crate) fn plain(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        let text = format!(
            "HTTP/1.1 {status} Some Reason\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        Self::default().raw(text.as_bytes())
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::plain(status, "Content-Type: application/json\r\n", &body.to_string())
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.steps.push(Step::Say(bytes.to_vec()));
        self
    }

    pub(crate) fn wait(mut self, time: Duration) -> Self {
        self.steps.push(Step::Wait(time));
        self
    }

    pub(crate) fn hang(mut self) -> Self {
        self.steps.push(Step::Hang);
        self
    }

    pub(crate) fn cut(mut self) -> Self {
        self.steps.push(Step::Cut);
        self
    }
}

impl ModelServer {
    /// Answers one request after the other; further ones get the last reply again.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies = Mutex::new(replies.into_iter().collect::<VecDeque<_>>());
        Self::answering(move |_| {
            let mut replies = replies.lock().unwrap();
            let next =
                if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() };
            next.unwrap()
        })
        .await
    }

    /// Answers what the script says to each request.
    pub(crate) async fn answering(
        script: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            addr: listener.local_addr().unwrap(),
            seen: Arc::default(),
            left: Arc::new(Semaphore::new(0)),
            connections: Arc::new(Semaphore::new(0)),
        };
        let script: Arc<Script> = Arc::new(script);
        let accepting = server.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                accepting.connections.add_permits(1);
                let (server, script) = (accepting.clone(), Arc::clone(&script));
                tokio::spawn(async move { server.serve(socket, &*script).await });
            }
        });
        server
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.seen.lock().unwrap().clone()
    }

    #[track_caller]
    pub(crate) fn only_request(&self) -> Asked {
        let asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked[0].clone()
    }

    /// How often somebody connected.
    pub(crate) fn connections(&self) -> usize {
        self.connections.available_permits()
    }

    /// The client has closed a connection in the middle of an answer.
    pub(crate) async fn left(&self) {
        self.left.acquire().await.unwrap().forget();
    }

    pub(crate) fn model(&self, kind: ChatKind, path: &str) -> ChatModel {
        ChatModel {
            name: "test".to_owned(),
            label: "Test".to_owned(),
            kind,
            base_url: format!("http://{}{path}", self.addr),
            model: "some-model".to_owned(),
            key: Some(ChatKey { variable: VARIABLE.to_owned(), secret: Some(Secret::new(KEY)) }),
            context_tokens: None,
            max_output_tokens: None,
            images: true,
            image_output: false,
            tools: true,
            patience: None,
        }
    }

    async fn serve(&self, socket: TcpStream, script: &Script) {
        // Small pieces must not wait for each other: that would be real time, of which tests with a paused clock have none.
        socket.set_nodelay(true).unwrap();
        let mut socket = BufReader::new(socket);
        while let Some(asked) = read(&mut socket).await {
            let reply = script(&asked);
            self.seen.lock().unwrap().push(asked);
            for step in reply.steps {
                match step {
                    Step::Say(bytes) => {
                        if socket.write_all(&bytes).await.is_err() {
                            return self.left.add_permits(1);
                        }
                    }
                    Step::Wait(time) => sleep(time).await,
                    Step::Hang => {
                        let _ = socket.read_u8().await;
                        return self.left.add_permits(1);
                    }
                    Step::Cut => return,
                }
            }
        }
    }
}

async fn read(socket: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if socket.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        lines.push(line.to_owned());
    }
    let split = |line: &String| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_ascii_lowercase(), value.to_owned())
    };
    let mut asked = Asked {
        line: lines[0].clone(),
        headers: lines[1..].iter().map(split).collect(),
        body: Value::Null,
    };
    let length = asked.header("content-length").map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.ok()?;
    if !body.is_empty() {
        asked.body = serde_json::from_slice(&body).unwrap();
    }
    Some(asked)
}

pub(crate) fn ask(model: ChatModel, request: ChatRequest) -> ChatTurn {
    let config = ChatConfig::Remote { model: Arc::new(model), client: Client::new() };
    chat::ask(&config, request)
}

/// The whole answer.
pub(crate) async fn answer(model: ChatModel, request: ChatRequest) -> Vec<ChatOutput> {
    rest(ask(model, request)).await
}

pub(crate) async fn rest(mut turn: ChatTurn) -> Vec<ChatOutput> {
    let mut outputs = Vec::new();
    while let Some(output) = turn.output.recv().await {
        outputs.push(output);
    }
    outputs
}

pub(crate) fn saying(text: &str) -> ChatRequest {
    ChatRequest { text: text.to_owned(), ..ChatRequest::default() }
}

pub(crate) fn delta(text: &str) -> ChatOutput {
    ChatOutput::Delta(text.to_owned())
}

/// Of all pieces of text together.
pub(crate) fn text(outputs: &[ChatOutput]) -> String {
    let piece = |output: &ChatOutput| match output {
        ChatOutput::Delta(text) => Some(text.clone()),
        ChatOutput::ToolCall(_)
        | ChatOutput::Image { .. }
        | ChatOutput::Usage(_)
        | ChatOutput::Done { .. }
        | ChatOutput::Failed(_) => None,
    };
    outputs.iter().filter_map(piece).collect()
}
