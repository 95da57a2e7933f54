//! Leaving, coming back, and failing.

use super::*;

fn resuming() -> Gemini {
    let mut gemini = current();
    gemini.open(Some("h"), &[]);
    gemini
}

#[test]
fn a_warning_says_how_much_time_is_left() {
    let mut gemini = current();
    for (written, left) in [
        (json!("50s"), Duration::from_secs(50)),
        (json!("1.5s"), Duration::from_millis(1500)),
        (json!("0s"), Duration::ZERO),
        (json!("-3s"), Duration::ZERO),
        (json!("soon"), SOON),
        (json!("1e400s"), SOON),
        (json!("NaNs"), Duration::ZERO),
        (Value::Null, SOON),
    ] {
        assert_eq!(
            say(&mut gemini, json!({"goAway": {"timeLeft": written.clone()}})),
            [Effect::GoAway { left }],
            "{written}"
        );
    }
    assert_eq!(say(&mut gemini, json!({"goAway": {}})), [Effect::GoAway { left: SOON }]);
}

#[test]
fn a_handle_is_good_only_while_the_session_can_be_resumed() {
    let mut gemini = current();
    for (update, handle) in [
        (json!({"newHandle": "h", "resumable": true}), Some("h")),
        (
            json!({"newHandle": "h2", "resumable": true, "lastConsumedClientMessageIndex": "7"}),
            Some("h2"),
        ),
        (json!({"resumable": false}), None),
        (json!({"newHandle": "h", "resumable": false}), None),
        (json!({"newHandle": "h"}), None),
        (json!({"newHandle": "", "resumable": true}), None),
        (json!({}), None),
    ] {
        assert_eq!(
            say(&mut gemini, json!({"sessionResumptionUpdate": update})),
            [Effect::Handle(handle.map(str::to_owned))]
        );
    }
}

#[test]
fn the_limit_of_an_hour_is_crossed_and_a_lost_session_begun_anew() {
    let mut gemini = current();
    let expired = "Deadline expired before operation could complete.";
    assert_eq!(gemini.closed(Some(1011), expired), Recovery::Retry);
    gemini.open(Some("h"), &[]);
    let invalid = "Request contains an invalid argument.";
    assert_eq!(gemini.closed(Some(1007), invalid), Recovery::StartOver);
    gemini.open(None, &[]);
    assert_eq!(say(&mut gemini, json!({"setupComplete": {}})), [Effect::Ready]);
}

#[test]
fn a_resumption_that_is_refused_because_of_the_old_socket_is_tried_a_few_times() {
    let mut gemini = resuming();
    for _ in 0..3 {
        assert_eq!(gemini.closed(Some(1011), "Internal error encountered."), Recovery::Retry);
        gemini.open(Some("h"), &[]);
    }
    assert_eq!(gemini.closed(Some(1011), "Internal error encountered."), Recovery::StartOver);
    // One that is taken begins the count anew.
    for _ in 0..2 {
        for _ in 0..2 {
            gemini.open(Some("h"), &[]);
            assert_eq!(gemini.closed(Some(1011), ""), Recovery::Retry);
        }
        gemini.open(Some("h"), &[]);
        say(&mut gemini, json!({"setupComplete": {}}));
    }
}

#[test]
fn what_we_did_wrong_in_a_conversation_begins_it_anew() {
    let mut gemini = current();
    assert_eq!(
        gemini.closed(Some(1007), "Request contains an invalid argument."),
        Recovery::StartOver
    );
}

#[test]
fn an_error_in_a_frame_says_whose_fault_it_is() {
    let mut gemini = current();
    for (error, recovery) in [
        (json!({"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}), Recovery::Retry),
        (json!({"code": 401, "message": "no", "status": "UNAUTHENTICATED"}), Recovery::GiveUp),
        (json!({"code": 503, "message": "busy", "status": "UNAVAILABLE"}), Recovery::Retry),
        (json!({"code": 400, "message": "odd", "status": "INVALID_ARGUMENT"}), Recovery::StartOver),
        (json!({}), Recovery::Retry),
    ] {
        let effects = say(&mut gemini, json!({"error": error.clone()}));
        let [Effect::Failed { reason, recovery: found }] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        assert_eq!(*found, recovery, "{error}");
        assert!(error.get("message").is_none_or(|told| reason.contains(told.as_str().unwrap())));
    }
}

#[test]
fn a_long_reason_is_cut() {
    let mut gemini = current();
    let effects = say(&mut gemini, json!({"error": {"message": "x".repeat(100_000)}}));
    assert!(matches!(&effects[0], Effect::Failed { reason, .. } if reason.len() <= LONGEST_QUOTE));
    let effects = gemini.frame("y".repeat(100_000).as_bytes());
    assert!(matches!(&effects[0], Effect::Remark(text) if text.len() < 2 * LONGEST_QUOTE));
}
