//! A gateway on a free port, and the sockets of a frontend as they speak to it.

use crate::client::{self, Aicore};
use kakehashi::config::Config;
use kakehashi::message::WorkplaceChoice;
use kakehashi::server;
use serde_json::{Value, json};
use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

pub(crate) const KIND: &str = "メッセージ識別";
pub(crate) const BODY: &str = "メッセージ内容";
pub(crate) const CHANNEL: &str = "チャンネル";
pub(crate) const SESSION: &str = "セッションID";
pub(crate) const SEQ: &str = "連番";
pub(crate) const EPOCH: &str = "世代";
pub(crate) const RESUMED: &str = "再開";
pub(crate) const CODE: &str = "コード";
pub(crate) const REQUEST: &str = "要求番号";

/// Percent-encoded as browsers send it.
pub(crate) const SOCKET_PATH: &str = "/core/ws/AI%E3%82%B3%E3%82%A2";

/// What the file `token` of every [`Home`] says.
pub(crate) const TOKEN: &str = "token-of-a-test-0123456789abcdef-0123456789";

/// Long enough for a loaded machine; nothing waits this long unless it is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The directories of a gateway; they outlive it, so that it can be started again.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) project: TempDir,
    pub(crate) data: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap())
    }

    pub(crate) fn at(project: TempDir, data: TempDir) -> Self {
        let home = Self { project, data };
        let file = home.data.path().join("token");
        std::fs::write(&file, TOKEN).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        home
    }
}

/// A gateway within this process.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) addr: SocketAddr,
    pub(crate) home: Arc<Home>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Gateway {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| ()).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        Self::start_at(Arc::new(Home::new()), change).await
    }

    /// In a project without git agents work in the project itself, because most tests are about other things than
    /// copies of it; see [`copies`].
    pub(crate) async fn start_at(home: Arc<Home>, change: impl FnOnce(&mut Config)) -> Self {
        // Reading the document takes a second; nobody should have to answer a ping meanwhile.
        crate::protocol::protocol();
        let mut config = Config::for_test(home.project.path(), home.data.path());
        // This process is no gateway, so it cannot be started again as one.
        config.supervisor = env!("CARGO_BIN_EXE_kakehashi").into();
        config.box_rules.enabled = true;
        if !home.project.path().join(".git").exists() {
            work_in(&mut config, WorkplaceChoice::Shared);
        }
        change(&mut config);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let running = server::run(listener, Arc::new(config), stop.clone(), |_, _| ());
        let task = tokio::spawn(async move { running.await.unwrap() });
        Self { addr, home, stop, task }
    }

    /// Ends it in an orderly way.
    pub(crate) async fn stop(self) -> Arc<Home> {
        self.stop.cancel();
        self.task.await.unwrap();
        self.home
    }

    pub(crate) fn project(&self) -> &Path {
        self.home.project.path()
    }
}

/// Agents have copies of their own, as nobody has chosen anything else.
pub(crate) fn copies(config: &mut Config) {
    work_in(config, WorkplaceChoice::Auto);
}

fn work_in(config: &mut Config, workplace: WorkplaceChoice) {
    let agents = &mut Arc::make_mut(&mut config.settings).agents;
    agents.iter_mut().for_each(|agent| agent.workplace = workplace);
}

/// One socket of a frontend.
pub(crate) type Client = client::Client<Aicore>;

/// All eight sockets of one session.
#[derive(Debug)]
pub(crate) struct Frontend {
    pub(crate) input: Client,
    pub(crate) audio: Client,
    pub(crate) file: Client,
    pub(crate) chat: Client,
    pub(crate) agents: Vec<Client>,
}

impl Frontend {
    /// Connects them in the existing client's order and passes over the welcome.
    pub(crate) async fn open(addr: SocketAddr, session: Option<&str>) -> Self {
        let mut input = Client::open(addr, "input", session).await;
        input.until("welcome_text").await;
        let id = input.session().to_owned();
        let file = Client::open(addr, "file", Some(&id)).await;
        let mut chat = Client::open(addr, "0", Some(&id)).await;
        chat.until("welcome_text").await;
        let mut agents = Vec::new();
        for name in ["1", "2", "3", "4"] {
            let mut agent = Client::open(addr, name, Some(&id)).await;
            agent.until("welcome_text").await;
            agents.push(agent);
        }
        let audio = Client::open(addr, "audio", Some(&id)).await;
        Self { input, audio, file, chat, agents }
    }

    pub(crate) fn session(&self) -> &str {
        self.input.session()
    }

    /// Types in a pane, as the existing client does.
    pub(crate) async fn type_in(&mut self, pane: &str, text: &str) {
        let mut packet =
            json!({SESSION: self.session(), CHANNEL: pane, KIND: "input_text", BODY: text});
        if pane == "0" {
            packet["送信モード"] = json!("Chat");
        }
        self.input.send(&packet).await;
    }

    /// Types in the chat pane while another destination is chosen there, such as `Code2`.
    pub(crate) async fn type_in_chat(&mut self, mode: &str, text: &str) {
        let session = self.session().to_owned();
        self.input
            .send(&json!({SESSION: session, CHANNEL: "0", "送信モード": mode, KIND: "input_text", BODY: text}))
            .await;
    }

    pub(crate) async fn cancel(&mut self, pane: &str) {
        self.input.send(&json!({CHANNEL: pane, KIND: "cancel_run", BODY: "強制停止！"})).await;
    }
}

/// Kind and content, for comparing sequences.
pub(crate) fn brief(packets: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    packets.iter().map(|packet| (text(&packet[KIND]), text(&packet[BODY]))).collect()
}

pub(crate) async fn eventually(mut condition: impl FnMut() -> bool) {
    let waiting = async {
        while !condition() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("it never came true");
}

/// The number of a logged packet.
pub(crate) fn seq(packet: &Value) -> u64 {
    packet[SEQ].as_u64().unwrap_or_else(|| panic!("no number: {packet}"))
}

/// The keys with which a client continues after `seq`.
pub(crate) fn cursor(init: &Value, seq: u64) -> Value {
    json!({EPOCH: init[EPOCH], "最終連番": seq})
}

/// Makes the project a git repository with one commit.
pub(crate) fn repository(project: &Path) {
    let init = "git init -q . && git -c user.name=t -c user.email=t@example.com commit -q --allow-empty -m first";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", init]).current_dir(project);
    assert!(shell.status().unwrap().success());
}
