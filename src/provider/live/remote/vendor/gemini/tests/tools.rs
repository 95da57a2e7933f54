//! Tools: each call once, each answer to whoever still wants it.

use super::*;

fn call(id: &str, request: &str) -> Value {
    json!({"id": id, "name": "code_agent_request", "args": {"request": request}})
}

fn called(gemini: &mut Gemini, calls: &[Value]) -> Vec<Effect> {
    say(gemini, json!({"toolCall": {"functionCalls": calls}}))
}

fn told(id: &str, request: &str) -> Effect {
    Effect::Tell(LiveOutput::ToolCall {
        id: id.to_owned(),
        name: "code_agent_request".to_owned(),
        arguments: json!({"request": request}).to_string(),
    })
}

fn result(gemini: &mut Gemini, id: &str, outcome: Result<&str, &str>) -> Vec<Effect> {
    let outcome = outcome.map(str::to_owned).map_err(str::to_owned);
    gemini.request(Request::ToolResult { id: id.to_owned(), outcome })
}

fn response(id: &str, output: &str, scheduling: &str) -> Value {
    json!({
        "id": id, "name": "code_agent_request", "response": {"output": output},
        "scheduling": scheduling,
    })
}

#[test]
fn a_call_is_told_and_its_result_goes_back() {
    let mut gemini = current();
    assert_eq!(
        called(&mut gemini, &[call("a", "x"), call("b", "y")]),
        [told("a", "x"), told("b", "y")]
    );
    assert_eq!(
        sent(result(&mut gemini, "b", Ok("done"))),
        [json!({"toolResponse": {"functionResponses": [response("b", "done", "WHEN_IDLE")]}})]
    );
    let failed = sent(result(&mut gemini, "a", Err("no such agent")));
    let failed = &failed[0]["toolResponse"]["functionResponses"][0];
    assert_eq!(failed["response"], json!({"error": "no such agent"}));
}

#[test]
fn a_model_that_waits_for_results_is_told_no_schedule() {
    let mut gemini = open("gemini-3.1-flash-live-preview", Turns::Model);
    called(&mut gemini, &[call("a", "x")]);
    let frames = sent(result(&mut gemini, "a", Ok("done")));
    assert_eq!(frames[0]["toolResponse"]["functionResponses"][0].get("scheduling"), None);
}

#[test]
fn a_repeated_call_is_not_made_again() {
    let mut gemini = current();
    called(&mut gemini, &[call("a", "x")]);
    let again = called(&mut gemini, &[call("a", "x")]);
    assert!(matches!(again.as_slice(), [Effect::Remark(_)]), "{again:?}");
    result(&mut gemini, "a", Ok("done"));
    let again = called(&mut gemini, &[call("a", "x")]);
    assert!(matches!(again.as_slice(), [Effect::Remark(_)]), "answered already: {again:?}");
}

#[test]
fn the_same_wish_by_another_id_is_done_once_and_answered_twice() {
    let mut gemini = current();
    called(&mut gemini, &[call("a", "x")]);
    let again = called(&mut gemini, &[call("b", "x"), call("c", "y")]);
    assert!(matches!(&again[0], Effect::Remark(_)), "{again:?}");
    assert_eq!(again[1], told("c", "y"), "another request is another request");
    assert_eq!(
        sent(result(&mut gemini, "a", Ok("done"))),
        [json!({"toolResponse": {"functionResponses": [
            response("a", "done", "WHEN_IDLE"), response("b", "done", "SILENT"),
        ]}})]
    );
    assert_eq!(called(&mut gemini, &[call("d", "x")]), [told("d", "x")], "wanted once more");
}

