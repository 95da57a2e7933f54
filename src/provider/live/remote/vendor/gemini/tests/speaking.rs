//! What the vendor says: sound, words, turns.

use super::*;

#[test]
fn a_reply_begins_with_its_first_sound_and_ends_with_its_turn() {
    let mut gemini = current();
    assert_eq!(
        content(&mut gemini, json!({"modelTurn": pcm(b"ab")})),
        [began("reply-1"), sound("reply-1", b"ab")]
    );
    assert_eq!(
        content(&mut gemini, json!({"outputTranscription": {"text": "hel"}})),
        [said("reply-1", "hel")]
    );
    assert_eq!(content(&mut gemini, json!({"generationComplete": true})), [made("reply-1")]);
    assert_eq!(
        content(&mut gemini, json!({"outputTranscription": {"text": "lo", "finished": true}})),
        [said("reply-1", "lo")],
        "words may come after the last sound"
    );
    assert_eq!(
        content(&mut gemini, json!({"turnComplete": true})),
        [ended("reply-1", ReplyEnd::Complete)]
    );
}

#[test]
fn words_that_come_after_a_crossing_question_are_of_its_answer() {
    let mut gemini = current();
    read(&mut gemini, "what?");
    read(&mut gemini, "and this?");
    for reply in ["reply-1", "reply-2"] {
        content(&mut gemini, json!({"modelTurn": pcm(b"ab")}));
        content(&mut gemini, json!({"generationComplete": true, "turnComplete": true}));
        if reply == "reply-1" {
            // One more is on its way while the vendor ends the second turn.
            read(&mut gemini, "and that?");
        }
    }
    assert_eq!(
        content(&mut gemini, json!({"outputTranscription": {"text": "that"}})),
        [began("reply-3"), said("reply-3", "that")]
    );
}

#[test]
fn everything_in_one_message_is_told_in_the_order_in_which_it_was_said() {
    let mut gemini = current();
    let parts: Vec<_> = [b"ab", b"cd"].map(|bytes| pcm(bytes)["parts"][0].take()).into();
    let effects = say(
        &mut gemini,
        json!({
            "usageMetadata": {"promptTokenCount": 7, "responseTokenCount": 3},
            "serverContent": {
                "turnComplete": true,
                "generationComplete": true,
                "outputTranscription": {"text": "yes"},
                "modelTurn": {"role": "model", "parts": parts},
                "inputTranscription": {"text": "really?", "finished": true},
            },
            "sessionResumptionUpdate": {"newHandle": "h", "resumable": true},
            "somethingNew": {"x": [1, 2, 3]},
        }),
    );
    assert_eq!(
        effects,
        [
            user("utterance-1", "really?", true),
            began("reply-1"),
            sound("reply-1", b"ab"),
            sound("reply-1", b"cd"),
            said("reply-1", "yes"),
            made("reply-1"),
            ended("reply-1", ReplyEnd::Complete),
            Effect::Handle(Some("h".to_owned())),
            Effect::Tell(LiveOutput::Usage { input: 7, output: 3 }),
        ]
    );
}

#[test]
fn an_interruption_cuts_what_came_with_it_and_what_the_user_said_comes_after() {
    let mut gemini = current();
    content(&mut gemini, json!({"modelTurn": pcm(b"ab")}));
    let effects = content(
        &mut gemini,
        json!({
            "interrupted": true,
            "modelTurn": pcm(b"cd"),
            "outputTranscription": {"text": "I was"},
            "inputTranscription": {"text": "stop"},
        }),
    );
    assert_eq!(
        effects,
        [
            sound("reply-1", b"cd"),
            said("reply-1", "I was"),
            Effect::Interrupted,
            ended("reply-1", ReplyEnd::Cancelled),
            user("utterance-1", "stop", false),
        ]
    );
    // Its turn is closed without its generation ever being complete.
    assert_eq!(content(&mut gemini, json!({"turnComplete": true})), []);
    assert_eq!(
        content(&mut gemini, json!({"modelTurn": pcm(b"ef")})),
        [began("reply-2"), sound("reply-2", b"ef")]
    );
}

