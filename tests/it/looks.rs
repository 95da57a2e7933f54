//! What the built-in agent reads, lists and searches passes the same gate as what it changes.

use crate::findings::{audit, decided};
use crate::process::Process;
use crate::support::{BODY, Client, Frontend, Home, KIND};
use serde_json::{Value, json};

/// Packets of the first pane for a frontend that sees everything.
async fn pane(process: &Process, session: &str) -> Client {
    let more = json!({"機能": ["confirm", "agents"]});
    let mut pane = Client::open_with(process.addr, "1", Some(session), more).await;
    pane.until("welcome_text").await;
    pane
}

fn gateway(home: &Home, more: &str) -> Process {
    let settings = format!("language = \"en\"\nmodels = \"auto\"\n{more}");
    Process::start(home, &settings)
}

/// Everything up to the answer, and the answer.
async fn ask(front: &mut Frontend, pane: &mut Client, text: &str) -> (Vec<Value>, String) {
    front.type_in("1", text).await;
    let packets = pane.collect_until(|packet| packet[KIND] == "output_text").await;
    let answer = packets.last().unwrap()[BODY].as_str().unwrap().to_owned();
    (packets, answer)
}

#[tokio::test]
async fn reading_in_the_place_of_work_is_allowed_at_once_and_audited() {
    let home = Home::new();
    std::fs::write(home.project.path().join("a.txt"), "one needle\n").unwrap();
    let process = gateway(&home, "");
    let mut front = Frontend::open(process.addr, None).await;
    let mut pane = pane(&process, front.session()).await;
    for command in ["/read a.txt", "/list", "/search needle"] {
        let (packets, answer) = ask(&mut front, &mut pane, command).await;
        assert!(answer.contains("a.txt") || answer.contains("one needle"), "{answer}");
        for packet in &packets {
            assert_ne!(packet[KIND], "confirm_request", "{packet}");
            assert_ne!(packet[BODY]["承認なし"], true, "{packet}");
            assert_ne!(packet[BODY]["状態"], "waiting_for_confirmation", "{packet}");
        }
        assert_eq!(audit(&home)[0], decided("allowed", "rule"), "{command}");
    }
    assert_eq!(audit(&home).len(), 3);
}

#[tokio::test]
async fn what_the_box_hides_is_not_there_for_the_built_in_agent_either() {
    let home = Home::new();
    let project = home.project.path().canonicalize().unwrap();
    std::fs::create_dir(project.join("keys")).unwrap();
    for path in ["keys/id", "plan.txt", "open.txt"] {
        std::fs::write(project.join(path), "needle\n").unwrap();
    }
    std::os::unix::fs::symlink("keys", project.join("alias")).unwrap();
    let shown = project.display();
    let hidden = format!("[box]\nhidden = [\"{shown}/keys\", \"{shown}/plan.txt\"]\n");
    let process = gateway(&home, &hidden);
    let mut front = Frontend::open(process.addr, None).await;
    let mut pane = pane(&process, front.session()).await;
    for command in
        ["/read keys/id", "/read plan.txt", "/read alias/id", "/list keys", "/write keys/new\nx"]
    {
        let (_, answer) = ask(&mut front, &mut pane, command).await;
        assert!(answer.contains(" does not exist"), "{command}: {answer}");
    }
    let (_, found) = ask(&mut front, &mut pane, "/search needle").await;
    assert_eq!(found.trim(), "open.txt:1: needle");
    let (_, found) = ask(&mut front, &mut pane, "/list").await;
    assert!(
        found.contains("open.txt") && !found.contains("plan.txt") && !found.contains("keys/id"),
        "{found}"
    );
}

#[tokio::test]
async fn reads_outside_the_project_or_of_denied_paths_are_refused() {
    let home = Home::new();
    let rules = home.data.path().join("rules.toml");
    let shipped = include_str!("../../config/policy.toml");
    let deny = "[[deny]]\ntool = \"read\"\npattern = 'diary'\nreason = \"private\"\n";
    std::fs::write(&rules, format!("{deny}{shipped}")).unwrap();
    std::fs::write(home.project.path().join("diary.txt"), "dear diary\n").unwrap();
    let process = gateway(&home, &format!("policy = \"{}\"\n", rules.display()));
    let mut front = Frontend::open(process.addr, None).await;
    let mut pane = pane(&process, front.session()).await;
    for command in ["/read diary.txt", "/read /etc/hostname", "/list /etc", "/search x ../.."] {
        let (_, answer) = ask(&mut front, &mut pane, command).await;
        assert!(answer.contains("not allowed"), "{command}: {answer}");
        assert_eq!(audit(&home)[0], decided("refused", "rule"), "{command}");
    }
}