#[test]
fn a_cancelled_call_is_cancelled_once_and_never_answered() {
    let mut gemini = current();
    called(&mut gemini, &[call("a", "x"), call("b", "y")]);
    let cancel = json!({"toolCallCancellation": {"ids": ["a", "unknown"]}});
    let cancelled = Effect::Tell(LiveOutput::ToolsCancelled { ids: vec!["a".to_owned()] });
    assert_eq!(say(&mut gemini, cancel.clone()), [cancelled]);
    assert_eq!(say(&mut gemini, cancel), []);
    let again = called(&mut gemini, &[call("a", "x")]);
    assert!(matches!(again.as_slice(), [Effect::Remark(_)]), "an old message: {again:?}");
    let late = result(&mut gemini, "a", Ok("done"));
    assert!(matches!(late.as_slice(), [Effect::Remark(_)]), "{late:?}");
    assert_eq!(sent(result(&mut gemini, "b", Ok("done"))).len(), 1);
}

#[test]
fn a_call_that_is_wanted_twice_is_cancelled_twice() {
    let mut gemini = current();
    called(&mut gemini, &[call("a", "x"), call("b", "x")]);
    assert_eq!(say(&mut gemini, json!({"toolCallCancellation": {"ids": ["a"]}})), []);
    assert_eq!(
        sent(result(&mut gemini, "a", Ok("done"))),
        [json!({"toolResponse": {"functionResponses": [response("b", "done", "WHEN_IDLE")]}})]
    );
    called(&mut gemini, &[call("c", "x"), call("d", "x")]);
    assert_eq!(
        say(&mut gemini, json!({"toolCallCancellation": {"ids": ["c", "d"]}})),
        [Effect::Tell(LiveOutput::ToolsCancelled { ids: vec!["c".to_owned()] })]
    );
}

#[test]
fn calls_without_an_id_or_arguments_get_ours_and_none() {
    let mut gemini = current();
    let effects =
        called(&mut gemini, &[json!({"name": "f"}), json!({"id": "", "name": "g", "args": null})]);
    let call = |id: &str, name: &str| {
        let (id, name, arguments) = (id.to_owned(), name.to_owned(), "{}".to_owned());
        Effect::Tell(LiveOutput::ToolCall { id, name, arguments })
    };
    assert_eq!(effects, [call("kakehashi-1", "f"), call("kakehashi-2", "g")]);
    let frames = sent(result(&mut gemini, "kakehashi-1", Ok("done")));
    let response = &frames[0]["toolResponse"]["functionResponses"][0];
    assert_eq!((response.get("id"), &response["name"]), (None, &json!("f")));
    let odd = called(&mut gemini, &[json!({"id": "z", "name": "h", "args": [1]})]);
    assert_eq!(odd, [call("z", "h")]);
}

#[test]
fn a_result_for_a_connection_that_is_gone_is_told_in_words() {
    let mut gemini = current();
    called(&mut gemini, &[call("a", "x")]);
    gemini.open(None, &[]);
    assert_eq!(result(&mut gemini, "a", Ok("it works")), []);
    let effects = say(&mut gemini, json!({"setupComplete": {}}));
    let frames = sent(effects.into_iter().skip(1).collect());
    let words = frames[0]["realtimeInput"]["text"].as_str().unwrap();
    assert!(words.contains("code_agent_request") && words.ends_with("it works"), "{words}");
    let twice = result(&mut gemini, "a", Ok("it works"));
    assert!(matches!(twice.as_slice(), [Effect::Remark(_)]), "{twice:?}");
}

#[test]
fn a_result_ends_a_pretended_speech_or_it_would_never_be_spoken_of() {
    let mut gemini = ours();
    called(&mut gemini, &[call("a", "x")]);
    content(&mut gemini, json!({"modelTurn": pcm(b"ab")}));
    gemini.request(Request::Cancel);
    let frames = sent(result(&mut gemini, "a", Ok("done")));
    assert_eq!((frames.len(), &frames[1]), (2, &activity_end()));
}

#[test]
fn what_is_remembered_of_calls_is_bounded() {
    let mut gemini = current();
    for number in 0..10_000 {
        called(&mut gemini, &[call(&format!("id-{number}"), &format!("r-{number}"))]);
        if number % 2 == 0 {
            result(&mut gemini, &format!("id-{number}"), Ok(""));
        }
    }
    let shown = format!("{gemini:?}");
    assert!(shown.matches("id-").count() <= 3 * 64, "{}", shown.matches("id-").count());
}
