//! Four agents in four places of their own, and what becomes of their work: over the wire, with real repositories.

use crate::http::{delete, get, post};
use crate::support::{BODY, CHANNEL, CODE, Client, Frontend, Gateway, KIND, SESSION};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// A repository with one commit, and something that is not committed.
pub(crate) fn repository(project: &Path) {
    std::fs::write(project.join("main.txt"), "one\ntwo\nthree\n").unwrap();
    std::fs::write(project.join(".gitignore"), "ignored.txt\n").unwrap();
    for line in ["init -q -b main", "add -A", "commit -q -m first"] {
        git(project, line);
    }
    std::fs::write(project.join("notes.txt"), "not committed\n").unwrap();
}

pub(crate) fn git(project: &Path, line: &str) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(project).args(["-c", "user.name=t", "-c", "user.email=t@example.com"]);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").args(line.split(' '));
    let output = git.output().unwrap();
    assert!(output.status.success(), "git {line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn read(project: &Path, name: &str) -> String {
    std::fs::read_to_string(project.join(name)).unwrap()
}

/// A gateway on a repository, and sockets that know the packets of agents.
pub(crate) struct Scene {
    pub(crate) gateway: Gateway,
    pub(crate) front: Frontend,
    pub(crate) panes: Vec<Client>,
    pub(crate) chat: Client,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut kakehashi::config::Config)) -> Self {
        let home = std::sync::Arc::new(crate::support::Home::new());
        repository(home.project.path());
        let gateway = Gateway::start_at(home, change).await;
        Self::on(gateway, None).await
    }

    pub(crate) async fn on(gateway: Gateway, session: Option<&str>) -> Self {
        let front = Frontend::open(gateway.addr, session).await;
        let knowing = json!({"機能": ["agents", "confirm"]});
        let mut panes = Vec::new();
        for name in ["1", "2", "3", "4"] {
            let id = Some(front.session());
            panes.push(Client::open_with(gateway.addr, name, id, knowing.clone()).await);
        }
        let chat = Client::open_with(gateway.addr, "0", Some(front.session()), knowing).await;
        Self { gateway, front, panes, chat }
    }

    pub(crate) fn project(&self) -> &Path {
        self.gateway.project()
    }

    /// Lets an agent work and returns its result.
    pub(crate) async fn work(&mut self, agent: usize, text: &str) -> Value {
        self.front.type_in(&agent.to_string(), text).await;
        let result = self.panes[agent - 1].until("result").await;
        self.panes[agent - 1].until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
        result
    }

    pub(crate) async fn send(&mut self, kind: &str, agent: usize, body: Value) {
        let packet = json!({KIND: kind, CHANNEL: agent.to_string(), BODY: body});
        self.front.input.send(&packet).await;
    }

    /// What comes of a choice.
    pub(crate) async fn choose(&mut self, kind: &str, agent: usize, body: Value) -> Value {
        self.send(kind, agent, body).await;
        self.panes[agent - 1].until(kind).await[BODY].clone()
    }

    pub(crate) async fn compare(&mut self, body: Value) -> Vec<Value> {
        self.front.input.send(&json!({KIND: "compare", BODY: body})).await;
        let told = self.chat.until("compare").await;
        told[BODY]["比較"].as_array().unwrap().clone()
    }
}

#[tokio::test]
async fn each_agent_works_in_its_own_place_and_the_project_stays_as_it_is() {
    let mut scene = Scene::new().await;
    let status = git(scene.project(), "status --porcelain");
    for agent in 1..=4 {
        let text = format!("write main.txt from {agent}\nwrite new{agent}.txt x\nread notes.txt");
        scene.front.type_in(&agent.to_string(), &text).await;
    }
    for agent in 1..=4 {
        let pane = &mut scene.panes[agent - 1];
        let result = pane.until("result").await;
        let files = result[BODY]["ファイル"].as_array().unwrap();
        let told: Vec<_> = files
            .iter()
            .map(|file| (file["パス"].as_str().unwrap(), file["状態"].as_str().unwrap()))
            .collect();
        let new = format!("new{agent}.txt");
        assert_eq!(told, [("main.txt", "modified"), (new.as_str(), "added")]);
        assert_eq!((&files[0]["追加"], &files[0]["削除"]), (&json!(1), &json!(3)));
    }
    assert_eq!(read(scene.project(), "main.txt"), "one\ntwo\nthree\n");
    assert_eq!(git(scene.project(), "status --porcelain"), status);
    // What is not committed is part of what an agent sees.
    let mut old = Client::open(scene.gateway.addr, "2", Some(scene.front.session())).await;
    let lines = old.collect_until(|packet| packet[KIND] == "welcome_text").await;
    let lines: Vec<_> = lines.iter().filter_map(|packet| packet[BODY].as_str()).collect();
    assert!(lines.contains(&"not committed"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("[ファイル] 2 個を変更, +2 -3")), "{lines:?}");
    scene.gateway.stop().await;
}

