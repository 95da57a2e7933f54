//! What clients may send is the same in the document and in the code that reads it, for any mixture of keys.

use crate::protocol::{Way, protocol};
use crate::support::{BODY, CHANNEL, KIND, REQUEST};
use kakehashi::dialect::aicore::DecodeError;
use kakehashi::dialect::aicore::{AicoreDialect, client_kinds, read_connect};
use kakehashi::dialect::{Dialect, Received};
use kakehashi::locale::Locale;
use kakehashi::message::{Channel, SessionId};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

/// Everything a client may send; that no other is there is checked where the document is.
const TARGET: &str = "出力先チャンネル";
const OF_AUDIO: [&str; 4] = ["input_audio", "cancel_audio", "playback_ack", "push_to_talk"];

/// What means something to one of them, right and wrong.
fn bodies() -> Value {
    json!([
        "a", "", " ", null, 5, "image/png", "audio/pcm", "audio/pcm;rate=24000", "aGVsbG8=", {},
        {"ボタン": {"a": true, "b": 1.5, "c": "d"}}, {"ボタン": {"a": null}}, {"ボタン": []},
        {"世代番号": 1, "再生サンプル数": 24000, "残ミリ秒": 1.5}, {"世代番号": 1}, {"世代番号": -1, "再生サンプル数": 0},
        {"状態": "start"}, {"状態": "pause"},
        {"最終ファイル日時": "2026/11/17 10:00:00", "件数": 3}, {"件数": -1}, {"作業ファイル日時": 5}, {"全件": true}, {"全件": "all"},
        {"対象": "files_temp", "停止": true}, {"対象": "everything"}, {"停止": 1},
        [], ["b", "c"], {"id": "q", "承認": true}, {"id": "q", "承認": false, "常に": true}, {"id": "q"}, {"id": "q", "承認": "yes"}, {"id": 7, "承認": true},
        {"検査": false}, {"検査": 1}, {"パス": "a.txt"}, {"パス": 7}, {"パス": null},
        {"ブランチ": "b", "コメント": "c"}, {"ブランチ": 7}, {"ブランチ": "", "コメント": null},
        {"実行番号": 4}, {"実行番号": -1}, {"控え": "x"}, {"控え": " "}, {"実行番号": 4, "控え": "x"}, {"実行番号": null, "控え": "x", "パス": "a"},
    ])
}

/// A key is left out, or has one of these values.
fn packet(keys: Vec<(&'static str, Value)>) -> impl Strategy<Value = Map<String, Value>> {
    let choices: Vec<_> = keys
        .into_iter()
        .map(|(key, values)| {
            (Just(key), select(values.as_array().unwrap().clone()), any::<Index>())
        })
        .collect();
    // Every key is there three times out of four.
    let kept = |row: (&str, Value, Index)| (row.2.index(4) > 0).then(|| (row.0.to_owned(), row.1));
    choices.prop_map(move |rows| rows.into_iter().filter_map(kept).collect())
}

fn command() -> impl Strategy<Value = Map<String, Value>> {
    packet(vec![
        (CHANNEL, json!(["input", "audio", "file", "0", "1", "4", 0, 2, null, "9", 7, true])),
        (TARGET, json!(["0", "3", "input", "file", "1,2", "1,5", 1, null])),
        ("送信モード", json!(["Chat", "live", "Code2", "code", null, "Code5", 3])),
        (BODY, bodies()),
        ("text", json!(["a", "", null, 5])),
        ("ファイル名", json!(["a.txt", "chat", "AAD/fw==", "", null])),
        (REQUEST, json!([1, "a-1", "", null, -1, 1.5, {}, "x".repeat(128), "x".repeat(129)])),
        ("実行番号", json!([4, "4", "all", null, "none", -1, true])),
        ("サムネイル画像", json!([null, 1])),
    ])
}

fn connect() -> impl Strategy<Value = Map<String, Value>> {
    let id = format!("ws-{}", "0".repeat(32));
    packet(vec![
        ("type", json!(["connect", 1, null])),
        ("セッションID", json!([null, "", id, "ws-xxxx", 5])),
        ("ソケット番号", json!(["input", "0", "4", 3, null, "5", 9, false])),
        (CHANNEL, json!(["audio", null, 1])),
        ("言語", json!(["ja", "en-GB", "fr", 5, null])),
        ("世代", json!(["2806678b8a3b1d7d", "z", null])),
        ("最終連番", json!([0, 20, null, -1, "1", 0.5])),
        ("履歴件数", json!([0, 100, null, -1, "1"])),
        ("閲覧", json!([true, false, null, 1, "true"])),
        (
            "機能",
            json!([["stream", "confirm", "agents", "playback"], ["none"], [], null, "stream", [1]]),
        ),
    ])
}

fn in_document(socket: &str, kind: &str, packet: &Value) -> bool {
    protocol().allows(socket, Way::Receive, kind, packet)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn commands_mean_the_same_to_document_and_code(mut keys in command(), kind in select(client_kinds().to_vec())) {
        keys.insert(KIND.to_owned(), json!(kind));
        let target = keys.get(TARGET).filter(|target| !target.is_null());
        let several = target.is_some_and(|target| target.to_string().contains(','));
        // Who names its target, or several of them, is not asked for its channel, and the document need not say so.
        if (kind == "input_request" && target.is_some()) || (kind == "input_text" && several) {
            keys.remove(CHANNEL);
        }
        // Several agents where one is wanted: refused by the document, and by the code only if it has to look there.
        if several && !["input_text", "input_request", "compare"].contains(&kind) {
            keys.remove(TARGET);
        }
        let own = if OF_AUDIO.contains(&kind) { Channel::Audio } else { Channel::Input };
        let socket = if own == Channel::Audio { "audio" } else { "input" };
        let packet = Value::Object(keys);
        let dialect = AicoreDialect::new(SessionId::from_random(0), own, Locale::Ja);
        let documented = in_document(socket, kind, &packet);
        match dialect.decode(Received::Text(&packet.to_string())).map_err(|refusal| refusal.error) {
            Ok(_) => prop_assert!(documented, "taken, but not in the document: {packet}"),
            // A schema cannot tell what is inside base64, nor which of two channels counts.
            Err(DecodeError::BadBase64 { .. } | DecodeError::BadAudio(_) | DecodeError::WrongChannel { .. }) => (),
            Err(error) => prop_assert!(!documented, "in the document, but {error}: {packet}"),
        }
    }

    #[test]
    fn first_packets_mean_the_same_to_document_and_code(keys in connect()) {
        let packet = Value::Object(keys);
        let documented = in_document("input", "connect", &packet);
        match read_connect(&packet.to_string()) {
            Ok(_) => prop_assert!(documented, "taken, but not in the document: {packet}"),
            Err(error) => prop_assert!(!documented, "in the document, but {error}: {packet}"),
        }
    }
}