#[test]
fn a_reply_that_is_still_being_played_can_be_interrupted_after_it_was_made() {
    let mut gemini = current();
    content(&mut gemini, json!({"modelTurn": pcm(b"ab"), "generationComplete": true}));
    assert_eq!(
        content(&mut gemini, json!({"interrupted": true})),
        [Effect::Interrupted, ended("reply-1", ReplyEnd::Cancelled)]
    );
}

#[test]
fn an_interruption_of_nothing_is_told_all_the_same() {
    // The speaker may be behind the vendor, and still have something to say.
    let mut gemini = current();
    content(&mut gemini, json!({"modelTurn": pcm(b"ab"), "turnComplete": true}));
    assert_eq!(content(&mut gemini, json!({"interrupted": true})), [Effect::Interrupted]);
}

#[test]
fn words_of_an_interrupted_reply_stay_its_own() {
    let mut gemini = current();
    content(&mut gemini, json!({"modelTurn": pcm(b"ab")}));
    content(&mut gemini, json!({"interrupted": true}));
    content(&mut gemini, json!({"inputTranscription": {"text": "wait"}}));
    assert_eq!(
        content(&mut gemini, json!({"outputTranscription": {"text": "late"}})),
        [said("reply-1", "late")]
    );
    content(&mut gemini, json!({"turnComplete": true}));
    assert_eq!(
        content(&mut gemini, json!({"outputTranscription": {"text": "new"}})),
        [began("reply-2"), said("reply-2", "new")]
    );
}

#[test]
fn words_that_come_after_the_end_belong_to_what_ended_until_something_new_is_asked() {
    let mut gemini = current();
    content(&mut gemini, json!({"modelTurn": pcm(b"ab"), "turnComplete": true}));
    assert_eq!(
        content(&mut gemini, json!({"outputTranscription": {"text": "late"}})),
        [said("reply-1", "late")]
    );
    read(&mut gemini, "next");
    assert_eq!(
        content(&mut gemini, json!({"outputTranscription": {"text": "new"}})),
        [began("reply-2"), said("reply-2", "new")]
    );
    content(&mut gemini, json!({"turnComplete": true}));
    content(&mut gemini, json!({"outputTranscription": {"finished": true}}));
    assert_eq!(
        content(&mut gemini, json!({"outputTranscription": {"text": "third"}})),
        [began("reply-3"), said("reply-3", "third")],
        "the transcription of the second was finished"
    );
}

#[test]
fn words_may_come_before_the_sound() {
    let mut gemini = current();
    assert_eq!(
        content(&mut gemini, json!({"outputTranscription": {"text": "hi"}})),
        [began("reply-1"), said("reply-1", "hi")]
    );
    assert_eq!(content(&mut gemini, json!({"modelTurn": pcm(b"ab")})), [sound("reply-1", b"ab")]);
}

#[test]
fn sound_after_a_complete_generation_is_another_reply() {
    let mut gemini = current();
    content(&mut gemini, json!({"modelTurn": pcm(b"ab"), "generationComplete": true}));
    assert_eq!(
        content(&mut gemini, json!({"modelTurn": pcm(b"cd")})),
        [ended("reply-1", ReplyEnd::Complete), began("reply-2"), sound("reply-2", b"cd")]
    );
}