#[tokio::test]
async fn a_request_to_several_agents_reaches_each_or_none() {
    let mut scene = Scene::with(|config| config.limits.queue_per_channel = 1).await;
    let send =
        json!({CHANNEL: "input", "出力先チャンネル": "1,3", KIND: "input_text", BODY: "sleep 30"});
    scene.front.input.send(&send).await;
    for agent in [1, 3] {
        scene.panes[agent - 1].until("input_request").await;
        scene.panes[agent - 1].until_where(|packet| packet[BODY] == "<<< 処理開始 >>>").await;
    }
    assert_eq!(scene.front.chat.until("input_text").await[BODY], "sleep 30");
    scene.front.type_in("3", "say later").await;
    scene.panes[2].until_where(|packet| !packet["待ち順"].is_null()).await;
    // Agent 3 has no room, so agents 1, 2 and 4 are not asked either.
    let all = json!({CHANNEL: "0", "送信モード": "CodeAll", KIND: "input_text", BODY: "say all"});
    scene.front.input.send(&all).await;
    assert_eq!(scene.front.input.until("error").await[CODE], "queue_full");
    scene.front.type_in("2", "say alone").await;
    let first = scene.panes[1].until_where(|packet| packet[KIND] == "input_text").await;
    assert_eq!(first[BODY], "say alone");
    scene.gateway.stop().await;
}

#[tokio::test]
async fn results_are_compared_shown_and_one_of_them_is_kept() {
    let mut scene = Scene::with(|config| {
        let command = ["grep", "-q", "good", "main.txt"].map(str::to_owned).to_vec();
        let limit = std::time::Duration::from_secs(20);
        config.check =
            Some(kakehashi::config::CheckCommand { command, env: vec![], limit, network: false });
        config.supervisor = env!("CARGO_BIN_EXE_kakehashi").into();
    })
    .await;
    scene.work(1, "write main.txt good\\n").await;
    let second = scene.work(2, "write main.txt bad\\n").await;
    assert_eq!(second[BODY]["重複"], json!([{"パス": "main.txt", "チャンネル": ["1"]}]));
    let rows = scene.compare(json!({})).await;
    let brief = |row: &Value| {
        let code = row["検査"]["終了コード"].clone();
        (row["チャンネル"].clone(), row["場所"].clone(), row["ファイル数"].clone(), code)
    };
    assert_eq!(brief(&rows[0]), (json!("1"), json!("worktree"), json!(1), json!(0)));
    assert_eq!(brief(&rows[1]), (json!("2"), json!("worktree"), json!(1), json!(1)));
    assert_eq!(brief(&rows[2]), (json!("3"), json!("shared"), json!(0), Value::Null));
    assert!(rows[0]["秒"].is_number() && rows[0]["状態"] == "finished", "{rows:?}");

    scene.send("diff", 1, json!({"パス": "main.txt"})).await;
    let diff = scene.panes[0].until("diff").await;
    let text = diff[BODY]["差分"].as_str().unwrap();
    assert!(text.contains("-two") && text.contains("+good"), "{text}");

    let accepted = scene.choose("accept", 1, json!({})).await;
    assert_eq!((&accepted["結果"], &accepted["ファイル"]), (&json!("done"), &json!(["main.txt"])));
    assert_eq!(read(scene.project(), "main.txt"), "good\n");
    let changed = scene.chat.until("update_info").await;
    assert_eq!(changed[BODY]["update_files"], json!(["main.txt"]), "{changed}");
    // The other one changed the same lines.
    let conflict = scene.choose("accept", 2, json!({})).await;
    assert_eq!(conflict["結果"], "conflict");
    assert_eq!(conflict["衝突"][0]["パス"], "main.txt");
    assert_eq!(read(scene.project(), "main.txt"), "good\n");
    assert_eq!(scene.choose("discard", 2, json!({})).await["結果"], "done");
    let next = scene.work(2, "read main.txt\nwrite more.txt x").await;
    assert_eq!(next[BODY]["重複"], json!([]));
    scene.gateway.stop().await;
}

