//! From the address to the first word.

use super::*;

fn setup_of(model: &str, turns: Turns, handle: Option<&str>, past: &[Said]) -> Value {
    let mut gemini = Gemini::new(wanted(model, turns));
    let mut frames = sent(gemini.open(handle, past));
    assert_eq!(frames.len(), 1);
    frames.remove(0)["setup"].take()
}

fn past() -> Vec<Said> {
    let line = |by_user, text: &str| Said { by_user, text: text.to_owned() };
    vec![line(true, "hello"), line(true, "you"), line(false, " "), line(false, "hi")]
}

#[test]
fn the_key_goes_into_a_header_and_not_into_the_address() {
    let gemini = Gemini::new(wanted("gemini-3.8-live", Turns::Model));
    let Address { url, headers } = gemini.address();
    assert_eq!(
        url,
        "wss://generativelanguage.googleapis.com/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
    );
    assert_eq!(headers, [("x-goog-api-key", "a-key".to_owned())]);
    assert!(!format!("{gemini:?}").contains("a-key"));
}

#[test]
fn another_server_may_have_a_path_of_its_own_and_no_key() {
    let mut setup = wanted("m", Turns::Model);
    let model = Arc::make_mut(&mut setup.model);
    let path = "ws://127.0.0.1:1/ws/google.cloud.aiplatform.v1.LlmBidiService/BidiGenerateContent";
    (model.base_url, model.key) = (path.to_owned(), None);
    let Address { url, headers } = Gemini::new(setup).address();
    assert_eq!((url.as_str(), headers.len()), (path, 0));
}

#[test]
fn the_setup_says_all_at_once() {
    assert_eq!(
        setup_of("gemini-3.8-live", Turns::Model, None, &[]),
        json!({
            "model": "models/gemini-3.8-live",
            "generationConfig": {
                "responseModalities": ["AUDIO"],
                "speechConfig": {
                    "voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}},
                    "languageCode": "ja-JP",
                },
            },
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": [{
                "name": "code_agent_request",
                "description": "gives work to an agent",
                "parametersJsonSchema":
                    {"type": "object", "properties": {"request": {"type": "string"}}},
                "behavior": "NON_BLOCKING",
            }]}],
            "realtimeInputConfig":
                {"automaticActivityDetection": {"disabled": false, "silenceDurationMs": 500}},
            "inputAudioTranscription": {"languageCodes": ["ja-JP"]},
            "outputAudioTranscription": {},
            "sessionResumption": {},
            "contextWindowCompression": {"slidingWindow": {}},
        })
    );
}

#[test]
fn nothing_that_is_not_wanted_is_asked_for() {
    let mut wanted = wanted("models/gemini-3.8-live", Turns::Gateway);
    wanted.tools.clear();
    wanted.instructions.clear();
    let model = Arc::make_mut(&mut wanted.model);
    (model.voice, model.language) = (None, None);
    let setup = sent(Gemini::new(wanted).open(None, &[])).remove(0)["setup"].take();
    assert_eq!(
        setup,
        json!({
            "model": "models/gemini-3.8-live",
            "generationConfig": {"responseModalities": ["AUDIO"], "speechConfig": {}},
            "realtimeInputConfig": {"automaticActivityDetection": {"disabled": true}},
            "inputAudioTranscription": {},
            "outputAudioTranscription": {},
            "sessionResumption": {},
            "contextWindowCompression": {"slidingWindow": {}},
        })
    );
}

#[test]
fn older_models_are_told_their_language_in_words() {
    for name in ["gemini-3.1-flash-live-preview", "gemini-2.5-flash-native-audio"] {
        let setup = setup_of(name, Turns::Model, None, &[]);
        assert_eq!(setup["generationConfig"]["speechConfig"].get("languageCode"), None);
        assert_eq!(setup["inputAudioTranscription"], json!({}));
        let instruction = setup["systemInstruction"]["parts"][0]["text"].as_str().unwrap();
        assert_eq!(instruction, "Be brief.\n\nThe language of this conversation is ja-JP.");
    }
}

#[test]
fn a_model_that_cannot_work_aside_is_not_asked_to() {
    let tool = |name| {
        setup_of(name, Turns::Model, None, &[])["tools"][0]["functionDeclarations"][0].take()
    };
    assert_eq!(tool("gemini-3.1-flash-live-preview").get("behavior"), None);
    assert_eq!(tool("gemini-2.5-flash-native-audio")["behavior"], "NON_BLOCKING");
}

#[test]
fn a_handle_goes_on_with_a_session_and_needs_no_history() {
    let setup = setup_of("gemini-3.8-live", Turns::Model, Some("h-1"), &past());
    assert_eq!(setup["sessionResumption"], json!({"handle": "h-1"}));
    assert_eq!(setup.get("historyConfig"), None);
}

#[test]
fn a_history_follows_the_setup_in_turns_that_are_complete() {
    for name in ["gemini-3.8-live", "gemini-3.1-flash-live-preview"] {
        let mut gemini = Gemini::new(wanted(name, Turns::Model));
        let setup = sent(gemini.open(None, &past())).remove(0);
        assert_eq!(setup["setup"]["historyConfig"], json!({"initialHistoryInClientContent": true}));
        let effects = say(&mut gemini, json!({"setupComplete": {}}));
        let [Effect::Send(history), Effect::Ready] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        assert_eq!(
            serde_json::from_str::<Value>(history).unwrap(),
            json!({"clientContent": {
                "turns": [
                    {"role": "user", "parts": [{"text": "hello"}, {"text": "you"}]},
                    {"role": "model", "parts": [{"text": "hi"}]},
                ],
                "turnComplete": true,
            }})
        );
    }
}