#[test]
fn what_the_user_said_comes_in_pieces_and_ends_when_it_is_answered() {
    let mut gemini = current();
    for (piece, last) in [("how ", false), ("are ", false)] {
        assert_eq!(
            content(&mut gemini, json!({"inputTranscription": {"text": piece}})),
            [user("utterance-1", piece, last)]
        );
    }
    content(&mut gemini, json!({"modelTurn": pcm(b"ab")}));
    assert_eq!(
        content(&mut gemini, json!({"inputTranscription": {"text": "you"}})),
        [user("utterance-1", "you", false)],
        "late, but nobody has interrupted"
    );
    assert_eq!(
        content(&mut gemini, json!({"generationComplete": true})),
        [made("reply-1"), user("utterance-1", "how are you", true)]
    );
    content(&mut gemini, json!({"turnComplete": true}));
    assert_eq!(
        content(&mut gemini, json!({"inputTranscription": {"text": "fine"}})),
        [user("utterance-2", "fine", false)]
    );
}

#[test]
fn a_finished_transcription_is_told_whole() {
    let mut gemini = current();
    content(&mut gemini, json!({"inputTranscription": {"text": "how "}}));
    assert_eq!(
        content(&mut gemini, json!({"inputTranscription": {"text": "are you", "finished": true}})),
        [user("utterance-1", "how are you", true)]
    );
    for empty in [json!({"finished": true}), json!({"text": ""}), json!({"text": null}), json!({})]
    {
        assert_eq!(content(&mut gemini, json!({"inputTranscription": empty})), []);
    }
    content(&mut gemini, json!({"inputTranscription": {"text": "well"}}));
    assert_eq!(
        content(&mut gemini, json!({"inputTranscription": {"finished": true}})),
        [user("utterance-2", "well", true)]
    );
}

#[test]
fn an_interruption_ends_what_the_user_said_before() {
    let mut gemini = current();
    content(&mut gemini, json!({"inputTranscription": {"text": "one"}}));
    content(&mut gemini, json!({"modelTurn": pcm(b"ab")}));
    assert_eq!(
        content(&mut gemini, json!({"interrupted": true, "inputTranscription": {"text": "two"}})),
        [
            Effect::Interrupted,
            ended("reply-1", ReplyEnd::Cancelled),
            user("utterance-1", "one", true),
            user("utterance-2", "two", false),
        ]
    );
}

#[test]
fn turns_of_ours_part_what_the_user_said() {
    let mut gemini = ours();
    gemini.request(Request::SpeechBegins);
    content(&mut gemini, json!({"inputTranscription": {"text": "one"}}));
    gemini.request(Request::SpeechEnds);
    let effects = gemini.request(Request::SpeechBegins);
    assert_eq!(effects[0], user("utterance-1", "one", true));
    assert_eq!(sent(effects.into_iter().skip(1).collect()), [activity_start()]);
}

#[test]
fn a_turn_without_a_sound_is_an_answer_too() {
    let mut gemini = current();
    assert_eq!(
        content(&mut gemini, json!({"turnComplete": true})),
        [began("reply-1"), ended("reply-1", ReplyEnd::Complete)]
    );
}

#[test]
fn a_turn_that_failed_says_why() {
    let mut gemini = current();
    let reason = "RESPONSE_REJECTED";
    assert_eq!(
        content(&mut gemini, json!({"turnComplete": true, "turnCompleteReason": reason})),
        [began("reply-1"), ended("reply-1", ReplyEnd::Failed(reason.to_owned()))]
    );
    for good in ["NEED_MORE_INPUT", "TURN_COMPLETE_REASON_UNSPECIFIED", ""] {
        let effects =
            content(&mut gemini, json!({"turnComplete": true, "turnCompleteReason": good}));
        assert!(
            matches!(&effects[1], Effect::ReplyEnded { end: ReplyEnd::Complete, .. }),
            "{good}"
        );
    }
}