/// A program of the agent may still run when its work is looked at.
#[tokio::test]
async fn only_what_the_user_has_looked_at_is_accepted() {
    let mut scene = Scene::new().await;
    let told = scene.work(1, "write main.txt harmless\\n").await;
    let copy = place_of_first(&scene);
    let rows = scene.compare(json!({"検査": false})).await;
    scene.send("diff", 1, json!({})).await;
    let diff = scene.panes[0].until("diff").await;
    let version = diff[BODY]["版"].clone();
    assert!(version.is_string(), "{diff}");
    assert_eq!((&told[BODY]["版"], &rows[0]["版"]), (&version, &version));
    assert_eq!(rows[1]["版"], Value::Null);

    std::fs::write(copy.join("main.txt"), "evil\n").unwrap();
    scene.send("accept", 1, json!({"版": version})).await;
    let refused = scene.front.input.until("error").await;
    assert_eq!(refused[CODE], "no_choice");
    assert!(says(&refused, "確認した後に結果が変わりました"), "{refused}");
    let path = |what: &str| format!("/api/sessions/{}/agents/1/{what}", scene.front.session());
    for body in [json!({"version": version}), json!({"version": version, "branch": "agent/one"})] {
        let asked = post(&path("accept"), &body).local().header("accept-language", "en");
        let refused = asked.send(scene.gateway.addr).await.json();
        let error = refused["error"].as_str().unwrap().to_owned();
        assert!(error.contains("the result has changed since you looked"), "{refused}");
    }
    assert_eq!(read(scene.project(), "main.txt"), "one\ntwo\nthree\n");

    let seen = get(&path("diff")).local().send(scene.gateway.addr).await.json();
    assert!(seen["diff"].as_str().unwrap().contains("+evil"), "{seen}");
    let compared = get(&path("compare").replace("1/", "")).local().send(scene.gateway.addr).await;
    assert_eq!(compared.json()["agents"][0]["version"], seen["version"]);
    let accepted = scene.choose("accept", 1, json!({"版": seen["version"]})).await;
    assert_eq!(accepted["結果"], "done");
    assert_eq!(read(scene.project(), "main.txt"), "evil\n");
    scene.gateway.stop().await;
}

