//! What the figures of a comparison are about.

use crate::choice::{Scene, git, repository};
use crate::findings::gateway;
use crate::http::{get, post};
use crate::panes::Panes;
use crate::process::Process;
use crate::support::{BODY, Home, SESSION};
use serde_json::{Value, json};

/// A repository that does not see what our agent leaves behind for its next process.
fn project(home: &Home) {
    repository(home.project.path());
    std::fs::write(home.project.path().join(".gitignore"), "*.session\n").unwrap();
}

/// The row of the first agent.
async fn row(process: &Process, session: &str) -> Value {
    let path = format!("/api/sessions/{session}/agents/compare?agents=1&check=false");
    let answer = get(&path).local().send(process.addr).await;
    assert_eq!(answer.status, 200);
    answer.json()["agents"][0].clone()
}

/// Files, tokens and cost.
fn figures(row: &Value) -> (Value, Value, Value) {
    (row["files"].clone(), row["tokens"].clone(), row["cost"]["amount"].clone())
}

async fn choose(process: &Process, session: &str, what: &str) -> Value {
    let path = format!("/api/sessions/{session}/agents/1/{what}");
    let answer = post(&path, &json!({})).local().send(process.addr).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

/// The status and the body of a diff of the first agent.
async fn diff(process: &Process, session: &str) -> (u16, String) {
    let path = format!("/api/sessions/{session}/agents/1/diff");
    let answer = get(&path).local().send(process.addr).await;
    (answer.status, answer.body)
}

async fn place(process: &Process, session: &str, name: &str) {
    let body = json!({SESSION: session, "モデル設定": {"CODE_AI1_PLACE": name}});
    let answer = post("/core/AIコア/モデル情報/設定", &body).local().send(process.addr).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn what_a_command_tells_of_tokens_and_cost_is_compared() {
    let home = Home::new();
    project(&home);
    let script =
        r#"echo x > a.txt; echo '{"in":700,"out":300}'; echo '{"usd":0.25,"said":"done"}'"#;
    let settings = format!(
        "language = \"en\"\n[[agents]]\nname = \"test\"\nkind = \"command\"\nformat = \"jsonl\"\ntext = \"/said\"\n\
         tokens = [\"/in\", \"/out\"]\ncost = \"/usd\"\n\
         command = [\"sh\", \"-c\", {script:?}, \"sh\", \"{{prompt}}\"]\n[settings]\nCODE_AI1_NAME = \"test\"\n"
    );
    let process = Process::start(&home, &settings);
    let mut front = Panes::open(process.addr, None).await;
    let session = front.session();
    assert_eq!(front.ask(1, "go").await.answer, "done");
    let told = row(&process, &session).await;
    assert_eq!(figures(&told), (json!(1), json!(1000), json!(0.25)));
    assert_eq!(told["cost"]["currency"], "USD");
}

#[tokio::test]
async fn all_figures_of_a_comparison_are_of_the_same_work() {
    let home = Home::new();
    project(&home);
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    let session = front.session();
    front.ask(1, "write a.txt one usage 1000 0.5").await;
    let first = row(&process, &session).await;
    assert_eq!(figures(&first), (json!(1), json!(1000), json!(0.5)));
    front.ask(1, "write b.txt two usage 3000 0.75").await;
    // One that changes nothing and tells nothing is no part of it.
    front.ask(1, "hello").await;
    let both = row(&process, &session).await;
    assert_eq!((&both["place"], &both["outcome"]), (&json!("worktree"), &json!("finished")));
    assert_eq!((&both["files"], &both["cost"]["amount"]), (&json!(2), &json!(0.75)));
    assert!(both["tokens"].as_u64() > first["tokens"].as_u64(), "{both}");
    assert!(both["seconds"].as_f64() > first["seconds"].as_f64(), "{both}");
    let summed = (both["seconds"].clone(), figures(&both));
    process.kill();

    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, Some(&session)).await;
    let row_now = row(&process, &session).await;
    assert_eq!((row_now["seconds"].clone(), figures(&row_now)), summed);
    choose(&process, &session, "accept").await;
    let nothing = row(&process, &session).await;
    assert_eq!(
        (figures(&nothing), &nothing["seconds"]),
        ((json!(0), Value::Null, Value::Null), &Value::Null)
    );
    front.ask(1, "write c.txt three usage 100 0.25").await;
    assert_eq!(figures(&row(&process, &session).await), (json!(1), json!(100), json!(0.25)));
    assert_eq!(git(home.project.path(), "status --porcelain").matches("??").count(), 3);

    // In the project nobody can tell what is older, so it is the last run alone.
    choose(&process, &session, "discard").await;
    place(&process, &session, "shared").await;
    front.ask(1, "write d.txt four write e.txt five usage 300 0.5").await;
    front.ask(1, "write f.txt six usage 500 0.75").await;
    let shared = row(&process, &session).await;
    assert_eq!(shared["place"], "shared");
    assert_eq!(figures(&shared), (json!(1), json!(500), json!(0.25)));
}

async fn work_on(process: &Process, session: &str, project: &str) {
    let body = json!({SESSION: session, "モデル設定": {"CODE_BASE_PATH": project}});
    let answer = post("/core/AIコア/モデル情報/設定", &body).local().send(process.addr).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn the_work_in_one_project_is_not_counted_in_another() {
    let home = Home::new();
    project(&home);
    let other = tempfile::tempdir().unwrap();
    repository(other.path());
    std::fs::write(other.path().join(".gitignore"), "*.session\n").unwrap();
    let other = other.path().canonicalize().unwrap();
    let settings = format!("[projects]\nother = \"{}\"\n", other.display());
    let process = gateway(&home, &settings);
    let mut front = Panes::open(process.addr, None).await;
    let session = front.session();
    front.ask(1, "write a.txt one usage 1000 0.5").await;
    let first = row(&process, &session).await;
    work_on(&process, &session, other.to_str().unwrap()).await;
    let nothing = row(&process, &session).await;
    assert_eq!(
        (figures(&nothing), &nothing["run"]),
        ((json!(0), Value::Null, Value::Null), &Value::Null)
    );
    front.ask(1, "write b.txt two usage 100 0.25").await;
    let second = row(&process, &session).await;
    assert_eq!(figures(&second).1, json!(100));
    process.kill();

    let process = gateway(&home, &settings);
    let _front = Panes::open(process.addr, Some(&session)).await;
    let same = |one: &Value, other: &Value| {
        assert_eq!((figures(one), &one["seconds"]), (figures(other), &other["seconds"]));
    };
    same(&row(&process, &session).await, &second);
    // What is thrown away here is not thrown away there.
    choose(&process, &session, "discard").await;
    work_on(&process, &session, "").await;
    same(&row(&process, &session).await, &first);
    process.kill();
    let process = gateway(&home, &settings);
    let _front = Panes::open(process.addr, Some(&session)).await;
    same(&row(&process, &session).await, &first);
}

#[tokio::test]
async fn an_agent_that_leaves_its_own_place_leaves_its_work_there() {
    let home = Home::new();
    project(&home);
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    let session = front.session();
    front.ask(1, "write own.txt one").await;
    place(&process, &session, "shared").await;
    let kept = |packet: &Value| packet[BODY].to_string().contains("CODE_AI1_PLACE");
    let told = front.pane(1).until_where(kept).await[BODY].as_str().unwrap().to_owned();
    assert!(told.contains("1 changed files") && told.contains("CODE_AI1_PLACE"), "{told}");
    // What it does from now on is in the project, and so is what is compared.
    front.ask(1, "hello").await;
    front.ask(1, "write here.txt two").await;
    assert!(home.project.path().join("here.txt").exists());
    let here = row(&process, &session).await;
    assert_eq!((&here["place"], &here["files"]), (&json!("shared"), &json!(1)));
    for what in ["accept", "discard"] {
        let path = format!("/api/sessions/{session}/agents/1/{what}");
        let answer = post(&path, &json!({})).local().send(process.addr).await;
        assert_eq!(answer.status, 409, "{what}");
        assert!(answer.body.contains("is kept until its place is `worktree`"), "{}", answer.body);
    }
    assert_eq!(diff(&process, &session).await.0, 409);
    assert!(!home.project.path().join("own.txt").exists());
    // It comes back as it was.
    place(&process, &session, "worktree").await;
    let (status, text) = diff(&process, &session).await;
    assert!(status == 200 && text.contains("+one") && !text.contains("here.txt"), "{text}");
    choose(&process, &session, "accept").await;
    assert!(home.project.path().join("own.txt").exists());
    // There is nothing to tell of a place without work.
    place(&process, &session, "shared").await;
    front.type_in(1, "hello").await;
    let packets = front.pane(1).collect_until(|packet| packet[BODY] == "hello there").await;
    assert_eq!(packets.iter().find(|packet| kept(packet)), None);
}

#[tokio::test]
async fn an_agent_moved_during_a_run_has_its_kept_work_reported_at_the_end() {
    let home = Home::new();
    project(&home);
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    let session = front.session();
    front.type_in(1, "write own.txt one ask").await;
    let question = front.question(1).await;
    place(&process, &session, "shared").await;
    front.decide(&question, true).await;
    assert_eq!(front.told(1).await.answer, "the-allow_once");
    let kept = |packet: &Value| packet[BODY].to_string().contains("CODE_AI1_PLACE");
    let told = front.pane(1).until_where(kept).await[BODY].as_str().unwrap().to_owned();
    assert!(told.contains("1 changed files"), "{told}");
    assert!(!home.project.path().join("own.txt").exists());
}

#[tokio::test]
async fn the_whole_difference_is_shown_by_packet_and_over_http() {
    let mut scene = Scene::new().await;
    let session = scene.front.session().to_owned();
    scene.work(1, "write main.txt good\\n\nwrite sub/new.txt x\\n").await;
    scene.send("diff", 1, json!({})).await;
    let packet = scene.panes[0].until("diff").await[BODY].clone();
    let path = format!("/api/sessions/{session}/agents/1/diff");
    let answer = get(&path).local().send(scene.gateway.addr).await;
    let http = answer.json();
    assert_eq!((answer.status, &http["path"], &packet["パス"]), (200, &Value::Null, &Value::Null));
    assert_eq!((&http["truncated"], &packet["省略"]), (&json!(false), &json!(false)));
    let text = packet["差分"].as_str().unwrap();
    assert_eq!(http["diff"], text);
    for part in
        ["--- a/main.txt", "-one\n", "+good\n", "+++ b/sub/new.txt", "--- /dev/null", "+x\n"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let files: Vec<_> = packet["ファイル"].as_array().unwrap().iter().collect();
    let paths: Vec<_> = files.iter().map(|file| file["パス"].as_str().unwrap()).collect();
    assert_eq!(paths, ["main.txt", "sub/new.txt"]);
    let listed: Vec<_> = http["files"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert_eq!(listed, ["main.txt", "sub/new.txt"]);
    // A long one is cut on the socket only.
    let long = "line of text\\n".repeat(30_000);
    scene.work(2, &format!("write long.txt {long}")).await;
    scene.send("diff", 2, json!({})).await;
    let packet = scene.panes[1].until("diff").await[BODY].clone();
    let path = format!("/api/sessions/{session}/agents/2/diff");
    let http = get(&path).local().send(scene.gateway.addr).await.json();
    assert_eq!((&http["truncated"], &packet["省略"]), (&json!(false), &json!(true)));
    let cut = packet["差分"].as_str().unwrap();
    assert!(cut.len() <= 256 * 1024 && cut.ends_with('\n'), "{}", cut.len());
    assert!(http["diff"].as_str().unwrap().starts_with(cut));
    scene.gateway.stop().await;
}