#[test]
fn thoughts_and_interim_words_are_not_told() {
    let mut gemini = current();
    for silent in [
        json!({"modelTurn": {"parts": [{"text": "**Thinking**", "thought": true}]}}),
        json!({"modelTurn": {"parts": [{"text": "doubled"}, {"executableCode": {}}]}}),
        json!({"modelTurn": {"parts": [{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]}}),
        json!({"modelTurn": {}}),
        json!({"modelTurn": {"parts": null}}),
        json!({"interimInputTranscription": {"text": "may"}}),
        json!({"waitingForInput": true}),
        json!({"groundingMetadata": {}, "interactionStatus": "X"}),
    ] {
        assert_eq!(content(&mut gemini, silent.clone()), [], "{silent}");
    }
    assert_eq!(say(&mut gemini, json!({"voiceActivity": {"voiceActivityType": "X"}})), []);
}

#[test]
fn a_torn_sample_is_mended() {
    let mut gemini = current();
    content(&mut gemini, json!({"modelTurn": pcm(b"abc")}));
    assert_eq!(content(&mut gemini, json!({"modelTurn": pcm(b"d")})), [sound("reply-1", b"cd")]);
    content(&mut gemini, json!({"modelTurn": pcm(b"e"), "turnComplete": true}));
    assert_eq!(
        content(&mut gemini, json!({"modelTurn": pcm(b"fg")})),
        [began("reply-2"), sound("reply-2", b"fg")],
        "half a sample is not carried over into another reply"
    );
}

#[test]
fn sound_that_cannot_be_played_is_not_played() {
    let mut gemini = current();
    let part = |mime: &str, data: &str| json!({"modelTurn": {"parts": [{"inlineData": {"mimeType": mime, "data": data}}]}});
    let effects = content(&mut gemini, part("audio/pcm;rate=24000", "not base64"));
    assert!(matches!(effects.as_slice(), [Effect::Remark(_)]), "{effects:?}");
    let effects = content(&mut gemini, part("audio/pcm;rate=16000", "AAAA"));
    let [Effect::Failed { reason, recovery: Recovery::GiveUp }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert!(reason.contains("16000 Hz"), "{reason}");
    assert_eq!(content(&mut gemini, part("AUDIO/PCM", "YWI="))[1], sound("reply-1", b"ab"));
    let spaced = content(&mut gemini, part("audio/pcm; rate=24000", "YWI="));
    assert_eq!(spaced, [sound("reply-1", b"ab")]);
}

#[test]
fn frames_are_read_whether_they_are_text_or_bytes_and_with_escapes() {
    let mut gemini = current();
    // A slash may be escaped, and then the sound is not borrowed.
    let frame = br#"{"serverContent":{"modelTurn":{"parts":[{"inlineData":{"mimeType":"audio\/pcm;rate=24000","data":"\u0059WI="}}]}}}"#;
    assert_eq!(gemini.frame(frame), [began("reply-1"), sound("reply-1", b"ab")]);
}

#[test]
fn usage_may_ride_on_any_message() {
    let mut gemini = current();
    let usage = json!({
        "promptTokenCount": 100, "toolUsePromptTokenCount": 5, "responseTokenCount": 20,
        "thoughtsTokenCount": 3, "totalTokenCount": 128, "promptTokensDetails": [],
    });
    let told = Effect::Tell(LiveOutput::Usage { input: 105, output: 23 });
    assert_eq!(say(&mut gemini, json!({"usageMetadata": usage.clone()})), [told]);
    let effects = say(
        &mut gemini,
        json!({"toolCall": {"functionCalls": [{"id": "1", "name": "f"}]}, "usageMetadata": usage}),
    );
    assert_eq!(effects.len(), 2);
}

#[test]
fn a_new_connection_knows_no_old_turn_and_uses_no_old_name() {
    let mut gemini = current();
    content(&mut gemini, json!({"inputTranscription": {"text": "one"}}));
    content(&mut gemini, json!({"modelTurn": pcm(b"ab")}));
    gemini.open(Some("h"), &[]);
    say(&mut gemini, json!({"setupComplete": {}}));
    assert_eq!(
        content(&mut gemini, json!({"outputTranscription": {"text": "x"}})),
        [began("reply-2"), said("reply-2", "x")]
    );
    assert_eq!(
        content(&mut gemini, json!({"inputTranscription": {"text": "y"}})),
        [user("utterance-2", "y", false)]
    );
}