#[tokio::test]
async fn a_result_becomes_a_branch_or_goes_back_to_what_it_was() {
    let mut scene = Scene::new().await;
    scene.work(1, "write main.txt first").await;
    let second = scene.work(1, "write main.txt second\nwrite extra.txt x").await;
    let run = second["実行番号"].as_u64().unwrap();
    let body = json!({"ブランチ": "agent/one", "コメント": "What agent 1 made"});
    let accepted = scene.choose("accept", 1, body.clone()).await;
    assert_eq!((&accepted["結果"], &accepted["ブランチ"]), (&json!("done"), &json!("agent/one")));
    assert_eq!(git(scene.project(), "log -1 --format=%s agent/one"), "What agent 1 made\n");
    assert_eq!(git(scene.project(), "show agent/one:main.txt"), "second");
    assert_eq!(read(scene.project(), "main.txt"), "one\ntwo\nthree\n");
    // A branch is never overwritten.
    scene.send("accept", 1, body).await;
    assert_eq!(scene.front.input.until("error").await[CODE], "no_choice");

    let restored = scene.choose("restore", 1, json!({"実行番号": run, "パス": "main.txt"})).await;
    assert_eq!(restored["ファイル"], json!(["main.txt"]));
    scene.front.type_in("1", "read main.txt\nread extra.txt").await;
    let lines = scene.panes[0].collect_until(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    let told: Vec<_> = lines.iter().filter_map(|packet| packet[BODY].as_str()).collect();
    assert!(told.contains(&"first") && told.contains(&"x"), "{told:?}");
    scene.send("restore", 1, json!({"実行番号": 9999})).await;
    assert_eq!(scene.front.input.until("error").await[CODE], "no_choice");
    scene.gateway.stop().await;
}

#[tokio::test]
async fn nothing_is_chosen_while_the_agent_works_or_has_no_place_of_its_own() {
    let mut scene = Scene::new().await;
    scene.front.type_in("1", "write main.txt x\nsleep 30").await;
    scene.panes[0].until_where(|packet| packet[BODY] == "<<< 処理開始 >>>").await;
    for kind in ["accept", "discard"] {
        scene.send(kind, 1, json!({})).await;
        assert_eq!(scene.front.input.until("error").await[CODE], "no_choice");
    }
    // Agent 2 has not worked yet.
    for kind in ["accept", "diff"] {
        scene.send(kind, 2, json!({})).await;
        assert_eq!(scene.front.input.until("error").await[CODE], "no_choice");
    }
    scene.gateway.stop().await;
}

#[tokio::test]
async fn an_agent_may_share_the_project_and_its_changes_can_be_taken_back() {
    let mut scene = Scene::new().await;
    set(&scene, json!({"CODE_AI1_PLACE": "shared"})).await;
    let result = scene.work(1, "write main.txt shared").await;
    assert_eq!(result[BODY]["ファイル"][0]["追加"], 1);
    assert_eq!(read(scene.project(), "main.txt"), "shared");
    scene.send("accept", 1, json!({})).await;
    assert_eq!(scene.front.input.until("error").await[CODE], "no_choice");
    let run = result["実行番号"].clone();
    let restored = scene.choose("restore", 1, json!({"実行番号": run})).await;
    assert_eq!(restored["ファイル"], json!(["main.txt"]));
    assert_eq!(read(scene.project(), "main.txt"), "one\ntwo\nthree\n");
    scene.gateway.stop().await;
}

#[tokio::test]
async fn whoever_lets_an_agent_work_in_the_project_is_told_the_risk() {
    use kakehashi::locale::Locale;
    for (language, risk) in [
        (Locale::En, "scripts, build files and settings that you or your tools run later"),
        (Locale::Ja, "あとであなたやツールが実行するスクリプト・ビルドファイル・設定"),
    ] {
        let mut scene = Scene::with(|config| config.language = language).await;
        let session = scene.front.session().to_owned();
        let welcome = async |agent: &str| {
            let mut pane = Client::open(scene.gateway.addr, agent, Some(&session)).await;
            pane.until("welcome_info").await
        };
        assert!(!says(&welcome("1").await, risk));
        set(&scene, json!({"CODE_AI1_PLACE": "shared"})).await;
        // At once to those who are there, and to everybody who comes later.
        scene.panes[0].until_where(|packet| says(packet, risk)).await;
        assert!(says(&welcome("1").await, risk));
        assert!(!says(&welcome("2").await, risk));
        scene.gateway.stop().await;
    }
}

/// Where the first agent works.
fn place_of_first(scene: &Scene) -> std::path::PathBuf {
    let places = scene.gateway.home.data.path().join("worktrees").join(scene.front.session());
    let mut found = std::fs::read_dir(places).unwrap().map(|entry| entry.unwrap().path());
    found.next().unwrap()
}

#[tokio::test]
async fn paths_that_are_in_no_result_are_listed_and_kept() {
    let home = std::sync::Arc::new(crate::support::Home::new());
    repository(home.project.path());
    std::fs::create_dir(home.project.path().join("other")).unwrap();
    git(&home.project.path().join("other"), "init -q");
    let mut scene = Scene::on(Gateway::start_at(home, |_| ()).await, None).await;
    // The copy lacks a repository of the user, which is told where the agent is.
    scene.front.type_in("1", "write main.txt x").await;
    let told = scene.panes[0].until("output_text").await;
    let text = told[BODY].as_str().unwrap();
    assert!(text.contains("other/") && text.contains("CODE_AI1_PLACE"), "{text}");
    assert_eq!(scene.panes[0].until("result").await[BODY]["除外"], json!([]));
    scene.panes[0].until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;

    let nested = place_of_first(&scene).join("nested");
    std::fs::create_dir(&nested).unwrap();
    std::fs::write(nested.join("file"), "precious").unwrap();
    git(&nested, "init -q");
    // A run that changes nothing else has this to tell.
    assert_eq!(scene.work(1, "say hello").await[BODY]["除外"], json!(["nested/"]));
    let rows = scene.compare(json!({"検査": false})).await;
    assert_eq!((&rows[0]["除外"], &rows[1]["除外"]), (&json!(["nested/"]), &json!([])));
    let compared = get(&format!("/api/sessions/{}/agents/compare", scene.front.session())).local();
    let compared = compared.send(scene.gateway.addr).await.json();
    assert_eq!(compared["agents"][0]["left_out"], json!(["nested/"]));
    let accepted = scene.choose("accept", 1, json!({})).await;
    assert_eq!((&accepted["結果"], &accepted["除外"]), (&json!("done"), &json!(["nested/"])));
    assert!(!scene.project().join("nested").exists());
    // Whoever does not know the packets is told in words.
    let mut old = Client::open(scene.gateway.addr, "1", Some(scene.front.session())).await;
    let texts = old.collect_until(|packet| packet[KIND] == "welcome_text").await;
    let texts: Vec<_> = texts.iter().filter_map(|packet| packet[BODY].as_str()).collect();
    for line in ["nested/: 結果に含まれません", "エージェントの複製には残っています: nested/"]
    {
        assert!(texts.iter().any(|text| text.contains(line)), "{line}: {texts:?}");
    }
    // What is in the way and in no backup is not thrown away.
    std::fs::write(scene.project().join("nested"), "a file").unwrap();
    let refused = scene.choose("discard", 1, json!({})).await;
    assert_eq!(refused["結果"], "failed", "{refused}");
    assert!(refused["理由"].as_str().unwrap().contains("nested/"), "{refused}");
    assert_eq!(read(&nested, "file"), "precious");
    scene.gateway.stop().await;
}

pub(crate) async fn set(scene: &Scene, settings: Value) {
    let body = json!({SESSION: scene.front.session(), "モデル設定": settings});
    let ask = post("/core/AIコア/モデル情報/設定", &body).local();
    let answer = ask.send(scene.gateway.addr).await.json();
    assert_eq!(answer["status"], "OK", "{answer}");
}

#[tokio::test]
async fn work_that_was_not_chosen_yet_outlives_a_restart_and_ends_with_the_session() {
    let mut scene = Scene::new().await;
    scene.work(1, "write main.txt kept\nimage drawn.png").await;
    let session = scene.front.session().to_owned();
    let home = scene.gateway.stop().await;
    let mut scene = Scene::on(Gateway::start_at(home, |_| ()).await, Some(&session)).await;
    let rows = scene.compare(json!({"検査": false})).await;
    assert_eq!((&rows[0]["ファイル数"], &rows[0]["追加"]), (&json!(2), &json!(1)), "{rows:?}");
    // A path means the agent's own file where the channel is named, and the project's elsewhere.
    let content = |channel: Option<&str>| {
        let body = json!({"ファイル名": "main.txt", SESSION: session, CHANNEL: channel});
        let addr = scene.gateway.addr;
        async move { post("/core/files/内容取得", &body).local().send(addr).await.json() }
    };
    assert_eq!(content(Some("1")).await["data"]["base64_data"], "a2VwdA==");
    assert_eq!(content(None).await["data"]["base64_data"], "b25lCnR3bwp0aHJlZQo=");
    // The picture was copied, so that it is there whatever becomes of the place.
    let picture = scene.panes[0].until("output_file").await["ファイル名"].clone();
    assert!(picture.as_str().unwrap().starts_with("temp/output/"), "{picture}");

    let places = scene.gateway.home.data.path().join("worktrees");
    assert_eq!(std::fs::read_dir(&places).unwrap().count(), 1);
    let gone = delete(&format!("/api/sessions/{session}")).local();
    assert_eq!(gone.send(scene.gateway.addr).await.status, 204);
    assert_eq!(std::fs::read_dir(&places).unwrap().count(), 0);
    assert_eq!(git(scene.project(), "for-each-ref refs/kakehashi"), "");
    assert_eq!(git(scene.project(), "worktree list --porcelain").matches("worktree ").count(), 1);
    scene.gateway.stop().await;
}

#[tokio::test]
async fn choices_over_http_are_for_the_owner_of_the_session_only() {
    let mut scene = Scene::new().await;
    scene.work(1, "write main.txt good").await;
    let (addr, session) = (scene.gateway.addr, scene.front.session().to_owned());
    let at = |rest: &str| format!("/api/sessions/{session}/agents/{rest}");
    let compared = get(&at("compare?agents=1,2&check=false")).local().send(addr).await.json();
    assert_eq!(compared["agents"][0]["files"], 1, "{compared}");
    assert_eq!(compared["agents"].as_array().unwrap().len(), 2);
    let diff = get(&at("1/diff?path=main.txt")).local().send(addr).await.json();
    assert!(diff["diff"].as_str().unwrap().contains("+good"), "{diff}");
    let accept = |body: Value| post(&at("1/accept"), &body).local().send(addr);
    let accepted = accept(json!({"branch": "one", "message": "m"})).await;
    assert_eq!((accepted.status, &accepted.json()["branch"]), (200, &json!("one")));
    std::fs::write(scene.project().join("main.txt"), "mine").unwrap();
    let refused = accept(json!({})).await;
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("conflict")));
    assert_eq!(read(scene.project(), "main.txt"), "mine");
    let restore = post(&at("1/restore"), &json!({"run": 1, "path": null})).local();
    assert_eq!(restore.send(addr).await.json()["files"], json!(["main.txt"]));
    let discard = post(&at("1/discard"), &Value::Null).local().send(addr).await;
    assert_eq!(discard.status, 200);
    // What is unknown or somebody else's is not there.
    for (path, status) in [
        (at("5/diff"), 404),
        (at("x/diff"), 404),
        (at("2/diff"), 409),
        (at("1/diff?path=nothing"), 409),
        (at("compare?agents=9"), 404),
        (at("compare?check=maybe"), 400),
        (format!("/api/sessions/ws-{}/agents/1/diff", "f".repeat(32)), 404),
        ("/api/sessions/nonsense/agents/1/diff".to_owned(), 404),
    ] {
        assert_eq!(get(&path).local().send(addr).await.status, status, "{path}");
    }
    for (body, status) in [
        (json!({"run": "x"}), 422),
        (json!({"run": 1}), 422),
        (json!({"path": null}), 422),
        (json!({"run": 1, "backup": "x", "path": null}), 422),
        (json!({"backup": "x", "path": null}), 409),
    ] {
        assert_eq!(post(&at("1/restore"), &body).local().send(addr).await.status, status);
    }
    assert_eq!(get(&at("1/diff")).send(addr).await.status, 401);
    scene.gateway.stop().await;
}

