//! Golden frames: the seed's samples word for word, and one frame of every kind that the server sends.
//! `UPDATE_FIXTURES=1 cargo test golden` writes the latter anew; the page's tests read them too.

use crate::samples::{
    ASSUMED, BACKUP, backups, comparison_row, confirmation, decision, diff_note, execution, figure,
    file_note, logged, run_summary, steps, tool_note, usage, version,
};
use bytes::Bytes;
use kakehashi::dialect::aicore::{AicoreDialect, UNSTATED_RATE};
use kakehashi::dialect::{Dialect, Encoder, Frame, FrameError, Received};
use kakehashi::locale::Locale;
use kakehashi::message::{
    AgentReport, AgentSet, AgentSlot, AgentState, AnswerNote, Artifact, ArtifactKind, AudioChunk,
    Branch, CancelScope, Channel, CheckWish, Choice, ChoiceKind, Chosen, ChosenOutcome, Command,
    ConfirmId, Confirmed, Conflict, DecidedBy, Delivery, Event, Features, FileList, FileNote,
    Generation, Inbound, Interruption, KnownList, ListKind, ListRoots, ListScope, ListedFile,
    NextAction, Notice, PlanStep, PlanStepState, PlaybackAck, Problem, Recorded, ReportStage,
    RequestNo, RestorePoint, Route, RunId, RunOutcome, SecondYes, SessionId, Signal, Speaker,
    StateNote, StopReason, SystemNotice, TalkKey, ToolNote, ToolState, TurnTimes, Typed,
    WatchTarget, WatchWish, Work,
};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/aicore")
        .join(format!("{name}.json"))
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|err| panic!("{name}: {err}"))
}

fn typed(text: &str) -> Typed {
    Typed::on_socket(text.to_owned())
}

fn dialect(channel: Channel) -> AicoreDialect {
    AicoreDialect::new(
        SessionId::parse(&format!("ws-{}", "0".repeat(32))).unwrap(),
        channel,
        Locale::Ja,
    )
}

/// What a client sends: the sample with its placeholder filled.
#[track_caller]
fn check_sent(name: &str, own: Channel, expected: Command) {
    let frame =
        fixture(name).replace("<base64_pcm>", "AAEC/w==").replace("<base64_image>", "AAEC/w==");
    let read = dialect(own).decode(Received::Text(&frame));
    assert_eq!(read, Ok(Inbound { request: None, command: expected }.into()), "{name}");
}

/// What the server sends: the sample, key by key, and beyond it nothing but the number of the packet.
#[track_caller]
fn check_answer(name: &str, delivery: &Delivery, ours: &str) {
    let mut frames = Vec::new();
    dialect(Channel::File).encode(delivery, &mut frames);
    let mut frame: Value = serde_json::from_str(&joined(&frames)).unwrap();
    let sample: Value = serde_json::from_str(&fixture(name).replace("<base64_pcm>", ours)).unwrap();
    frame.as_object_mut().unwrap().remove("連番");
    frame["セッションID"] = sample["セッションID"].clone();
    assert_eq!(frame, sample, "{name}");
}

#[test]
fn the_seeds_client_samples_are_understood() {
    let bytes = Bytes::from_static(&[0, 1, 2, 255]);
    let audio = Recorded { rate: UNSTATED_RATE, pcm: bytes.clone() };
    check_sent("seed_7_1_input_audio", Channel::Audio, Command::SendAudio(audio));
    let text = Command::SendText { route: Route::Chat, text: typed("こんにちは") };
    check_sent("seed_7_2_input_text", Channel::Input, text);
    let list = Command::ListFiles {
        kind: ListKind::Backup,
        scope: ListScope::Usual,
        answer_on: Channel::File,
        known: None,
    };
    check_sent("seed_7_4_files_backup_request", Channel::Input, list);
    check_sent("seed_7_7_input_image", Channel::Input, Command::ShowImage { bytes });
    let cancel = Command::CancelRun {
        channel: Channel::Agent(AgentSlot::ALL[0]),
        scope: CancelScope::Current,
    };
    check_sent("seed_7_8_cancel_run", Channel::Input, cancel);
}

