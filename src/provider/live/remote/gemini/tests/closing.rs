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
            [Deed::GoAway { left }],
            "{written}"
        );
    }
    assert_eq!(say(&mut gemini, json!({"goAway": {}})), [Deed::GoAway { left: SOON }]);
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
            [Deed::Handle(handle.map(str::to_owned))]
        );
    }
}

#[test]
fn the_limit_of_an_hour_is_crossed_and_a_lost_session_begun_anew() {
    let mut gemini = current();
    let expired = "Deadline expired before operation could complete.";
    assert_eq!(gemini.closed(Some(1011), expired), Fate::Retry);
    gemini.open(Some("h"), &[]);
    let invalid = "Request contains an invalid argument.";
    assert_eq!(gemini.closed(Some(1007), invalid), Fate::StartOver);
    gemini.open(None, &[]);
    assert_eq!(say(&mut gemini, json!({"setupComplete": {}})), [Deed::Ready]);
}

#[test]
fn a_resumption_that_is_refused_because_of_the_old_socket_is_tried_a_few_times() {
    let mut gemini = resuming();
    for _ in 0..3 {
        assert_eq!(gemini.closed(Some(1011), "Internal error encountered."), Fate::Retry);
        gemini.open(Some("h"), &[]);
    }
    assert_eq!(gemini.closed(Some(1011), "Internal error encountered."), Fate::StartOver);
    // One that is taken begins the count anew.
    for _ in 0..2 {
        for _ in 0..2 {
            gemini.open(Some("h"), &[]);
            assert_eq!(gemini.closed(Some(1011), ""), Fate::Retry);
        }
        gemini.open(Some("h"), &[]);
        say(&mut gemini, json!({"setupComplete": {}}));
    }
}

#[test]
fn what_we_did_wrong_in_a_conversation_begins_it_anew() {
    let mut gemini = current();
    assert_eq!(gemini.closed(Some(1007), "Request contains an invalid argument."), Fate::StartOver);
}

#[test]
fn an_error_in_a_frame_says_whose_fault_it_is() {
    let mut gemini = current();
    for (error, fate) in [
        (json!({"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}), Fate::Retry),
        (json!({"code": 401, "message": "no", "status": "UNAUTHENTICATED"}), Fate::GiveUp),
        (json!({"code": 503, "message": "busy", "status": "UNAVAILABLE"}), Fate::Retry),
        (json!({"code": 400, "message": "odd", "status": "INVALID_ARGUMENT"}), Fate::StartOver),
        (json!({}), Fate::Retry),
    ] {
        let deeds = say(&mut gemini, json!({"error": error.clone()}));
        let [Deed::Failed { reason, fate: found }] = deeds.as_slice() else { panic!("{deeds:?}") };
        assert_eq!(*found, fate, "{error}");
        assert!(error.get("message").is_none_or(|told| reason.contains(told.as_str().unwrap())));
    }
}

#[test]
fn a_long_reason_is_cut() {
    let mut gemini = current();
    let deeds = say(&mut gemini, json!({"error": {"message": "x".repeat(100_000)}}));
    assert!(matches!(&deeds[0], Deed::Failed { reason, .. } if reason.len() <= LONGEST_QUOTE));
    let deeds = gemini.frame("y".repeat(100_000).as_bytes());
    assert!(matches!(&deeds[0], Deed::Remark(text) if text.len() < 2 * LONGEST_QUOTE));
}