#[tokio::test]
async fn undoing_an_old_run_takes_nothing_of_the_users_work_back() {
    let mut scene = Scene::new().await;
    let first = scene.work(1, "write main.txt made").await["実行番号"].clone();
    assert_eq!(scene.choose("accept", 1, json!({})).await["結果"], "done");
    std::fs::write(scene.project().join("notes.txt"), "edited\n").unwrap();
    scene.work(1, "write other.txt x").await;
    let undone = scene.choose("restore", 1, json!({"実行番号": first})).await;
    assert_eq!(undone["結果"], "done");
    scene.work(1, "write last.txt x").await;
    let accepted = scene.choose("accept", 1, json!({})).await;
    assert_eq!((&accepted["結果"], &accepted["ファイル"]), (&json!("done"), &json!(["last.txt"])));
    assert_eq!(read(scene.project(), "notes.txt"), "edited\n");
    assert_eq!(read(scene.project(), "main.txt"), "made");
    scene.gateway.stop().await;
}

#[tokio::test]
async fn an_agent_gets_no_copy_of_the_operators_files() {
    let mut scene = Scene::with(|config| {
        let file = config.project.join("settings.toml");
        std::fs::write(&file, "secret").unwrap();
        config.file = Some(file);
    })
    .await;
    scene.work(1, "write a.txt x").await;
    let session = scene.front.session().to_owned();
    for (name, expected) in [("settings.toml", "NG"), ("a.txt", "OK")] {
        let body = json!({"ファイル名": name, SESSION: session, CHANNEL: "1"});
        let answer = post("/core/files/内容取得", &body).local().send(scene.gateway.addr).await;
        assert_eq!(answer.json()["status"], expected, "{name}");
    }
    scene.gateway.stop().await;
}