#[test]
fn known_lists_watches_and_answers_are_understood() {
    let list = |kind, scope, newest: &str, count| Command::ListFiles {
        kind,
        scope,
        answer_on: Channel::File,
        known: Some(KnownList { newest: Some(newest.to_owned()), count }),
    };
    check_sent(
        "client_files_backup_known",
        Channel::Input,
        list(ListKind::Backup, ListScope::Usual, "2026/02/26 20:00:00", 2),
    );
    check_sent(
        "client_files_temp_all",
        Channel::Input,
        list(ListKind::Temp, ListScope::All, "2026/02/26 20:44:53", 12),
    );
    let watch = |target, wish| Command::WatchFiles { target, wish };
    check_sent(
        "client_files_watch",
        Channel::Input,
        watch(WatchTarget::One(ListKind::Backup), WatchWish::Start),
    );
    check_sent(
        "client_files_watch_stop",
        Channel::Input,
        watch(WatchTarget::Every, WatchWish::Stop),
    );
    let (id, confirmed) = (ConfirmId::new("c0ffee"), Confirmed::Approved);
    let answer =
        Command::Confirm { id, confirmed, always: false, call: None, second: SecondYes::Missing };
    check_sent("client_confirm_answer", Channel::Input, answer);
    for wrong in [
        r#"{"メッセージ識別":"confirm_answer","メッセージ内容":{"id":"a","承認":"yes"}}"#,
        r#"{"メッセージ識別":"confirm_answer"}"#,
        r#"{"メッセージ識別":"files_watch","メッセージ内容":{"対象":"file"}}"#,
        r#"{"メッセージ識別":"files_temp","メッセージ内容":{"件数":"3"}}"#,
    ] {
        let refused = dialect(Channel::Input).decode(Received::Text(wrong)).unwrap_err();
        assert_eq!(refused.error.code(), "bad_field", "{wrong}");
    }
}

#[test]
fn the_seeds_server_samples_are_what_we_send() {
    let audio = AudioChunk { rate: 24_000, pcm: Bytes::from_static(&[0, 1, 2, 255]) };
    check_answer(
        "seed_7_3_output_audio",
        &Delivery::Passing(Signal::Audio { generation: Generation(1), chunk: audio }),
        "AAEC/w==",
    );
    let file = |path: &str, modified: &str| ListedFile {
        path: path.to_owned(),
        modified: modified.into(),
    };
    let backup = FileList {
        roots: ListRoots::Backup {
            project: "D:\\project".to_owned(),
            backup: "D:\\backup".to_owned(),
        },
        newest: Some("2026/02/26 20:00:00".to_owned()),
        files: vec![
            file("src/main.py", "2026/02/26 19:30:00"),
            file("src/utils.py", "2026/02/25 10:00:00"),
        ],
    };
    check_answer(
        "seed_7_5_files_backup",
        &logged(Channel::File, list(ListKind::Backup, backup)),
        "",
    );
    let temp = FileList {
        roots: ListRoots::Temp,
        newest: Some("2026/02/26 20:44:53".to_owned()),
        files: vec![
            file("temp/input/20260226.204453.image.png", "2026/02/26 20:44:53"),
            file("temp/output/result.txt", "2026/02/26 20:40:00"),
        ],
    };
    check_answer("seed_7_6_files_temp", &logged(Channel::File, list(ListKind::Temp, temp)), "");
}