#[test]
fn silence_is_no_history() {
    let nothing = [Said { by_user: true, text: " \n".to_owned() }];
    let mut gemini = Gemini::new(wanted("gemini-3.8-live", Turns::Model));
    assert_eq!(sent(gemini.open(None, &nothing))[0]["setup"].get("historyConfig"), None);
    assert_eq!(say(&mut gemini, json!({"setupComplete": {}})), [Effect::Ready]);
}

#[test]
fn the_second_generation_reads_its_history_in_the_instructions() {
    let setup = setup_of("gemini-2.5-flash-native-audio", Turns::Model, None, &past());
    assert_eq!(setup.get("historyConfig"), None);
    let instruction = setup["systemInstruction"]["parts"][0]["text"].as_str().unwrap();
    assert!(instruction.ends_with("\nUser: hello\nUser: you\nYou: hi"), "{instruction}");
}

#[test]
fn a_refused_history_is_told_in_the_instructions_the_next_time() {
    let mut gemini = Gemini::new(wanted("gemini-3.8-live", Turns::Model));
    gemini.open(None, &past());
    assert_eq!(
        gemini.closed(Some(1007), "Request contains an invalid argument."),
        Recovery::StartOver
    );
    let setup = sent(gemini.open(None, &past())).remove(0)["setup"].take();
    assert_eq!(setup.get("historyConfig"), None);
    assert!(setup["systemInstruction"].to_string().contains("User: hello"));
    // If that was not it, it will not be the next time either.
    assert_eq!(gemini.closed(Some(1007), "Request contains an invalid argument."), Recovery::Unfit);
}

#[test]
fn a_bad_key_is_a_bad_key_with_a_history_too() {
    let mut gemini = Gemini::new(wanted("gemini-3.8-live", Turns::Model));
    gemini.open(None, &past());
    assert_eq!(gemini.closed(Some(1007), "API key not valid."), Recovery::GiveUp);
}

#[test]
fn long_instructions_are_not_resumed_where_that_loses_the_session() {
    for (name, resume) in [
        ("gemini-3.1-flash-live-preview", Resume::Replay),
        ("gemini-3.8-live", Resume::Handle),
        ("gemini-2.5-flash-native-audio", Resume::Handle),
    ] {
        let mut wanted = wanted(name, Turns::Model);
        wanted.instructions = "x".repeat(LONG_INSTRUCTIONS);
        let mut gemini = Gemini::new(wanted);
        assert_eq!(gemini.capabilities().resume, resume);
        let setup = sent(gemini.open(Some("h"), &past())).remove(0)["setup"].take();
        let replays = resume == Resume::Replay;
        assert_eq!(setup.get("sessionResumption").is_none(), replays, "{name}");
        assert_eq!(setup.get("historyConfig").is_some(), replays, "{name}");
    }
}

#[test]
fn it_says_what_it_can_do() {
    let seen = Gemini::new(wanted("gemini-3.8-live", Turns::Model)).capabilities();
    assert_eq!((seen.input_rate, seen.output_rate), (16_000, 24_000));
    assert!(!seen.truncate && !seen.hears_speech && seen.images && !seen.cancel);
    assert_eq!(seen.renew_after, Some(Duration::from_secs(540)));
    assert!(seen.longest.unwrap() < Duration::from_secs(58 * 60));
    assert!(Gemini::new(wanted("gemini-3.8-live", Turns::Gateway)).capabilities().cancel);
}

#[test]
fn nothing_is_sent_before_the_vendor_is_ready_and_nothing_is_forgotten() {
    let mut gemini = Gemini::new(wanted("gemini-3.8-live", Turns::Model));
    gemini.open(None, &past());
    for early in [
        Request::Read("one".to_owned()),
        Request::Hear(Bytes::from(vec![0; 640])),
        Request::Cancel,
        Request::Read("two".to_owned()),
    ] {
        assert_eq!(gemini.request(early), []);
    }
    let mut effects = say(&mut gemini, json!({"setupComplete": {}}));
    assert!(
        matches!(effects.remove(0), Effect::Send(history) if history.contains("clientContent"))
    );
    assert_eq!(effects.remove(0), Effect::Ready);
    let frames = sent(effects);
    assert_eq!((&frames[0], &frames[2]), (&text("one"), &text("two")));
    assert_eq!(frames[1]["realtimeInput"]["audio"]["mimeType"], "audio/pcm;rate=16000");
    assert_eq!(frames.len(), 3);
}

#[test]
fn what_waits_survives_a_connection_that_never_came_to_be() {
    let mut gemini = Gemini::new(wanted("gemini-3.8-live", Turns::Model));
    gemini.open(None, &[]);
    gemini.request(Request::Read("one".to_owned()));
    assert_eq!(gemini.closed(Some(1006), ""), Recovery::Retry);
    gemini.open(None, &[]);
    let effects = say(&mut gemini, json!({"setupComplete": {}}));
    assert_eq!(sent(effects.into_iter().skip(1).collect()), [text("one")]);
}

#[test]
fn too_many_wishes_at_the_door_are_refused_aloud() {
    let mut gemini = Gemini::new(wanted("gemini-3.8-live", Turns::Model));
    gemini.open(None, &[]);
    let refused = (0..100).flat_map(|_| gemini.request(Request::Read("x".to_owned())));
    let refused: Vec<_> = refused.collect();
    assert_eq!(refused.len(), 68);
    assert!(matches!(&refused[0], Effect::Remark(_)));
}

#[test]
fn ready_twice_is_ready_once() {
    let mut gemini = current();
    let effects = say(&mut gemini, json!({"setupComplete": {}}));
    assert!(matches!(effects.as_slice(), [Effect::Remark(_)]), "{effects:?}");
}
