//! Whatever was done with the work of agents can be undone: over the wire, with real repositories.

use crate::choice::{Scene, git, read, set};
use crate::http::{get, post};
use crate::support::{BODY, CHANNEL, CODE, Gateway, KIND};
use kakehashi::config::{CheckCommand, Config};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The backups that a list shows: before what, of whom, by which name.
async fn listed(scene: &mut Scene, channel: &str) -> Vec<(Value, Value, Value)> {
    scene.front.input.send(&json!({KIND: "backups", CHANNEL: channel})).await;
    let told = match channel.parse::<usize>() {
        Ok(agent @ 1..) => scene.panes[agent - 1].until("backups").await,
        Ok(_) | Err(_) => scene.chat.until("backups").await,
    };
    let rows = told[BODY]["控え一覧"].as_array().unwrap().iter();
    rows.map(|row| (row["直前"].clone(), row["チャンネル"].clone(), row["控え"].clone())).collect()
}

async fn refused(scene: &mut Scene, agent: usize, body: Value) -> String {
    scene.send("restore", agent, body).await;
    let error = scene.front.input.until("error").await;
    assert_eq!(error[CODE], "no_choice", "{error}");
    error[BODY].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_choice_is_undone_by_the_backup_that_it_names() {
    let mut scene = Scene::new().await;
    scene.work(1, "write main.txt better").await;
    let accepted = scene.choose("accept", 1, json!({})).await;
    assert_eq!(read(scene.project(), "main.txt"), "better");
    scene.chat.until("update_info").await;
    // The project's own backup can be had on any channel, and everybody is told.
    let undone = scene.choose("restore", 2, json!({"控え": accepted["控え"]})).await;
    assert_eq!((&undone["結果"], &undone["ファイル"]), (&json!("done"), &json!(["main.txt"])));
    assert_eq!(read(scene.project(), "main.txt"), "one\ntwo\nthree\n");
    let changed = scene.chat.until("update_info").await;
    assert_eq!(changed[BODY]["update_files"], json!(["main.txt"]));
    // Undoing that brings the accepted state back; one file of it is enough.
    let body = json!({"控え": undone["控え"], "パス": "main.txt"});
    let again = scene.choose("restore", 3, body).await;
    assert_eq!((&again["結果"], &again["ファイル"]), (&json!("done"), &json!(["main.txt"])));
    assert_eq!(read(scene.project(), "main.txt"), "better");

    scene.work(1, "write more.txt x").await;
    let discarded = scene.choose("discard", 1, json!({})).await;
    let rows = scene.compare(json!({"検査": false})).await;
    assert_eq!(rows[0]["ファイル数"], 0);
    let back = scene.choose("restore", 1, json!({"控え": discarded["控え"]})).await;
    assert_eq!(back["ファイル"], json!(["more.txt"]));
    let rows = scene.compare(json!({"検査": false})).await;
    assert_eq!(rows[0]["ファイル数"], 1);
    // An agent's place is no project: nobody is told of files that did not change there.
    assert!(!scene.project().join("more.txt").exists());
    // A new branch overwrites nothing.
    let branch = scene.choose("accept", 1, json!({"ブランチ": "one"})).await;
    assert_eq!((&branch["結果"], &branch["控え"]), (&json!("done"), &Value::Null));
    scene.gateway.stop().await;
}

/// As with Git LFS: git stores another text than the one on disk.
fn add_filter(project: &Path) {
    git(project, "config filter.form.clean sed\ts/real/stored/");
    git(project, "config filter.form.smudge sed\ts/stored/real/");
    std::fs::write(project.join(".gitattributes"), "*.big filter=form\n").unwrap();
    for content in ["real zero", "real one"] {
        let path = project.join("x.big");
        std::fs::write(&path, content).unwrap();
        // Older than the index, or git would read it again to be sure.
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
        git(project, "add .gitattributes x.big");
        git(project, "commit -q -m filter");
    }
    assert_eq!(git(project, "show HEAD:x.big"), "stored one");
}

#[tokio::test]
async fn an_undo_brings_back_the_content_of_a_file_with_a_filter() {
    let mut scene = Scene::new().await;
    add_filter(scene.project());
    scene.work(1, "write x.big agent").await;
    let accepted = scene.choose("accept", 1, json!({})).await;
    assert_eq!(read(scene.project(), "x.big"), "agent");
    let undone = scene.choose("restore", 1, json!({"控え": accepted["控え"]})).await;
    assert_eq!((&undone["結果"], &undone["ファイル"]), (&json!("done"), &json!(["x.big"])));
    assert_eq!(read(scene.project(), "x.big"), "real one");
    // What git stores is never written over the file, and the user is told.
    scene.work(2, "write x.big stored zero").await;
    let kept = scene.choose("accept", 2, json!({})).await;
    assert_eq!((&kept["結果"], &kept["除外"]), (&json!("done"), &json!(["x.big"])));
    assert_eq!(read(scene.project(), "x.big"), "real one");
    // The same in the shared project.
    set(&scene, json!({"CODE_AI3_PLACE": "shared"})).await;
    let result = scene.work(3, "write x.big agent").await;
    assert_eq!(read(scene.project(), "x.big"), "agent");
    let body = json!({"実行番号": result["実行番号"]});
    let undone = scene.choose("restore", 3, body).await;
    assert_eq!((&undone["ファイル"], &undone["除外"]), (&json!(["x.big"]), &json!([])));
    assert_eq!(read(scene.project(), "x.big"), "real one");
    scene.gateway.stop().await;
}

#[tokio::test]
async fn backups_are_listed_with_what_they_are_on_the_channel_and_over_http() {
    let mut scene = Scene::new().await;
    scene.work(1, "write main.txt one").await;
    scene.work(2, "write other.txt two").await;
    let accepted = scene.choose("accept", 1, json!({})).await;
    scene.choose("discard", 2, json!({})).await;
    let short = |rows: &[(Value, Value, Value)]| -> Vec<String> {
        rows.iter().map(|(before, of, _)| format!("{before} {of}").replace('"', "")).collect()
    };
    let all = listed(&mut scene, "0").await;
    assert_eq!(short(&all), ["discard 2", "accept null", "accept 1", "run 2", "run 1"]);
    assert_eq!(all[1].2, accepted["控え"]);
    let one = listed(&mut scene, "1").await;
    assert_eq!(short(&one), ["accept null", "accept 1", "run 1"]);

    let (addr, session) = (scene.gateway.addr, scene.front.session().to_owned());
    let at = |rest: &str| format!("/api/sessions/{session}/agents/{rest}");
    let told = get(&at("backups?agent=2")).local().send(addr).await.json();
    let rows = told["backups"].as_array().unwrap();
    let brief: Vec<_> =
        rows.iter().map(|row| (&row["before"], &row["agent"], &row["run"])).collect();
    assert_eq!(brief[0], (&json!("discard"), &json!(2), &Value::Null));
    assert_eq!((brief[2].0, brief[2].1), (&json!("run"), &json!(2)));
    assert!(brief[2].2.is_number() && rows.len() == 3, "{told}");
    let body = json!({"backup": rows[1]["name"], "path": "main.txt"});
    let restored = post(&at("2/restore"), &body).local().send(addr).await;
    assert_eq!((restored.status, &restored.json()["files"]), (200, &json!(["main.txt"])));
    assert!(restored.json()["backup"].is_string(), "{}", restored.json());
    assert_eq!(read(scene.project(), "main.txt"), "one\ntwo\nthree\n");
    for (path, status) in [
        (at("backups?agent=5"), 404),
        (at("backups?agent=x"), 404),
        (format!("/api/sessions/ws-{}/agents/backups", "f".repeat(32)), 404),
    ] {
        assert_eq!(get(&path).local().send(addr).await.status, status, "{path}");
    }
    assert_eq!(get(&at("backups")).send(addr).await.status, 401);
    scene.gateway.stop().await;
}

#[tokio::test]
async fn a_backup_of_another_session_is_refused_and_changes_nothing() {
    let mut scene = Scene::new().await;
    let first = scene.work(1, "write main.txt first").await;
    let run = first["実行番号"].as_u64().unwrap();
    let own = format!("{}-{run}", scene.front.session());
    let home = scene.gateway.stop().await;
    let mut scene = Scene::on(Gateway::start_at(home, |_| ()).await, None).await;
    scene.work(1, "write main.txt second").await;
    let theirs = listed(&mut scene, "1").await.pop().unwrap().2.as_str().unwrap().to_owned();
    assert_ne!(own, theirs);
    let long = "x".repeat(4000);
    for name in [own.as_str(), "nothing", "../1", "HEAD", "refs/heads/main", &long] {
        let why = refused(&mut scene, 1, json!({"控え": name})).await;
        assert!(why.contains("その名前の控えはありません"), "{name}: {why}");
    }
    let why = refused(&mut scene, 2, json!({"控え": theirs})).await;
    assert!(why.contains("エージェント 1"), "{why}");
    for path in ["nothing", "../main.txt", "/etc/passwd", ".git/config", "."] {
        let why = refused(&mut scene, 1, json!({"控え": theirs, "パス": path})).await;
        assert!(why.contains(path), "{path}: {why}");
    }
    for body in [json!({"控え": theirs, "実行番号": run}), json!({}), json!({"控え": ""})] {
        scene.send("restore", 1, body).await;
        assert_eq!(scene.front.input.until("error").await[CODE], "bad_field");
    }
    let rows = scene.compare(json!({"検査": false})).await;
    assert_eq!(rows[0]["ファイル数"], 1);
    assert_eq!(listed(&mut scene, "0").await.len(), 1);
    scene.gateway.stop().await;
}

#[tokio::test]
async fn the_project_does_not_change_under_an_agent_that_works_in_it() {
    let mut scene = Scene::new().await;
    scene.work(1, "write main.txt better").await;
    let accepted = scene.choose("accept", 1, json!({})).await;
    set(&scene, json!({"CODE_AI2_PLACE": "shared"})).await;
    scene.front.type_in("2", "sleep 30").await;
    scene.panes[1].until_where(|packet| packet[BODY] == "<<< 処理開始 >>>").await;
    let why = refused(&mut scene, 1, json!({"控え": accepted["控え"]})).await;
    assert!(why.contains("プロジェクトの中で作業中"), "{why}");
    assert_eq!(read(scene.project(), "main.txt"), "better");
    scene.front.input.send(&json!({KIND: "cancel_run", CHANNEL: "2"})).await;
    scene.panes[1].until_where(|packet| packet[BODY] == "<<< 処理中断 >>>").await;
    // One in a place of its own does not mind.
    scene.front.type_in("3", "sleep 30").await;
    scene.panes[2].until_where(|packet| packet[BODY] == "<<< 処理開始 >>>").await;
    scene.front.type_in("4", "write a.txt x").await;
    scene.panes[3].until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    let undone = scene.choose("restore", 1, json!({"控え": accepted["控え"]})).await;
    assert_eq!(undone["結果"], "done");
    scene.gateway.stop().await;
}

#[tokio::test]
async fn a_project_without_git_has_the_backups_of_its_files() {
    let home = Arc::new(crate::support::Home::new());
    std::fs::write(home.project.path().join("main.txt"), "before").unwrap();
    let mut scene = Scene::on(Gateway::start_at(home, |_| ()).await, None).await;
    let result = scene.work(1, "write main.txt after\nwrite new.txt x").await;
    assert_eq!(result[BODY]["場所"], "shared");
    let rows = listed(&mut scene, "1").await;
    let (before, of, oldest) = rows.last().unwrap();
    assert_eq!((before, of), (&Value::Null, &Value::Null));
    let why = refused(&mut scene, 1, json!({"実行番号": result["実行番号"]})).await;
    assert!(why.contains("git リポジトリの中にない"), "{why}");
    for name in ["nothing", "20000101/000000", "../20000101/000000"] {
        let why = refused(&mut scene, 1, json!({"控え": name})).await;
        assert!(why.contains("その控えはありません"), "{name}: {why}");
    }
    let restored = scene.choose("restore", 1, json!({"控え": oldest})).await;
    assert_eq!(restored["ファイル"], json!(["main.txt", "new.txt"]));
    assert_eq!(read(scene.project(), "main.txt"), "before");
    scene.chat.until("update_info").await;
    let undone =
        scene.choose("restore", 1, json!({"控え": restored["控え"], "パス": "new.txt"})).await;
    assert_eq!(undone["ファイル"], json!(["new.txt"]));
    assert_eq!(
        (read(scene.project(), "new.txt"), read(scene.project(), "main.txt")),
        ("x".into(), "before".into())
    );
    scene.gateway.stop().await;
}

fn check(config: &mut Config, script: &str) {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let limit = Duration::from_secs(60);
    config.check = Some(CheckCommand { command, env: vec![], limit, network: false });
}

#[tokio::test]
async fn each_check_has_its_own_temporary_files() {
    let script = "ls $TMPDIR; echo x > $TMPDIR/left-$$; echo in $TMPDIR";
    let mut scene = Scene::with(|config| {
        check(config, script);
        config.supervisor = env!("CARGO_BIN_EXE_kakehashi").into();
    })
    .await;
    scene.work(1, "write main.txt one").await;
    scene.work(2, "write main.txt two").await;
    let rows = scene.compare(json!({})).await;
    let outputs = [0, 1].map(|row: usize| rows[row]["検査"]["出力"].as_str().unwrap().to_owned());
    assert!(outputs.iter().all(|output| output.starts_with("in /")), "{rows:?}");
    assert_ne!(outputs[0], outputs[1]);
    scene.gateway.stop().await;
}

#[tokio::test]
async fn what_a_check_leaves_behind_is_no_work_of_the_agent() {
    let script =
        "git status --porcelain; echo made > made.txt; echo broken > main.txt; rm notes.txt";
    let mut scene = Scene::with(|config| check(config, script)).await;
    scene.work(1, "write main.txt good\nwrite new.txt x").await;
    let rows = scene.compare(json!({})).await;
    assert_eq!(rows[0]["検査"]["終了コード"], 0, "{rows:?}");
    assert_eq!(rows[0]["ファイル数"], 2);
    // It ran where the agent's files are, in a checkout.
    let output = rows[0]["検査"]["出力"].as_str().unwrap();
    assert!(output.contains("main.txt") && output.contains("new.txt"), "{output}");
    let places = scene.gateway.home.data.path().join("worktrees").join(scene.front.session());
    let left = |places: &Path| std::fs::read_dir(places).unwrap().count();
    assert_eq!(left(&places), 1, "the copy is gone");
    scene.send("diff", 1, json!({})).await;
    let diff = scene.panes[0].until("diff").await;
    assert!(!diff[BODY]["差分"].as_str().unwrap().contains("made.txt"), "{diff}");
    let accepted = scene.choose("accept", 1, json!({})).await;
    assert_eq!(accepted["ファイル"], json!(["main.txt", "new.txt"]));
    assert_eq!(read(scene.project(), "main.txt"), "good");
    assert!(!scene.project().join("made.txt").exists());
    assert!(scene.project().join("notes.txt").exists());
    scene.gateway.stop().await;
}

#[tokio::test]
async fn comparisons_diffs_and_lists_at_once_are_limited() {
    let mut scene = Scene::with(|config| check(config, "sleep 60")).await;
    scene.work(1, "write main.txt good").await;
    for _ in 0..4 {
        scene.front.input.send(&json!({KIND: "compare", BODY: {}})).await;
    }
    for kind in ["compare", "diff", "backups"] {
        scene.send(kind, 1, json!({})).await;
        let error = scene.front.input.until("error").await;
        assert_eq!(error[CODE], "no_choice");
        assert!(error[BODY].as_str().unwrap().contains("ほかの成果を調べている"), "{error}");
    }
    // A choice is no look.
    assert_eq!(scene.choose("discard", 1, json!({})).await["結果"], "done");
    scene.gateway.stop().await;
}