#[test]
fn choices_about_the_work_of_agents_are_understood() {
    let [one, two, _, four] = AgentSlot::ALL;
    let some: AgentSet = [one, two, four].into_iter().collect();
    let path = || Some("src/main.rs".to_owned());
    check_sent(
        "client_compare",
        Channel::Input,
        Command::Compare { agents: some, check: CheckWish::Run },
    );
    check_sent("client_diff", Channel::Input, Command::ShowDiff { agent: two, path: path() });
    let choose = |choice| Command::Choose { agent: two, choice };
    let (name, message) = ("agent/fix".to_owned(), Some("Fix the parser".to_owned()));
    let accept =
        Choice::Accept { branch: Some(Branch { name, message }), version: Some(version()) };
    check_sent("client_accept", Channel::Input, choose(accept));
    check_sent("client_discard", Channel::Input, choose(Choice::Discard));
    let point = RestorePoint::Before(RunId(3));
    check_sent("client_restore", Channel::Input, choose(Choice::Restore { point, path: path() }));
    let point = RestorePoint::Named(BACKUP.to_owned());
    let named = Choice::Restore { point, path: None };
    check_sent("client_restore_named", Channel::Input, choose(named));
    check_sent("client_backups", Channel::Input, Command::ListBackups { agent: Some(two) });
    let all = r#"{"メッセージ識別":"backups"}"#;
    let read =
        dialect(Channel::Input).decode(Received::Text(all)).unwrap().into_one().unwrap().command;
    assert_eq!(read, Command::ListBackups { agent: None });
    let text = |agents| Command::SendText {
        route: Route::AgentsFromChat(agents),
        text: typed("直して"),
    };
    check_sent("client_fan_out", Channel::Input, text(some));
    check_sent("client_code_all", Channel::Input, text(AgentSet::ALL));
    for (wrong, code) in [
        (r#"{"メッセージ識別":"restore","チャンネル":"1"}"#, "bad_field"),
        (
            r#"{"メッセージ識別":"restore","チャンネル":"1","メッセージ内容":{"実行番号":3,"控え":"a"}}"#,
            "bad_field",
        ),
        (
            r#"{"メッセージ識別":"restore","チャンネル":"1","メッセージ内容":{"控え":7}}"#,
            "bad_field",
        ),
        (r#"{"メッセージ識別":"backups","チャンネル":"file"}"#, "wrong_channel"),
        (r#"{"メッセージ識別":"diff","チャンネル":"0"}"#, "wrong_channel"),
        (r#"{"メッセージ識別":"accept"}"#, "wrong_channel"),
        (r#"{"メッセージ識別":"compare","出力先チャンネル":"1,5"}"#, "bad_field"),
        (
            r#"{"メッセージ識別":"input_text","出力先チャンネル":"1,x","メッセージ内容":"a"}"#,
            "bad_field",
        ),
    ] {
        let refused = dialect(Channel::Input).decode(Received::Text(wrong)).unwrap_err();
        assert_eq!(refused.error.code(), code, "{wrong}");
    }
}

fn list(kind: ListKind, list: FileList) -> Event {
    Event::Files { kind, list: Some(Arc::new(list)) }
}

fn unchanged(kind: ListKind, count: usize) -> Delivery {
    let newest = (count > 0).then(|| "2026/02/26 20:00:00".to_owned());
    let list = KnownList { newest, count };
    Delivery::Passing(Signal::FilesUnchanged { kind, channel: Channel::File, list })
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn every_kind_the_server_sends_has_its_golden_frame() {
    let agent = AgentSlot::ALL[1];
    let pane = Channel::Agent(agent);
    let note = file_note();
    let report = |stage| Event::AgentReport(AgentReport { agent, stage });
    let changed = |by| Event::FilesChanged { paths: vec!["src/main.rs".into()], by, copy_of: None };
    let answer = || "42 \"quoted\"\nlines".to_owned();
    let rows: Vec<(&str, Channel, Delivery)> = vec![
        ("input_text", Channel::Chat, {
            let attachments = vec!["temp/input/a.png".to_owned()];
            logged(Channel::Chat, Event::UserText { text: "これは？".into(), attachments })
        }),
        (
            "input_request",
            pane,
            logged(pane, Event::UserRequest { text: "直して".into(), attachments: vec![] }),
        ),
        ("input_file", Channel::Chat, logged(Channel::Chat, Event::UserFile(note.clone()))),
        (
            "output_text",
            Channel::Chat,
            logged(
                Channel::Chat,
                Event::Text { text: answer(), run: Some(RunId(3)), note: AnswerNote::default() },
            ),
        ),
        ("output_stream_started", pane, logged(pane, Event::RunStarted(RunId(3)))),
        ("output_stream_line", pane, logged(pane, Event::RunLine("\u{1b}[1mbold".into()))),
        ("output_stream_piece", pane, {
            let text = "\n\n次に".into();
            Delivery::Passing(Signal::AnswerPart { channel: pane, run: RunId(3), text })
        }),
        ("output_stream_answer_lines", pane, {
            let text = "見ます。\n次に".into();
            Delivery::Passing(Signal::AnswerLines { channel: pane, text })
        }),
        ("output_stream_finished", pane, logged(pane, Event::RunEnded(RunOutcome::Finished))),
        ("output_stream_cancelled", pane, logged(pane, Event::RunEnded(RunOutcome::Cancelled))),
        ("output_stream_failed", pane, logged(pane, Event::RunEnded(RunOutcome::Failed))),
        ("output_file", pane, logged(pane, Event::FileMade(note))),
        ("output_request", Channel::Chat, {
            let by = Some(agent);
            logged(Channel::Chat, Event::RequestAnswered { text: answer(), by })
        }),
        ("update_info", pane, logged(pane, changed(None))),
        ("update_info_chat", Channel::Chat, logged(Channel::Chat, changed(Some(agent)))),
        ("recognition_input", Channel::Chat, {
            logged(
                Channel::Chat,
                Event::Transcript {
                    speaker: Speaker::User,
                    text: "もしもし".into(),
                    interrupted: None,
                },
            )
        }),
        ("recognition_output", Channel::Chat, {
            logged(
                Channel::Chat,
                Event::Transcript {
                    speaker: Speaker::Model,
                    text: "はい".into(),
                    interrupted: None,
                },
            )
        }),
        ("confirm_request", Channel::Input, {
            logged(Channel::Input, Event::ConfirmAsked(confirmation(agent)))
        }),
        ("confirm_result", Channel::Input, {
            let (confirmed, by) = (Confirmed::Approved, DecidedBy::User);
            let (id, number) = (ConfirmId::new("c0ffee"), 3);
            logged(
                Channel::Input,
                Event::ConfirmSettled { id, channel: pane, number, confirmed, by },
            )
        }),
        ("cancel_run", pane, logged(pane, Event::CancelTaken)),
        (
            "agent_started",
            Channel::Input,
            logged(Channel::Input, report(ReportStage::Started { request: "直して".into() })),
        ),
        ("agent_stopped", Channel::Input, logged(Channel::Input, report(ReportStage::Stopped))),
        ("queued", pane, logged(pane, Event::Notice(Notice::Queued { run: RunId(4), place: 1 }))),
        (
            "interrupted",
            pane,
            logged(
                pane,
                Event::Notice(Notice::RunInterrupted {
                    run: RunId(3), request: "直して".into()
                }),
            ),
        ),
        (
            "project_gone",
            pane,
            logged(pane, Event::Notice(Notice::ProjectGone { project: "/srv/app".into() })),
        ),
        ("output_audio", Channel::Audio, {
            Delivery::Passing(Signal::Audio {
                generation: Generation(1),
                chunk: AudioChunk { rate: 24_000, pcm: Bytes::from_static(&[0, 0, 255, 127]) },
            })
        }),
        (
            "cancel_audio",
            Channel::Audio,
            Delivery::Passing(Signal::StopPlayback {
                generation: Some(Generation(1)),
                reason: StopReason::UserSpeaks,
            }),
        ),
        (
            "heartbeat",
            Channel::Input,
            Delivery::Passing(Signal::Heartbeat { count: 2, uptime_seconds: 10.25 }),
        ),
        ("files_backup_unchanged", Channel::File, unchanged(ListKind::Backup, 2)),
        ("files_temp_unchanged", Channel::File, unchanged(ListKind::Temp, 0)),
        (
            "ack",
            Channel::Input,
            Delivery::Passing(Signal::Ack {
                request: RequestNo::Text("a-1".into()),
                repeated: false,
            }),
        ),
        ("error", Channel::Input, {
            let request = Some(RequestNo::Number(2));
            Delivery::Passing(Signal::Failed {
                problem: Problem::QueueFull { waiting: 16 },
                request,
            })
        }),
        (
            "system_info",
            Channel::Chat,
            Delivery::Passing(Signal::System(SystemNotice::Say("再起動します".into()))),
        ),
    ];
    for (name, own, delivery) in rows {
        check_golden(name, &dialect(own), &delivery);
    }
}

#[track_caller]
fn joined(frames: &[Frame]) -> String {
    frames.iter().filter_map(Frame::text).collect()
}

fn check_golden(name: &str, dialect: &AicoreDialect, delivery: &Delivery) {
    let mut frames = Vec::new();
    dialect.encoder().encode(delivery, &mut frames);
    assert_eq!(frames.len(), 1, "{name}");
    let frame = joined(&frames) + "\n";
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        std::fs::write(path(&format!("server_{name}")), &frame).unwrap();
    }
    assert_eq!(fixture(&format!("server_{name}")), frame, "{name}");
}

#[test]
fn sound_has_its_generation_for_clients_with_playback() {
    let playing = |channel| {
        dialect(channel).with_features(Features { playback: true, ..Features::default() })
    };
    let generation = Generation(3);
    let chunk = AudioChunk { rate: 24_000, pcm: Bytes::from_static(&[0, 0, 255, 127]) };
    let audio = Delivery::Passing(Signal::Audio { generation, chunk });
    check_golden("output_audio_generation", &playing(Channel::Audio), &audio);
    let reason = StopReason::UserSpeaks;
    let stop = Signal::StopPlayback { generation: Some(generation), reason };
    check_golden("cancel_audio_generation", &playing(Channel::Audio), &Delivery::Passing(stop));
    let heard = Duration::from_millis(1200);
    let cut = Event::Transcript {
        speaker: Speaker::Model,
        text: "はい、それは".into(),
        interrupted: Some(Interruption { heard }),
    };
    let cut = logged(Channel::Chat, cut);
    check_golden("recognition_output_interrupted", &dialect(Channel::Chat), &cut);
    let times = Signal::TurnTimes(TurnTimes {
        end_of_turn: Some(Duration::from_millis(480)),
        first_sound: Some(Duration::from_millis(310)),
        first_sent: Some(Duration::from_millis(1)),
        first_played: Some(Duration::from_millis(140)),
        ..TurnTimes::default()
    });
    check_golden("metrics", &playing(Channel::Audio), &Delivery::Passing(times));
}

#[test]
fn playback_reports_and_the_talk_key_are_understood() {
    let ack = PlaybackAck {
        generation: Generation(3),
        samples: 24_000,
        buffered: Duration::from_millis(180),
        underruns: 0,
    };
    check_sent("client_playback_ack", Channel::Audio, Command::AckPlayback(ack));
    let pressed = Command::PressTalkKey(TalkKey::Pressed);
    check_sent("client_push_to_talk", Channel::Audio, pressed);
    for wrong in [
        r#"{"メッセージ識別":"playback_ack"}"#,
        r#"{"メッセージ識別":"playback_ack","メッセージ内容":{"世代番号":1}}"#,
        r#"{"メッセージ識別":"playback_ack","メッセージ内容":{"世代番号":-1,"再生サンプル数":1}}"#,
        r#"{"メッセージ識別":"push_to_talk","メッセージ内容":{"状態":"held"}}"#,
        r#"{"メッセージ識別":"push_to_talk","メッセージ内容":"start"}"#,
    ] {
        let refused = dialect(Channel::Audio).decode(Received::Text(wrong)).unwrap_err();
        assert_eq!(refused.error.code(), "bad_field", "{wrong}");
        let refused = dialect(Channel::Input).decode(Received::Text(wrong)).unwrap_err();
        assert_eq!(refused.error.code(), "no_audio_here", "{wrong}");
    }
}

#[test]
fn every_packet_about_agents_has_its_golden_frame() {
    let agent = AgentSlot::ALL[1];
    let pane = Channel::Agent(agent);
    let steps = PlanStepState::ALL.map(|state| PlanStep { text: state.name().into(), state });
    let done =
        |kind, outcome| logged(pane, Event::Chosen(Chosen { agent, project: None, kind, outcome }));
    let rows: Vec<(&str, Channel, Delivery)> = vec![
        ("tool", pane, logged(pane, Event::Tool(tool_note(ToolState::Completed)))),
        ("plan", pane, logged(pane, Event::Plan(steps.into()))),
        ("result", pane, logged(pane, Event::RunSummed(run_summary()))),
        ("usage", pane, {
            let (run, usage) = (RunId(3), usage());
            Delivery::Passing(Signal::Usage { agent, run, usage })
        }),
        ("state", pane, {
            let note = StateNote { state: AgentState::ExecutingTool, run: Some(RunId(3)) };
            Delivery::Passing(Signal::State { channel: Channel::Agent(agent), note })
        }),
        ("compare", Channel::Chat, {
            Delivery::Passing(Signal::Compared { rows: vec![comparison_row(agent)].into() })
        }),
        ("diff", pane, Delivery::Passing(Signal::Diff(Arc::new(diff_note(agent))))),
        ("backups", pane, Delivery::Passing(Signal::Backups(Arc::new(backups(agent))))),
        ("accept", pane, {
            let conflict = Conflict { path: "src/main.rs".into(), kind: "content".into() };
            done(ChoiceKind::Accept, ChosenOutcome::Conflicts(vec![conflict]))
        }),
        ("discard", pane, {
            let files = vec!["src/main.rs".to_owned()];
            let (backup, left_out) = (Some(BACKUP.to_owned()), vec!["vendor/lib/".to_owned()]);
            done(ChoiceKind::Discard, ChosenOutcome::Done { files, branch: None, backup, left_out })
        }),
        ("restore", pane, {
            let reason = "the server's disk is full; ask the operator to make room, then try again"
                .to_owned();
            done(ChoiceKind::Restore, ChosenOutcome::Failed { reason })
        }),
    ];
    let knowing =
        |own| dialect(own).with_features(Features { agents: true, ..Features::default() });
    for (name, own, delivery) in rows {
        check_golden(name, &knowing(own), &delivery);
    }
}

/// Frontends that have never heard of agents' packets show what they have always shown.
#[test]
fn other_frontends_get_lines_about_agents() {
    let pane = Channel::Agent(AgentSlot::ALL[1]);
    let shown = |event| {
        let mut frames = Vec::new();
        dialect(pane).encode(&logged(pane, event), &mut frames);
        let frame: Value = serde_json::from_str(&joined(&frames)).unwrap();
        (frame["メッセージ識別"].clone(), frame["メッセージ内容"].as_str().unwrap().to_owned())
    };
    let (kind, line) = shown(Event::Tool(tool_note(ToolState::Started)));
    assert_eq!(
        (kind.as_str(), line.as_str()),
        (Some("output_stream"), "[ツール] Write src/main.rs: ...")
    );
    let ungated = ToolNote { ungated: true, ..tool_note(ToolState::Completed) };
    assert_eq!(shown(Event::Tool(ungated)).1, "[ツール] Write src/main.rs: 完了（承認なし）");
    let (_, lines) = shown(Event::RunSummed(run_summary()));
    assert_eq!(
        lines,
        "[ファイル] 1 個を変更, +10 -3\n[ファイル] src/main.rs: エージェント 3 も変更\n\
         [ファイル] vendor/lib/: 結果に含まれません"
    );
    let chosen = Chosen {
        agent: AgentSlot::ALL[1],
        project: None,
        kind: ChoiceKind::Accept,
        outcome: ChosenOutcome::Failed { reason: "x".into() },
    };
    let (kind, text) = shown(Event::Chosen(chosen));
    assert_eq!(kind, "output_text");
    assert!(text.contains('2') && text.contains('x'), "{text}");
}

/// Frontends that know nothing of an analyst show its steps by packets that they have always known. The answer follows
/// as a text, so a question and a report are not told twice.
#[test]
fn every_step_of_an_analyst_is_shown_by_packets_of_old() {
    let reason = |next, assumption| Work::Decision(decision(next, assumption));
    let exec = |stdout, error| Work::Execution(execution(stdout, error));
    let table = Artifact {
        kind: ArtifactKind::Table,
        file: FileNote {
            name: "totals.csv".into(),
            path: Some("workspace/20261118200000/totals.csv".into()),
            thumbnail: None,
        },
        media_type: "text/csv".into(),
        ..figure()
    };
    let error = Some("KeyError: 'area'");
    let mut rows: Vec<_> = steps().into_iter().filter(|(name, _)| *name != "report").collect();
    rows.extend([
        ("reason_sure", reason(NextAction::Act, None)),
        ("reason_finalize", reason(NextAction::Finalize, Some(ASSUMED))),
        ("reason_finalize_sure", reason(NextAction::Finalize, None)),
        ("exec_failed", exec("East 120\n", error)),
        ("exec_failed_silent", exec("", error)),
        ("exec_silent", exec("\n", None)),
        // A program that prints a mark must not look as if its run had failed.
        ("exec_mark", exec("!\n", None)),
        ("artifact_table", Work::Artifact(table)),
    ]);
    for (name, step) in rows {
        let delivery = logged(Channel::Chat, Event::Work(step));
        check_golden(&format!("work_{name}"), &dialect(Channel::Chat), &delivery);
    }
    let report = steps().into_iter().find(|(name, _)| *name == "report").unwrap().1;
    for told_by_the_answer in [reason(NextAction::Ask, None), report] {
        let mut frames = Vec::new();
        let delivery = logged(Channel::Chat, Event::Work(told_by_the_answer));
        dialect(Channel::Chat).encode(&delivery, &mut frames);
        assert_eq!(frames, [], "{delivery:?}");
    }
}