#[tokio::test]
async fn a_repository_that_an_agent_planted_is_not_used() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let home = std::sync::Arc::new(crate::support::Home::new());
    let mut scene = Scene::on(Gateway::start_at(home, |_| ()).await, None).await;
    let outside = outside.path().display();
    for plant in [
        format!(
            "mkdir -p .git/refs; echo ref: refs/heads/m > .git/HEAD; ln -s {outside} .git/objects"
        ),
        format!(
            "rm -rf .git; mkdir -p .git/refs .git/objects; echo x > .git/HEAD; echo {outside} > .git/commondir"
        ),
        format!("rm -rf .git; echo gitdir: {outside} > .git"),
    ] {
        scene.work(1, &format!("run {plant}\nwrite a.txt {}", plant.len())).await;
        assert!(!scene.project().join(".git").exists(), "{plant}");
        scene.work(1, &format!("write a.txt again {}", plant.len())).await;
        let rows = scene.compare(json!({})).await;
        assert_eq!(rows[0]["場所"], "shared", "{plant}");
    }
    scene.gateway.stop().await;
}

/// Git would run what their settings name, as soon as somebody uses it there.
#[tokio::test]
async fn a_repository_that_appears_in_the_project_is_moved_out_and_told() {
    let home = std::sync::Arc::new(crate::support::Home::new());
    let project = home.project.path().canonicalize().unwrap();
    std::fs::create_dir_all(project.join("own/.git/refs")).unwrap();
    let mut scene = Scene::on(Gateway::start_at(home, |_| ()).await, None).await;
    let trap = "git config --file evil core.fsmonitor 'touch sprung'; mkdir sub; git init -q sub; \
                cp evil sub/.git/config; git init -q .; mv .git .GIT; git init -q --bare lib/bare; sleep 30";
    scene.front.type_in("1", &format!("run {trap}")).await;
    let told = scene.panes[0].collect_until(|packet| says(packet, "lib/bare/HEAD")).await;
    for path in ["sub/.git", ".GIT"] {
        assert!(told.iter().any(|packet| says(packet, path)), "{path}: {told:?}");
        assert!(!project.join(path).exists(), "{path}");
    }
    assert!(!project.join("lib/bare/HEAD").exists());
    let aside = scene.gateway.home.data.path().join("set-aside").join(scene.front.session());
    let kept = std::fs::read_dir(aside).unwrap().map(|entry| entry.unwrap().file_name());
    let kept = kept.filter(|name| !name.to_string_lossy().starts_with("known-"));
    assert_eq!(kept.count(), 3);
    // What was there before stays.
    assert!(project.join("own/.git").exists());
    scene.front.input.send(&json!({KIND: "cancel_run", CHANNEL: "1"})).await;
    scene.panes[0].until_where(|packet| packet[BODY] == "<<< 処理中断 >>>").await;
    // One that is made at the very end is gone before the end is told.
    scene.front.type_in("1", "run git init -q late").await;
    let told = scene.panes[0].collect_until(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    assert!(told.iter().any(|packet| says(packet, "late/.git")), "{told:?}");
    assert!(!project.join("late/.git").exists());
    scene.gateway.stop().await;
}

fn says(packet: &Value, part: &str) -> bool {
    packet[BODY].as_str().is_some_and(|text| text.contains(part))
}

#[tokio::test]
async fn a_project_without_git_has_copies_too() {
    let home = std::sync::Arc::new(crate::support::Home::new());
    std::fs::write(home.project.path().join("main.txt"), "one\ntwo\nthree\n").unwrap();
    std::fs::write(home.project.path().join(".gitignore"), "ignored.txt\n").unwrap();
    std::fs::write(home.project.path().join("ignored.txt"), "mine\n").unwrap();
    let mut scene = Scene::on(Gateway::start_at(home, crate::support::copies).await, None).await;
    let first = scene.work(1, "write main.txt first\nwrite new.txt x\nrun git init -q sub").await;
    assert_eq!(first[BODY]["場所"], "worktree");
    scene.work(2, "write main.txt second").await;
    assert_eq!(read(scene.project(), "main.txt"), "one\ntwo\nthree\n");
    let rows = scene.compare(json!({"検査": false})).await;
    let counted: Vec<_> = rows.iter().map(|row| &row["ファイル数"]).collect();
    assert_eq!(counted, [&json!(2), &json!(1), &json!(0), &json!(0)]);
    scene.send("diff", 1, json!({"パス": "main.txt"})).await;
    let diff = scene.panes[0].until("diff").await[BODY]["差分"].as_str().unwrap().to_owned();
    assert!(diff.contains("-two") && diff.contains("+first"), "{diff}");
    // There is no branch to accept onto.
    scene.send("accept", 1, json!({"ブランチ": "one"})).await;
    let refused = scene.front.input.until("error").await;
    assert_eq!(refused[CODE], "no_choice");
    assert!(says(&refused, "ブランチはありません"), "{refused}");
    let accepted = scene.choose("accept", 1, json!({})).await;
    assert_eq!(accepted["ファイル"], json!(["main.txt", "new.txt"]));
    assert_eq!(read(scene.project(), "main.txt"), "first");
    assert_eq!(scene.choose("accept", 2, json!({})).await["結果"], "conflict");
    assert_eq!(scene.choose("discard", 2, json!({})).await["結果"], "done");
    let undone = scene.choose("restore", 1, json!({"控え": accepted["控え"]})).await;
    assert_eq!(undone["ファイル"], json!(["main.txt", "new.txt"]));
    assert_eq!(read(scene.project(), "main.txt"), "one\ntwo\nthree\n");
    let run = first["実行番号"].clone();
    assert_eq!(scene.choose("restore", 1, json!({"実行番号": run})).await["結果"], "done");
    // Nothing of git was put into the project.
    let names = std::fs::read_dir(scene.project()).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".gitignore", "ignored.txt", "main.txt"]);
    scene.gateway.stop().await;
}

#[tokio::test]
async fn what_was_made_in_the_project_when_the_gateway_was_killed_is_moved_out_at_the_start() {
    let home = crate::support::Home::new();
    let process = crate::process::Process::start(&home, "");
    let mut front = Frontend::open(process.addr, None).await;
    front.type_in("1", "sleep 600").await;
    let note = home.data.path().join("set-aside").join(front.session()).join("known-1");
    crate::support::eventually(|| note.exists()).await;
    process.kill();
    let planted = home.project.path().join("sub/.git");
    std::fs::create_dir_all(&planted).unwrap();
    let _next = crate::process::Process::start(&home, "");
    crate::support::eventually(|| !planted.exists()).await;
}

#[tokio::test]
async fn nothing_below_a_git_directory_is_handed_out() {
    let mut scene = Scene::new().await;
    scene.work(1, "write a.txt x").await;
    let session = scene.front.session().to_owned();
    for name in [".git/config", ".git/HEAD", ".git/refs/heads/main", ".git/index", "./.git/config"]
    {
        for channel in [Value::Null, json!("1")] {
            let mut body = json!({"ファイル名": name, SESSION: session});
            if !channel.is_null() {
                body[CHANNEL] = channel.clone();
            }
            let answer = post("/core/files/内容取得", &body).local().send(scene.gateway.addr).await;
            assert_eq!(answer.json()["status"], "NG", "{name} {channel}");
        }
    }
    for pane in ["1", "2"] {
        scene.front.type_in(pane, "read .git/config").await;
        let index = pane.parse::<usize>().unwrap() - 1;
        let refused =
            |packet: &Value| says(packet, "git のものです") || says(packet, "belongs to git");
        let told = scene.panes[index].collect_until(refused).await;
        assert!(!told.iter().any(|packet| says(packet, "[core]")), "{told:?}");
    }
    scene.gateway.stop().await;
}
