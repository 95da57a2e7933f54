//! Whose turn it is, with a vendor that tells nobody what it hears.

use super::*;

/// The next frame that is news.
async fn next(call: &mut Call<DuplexStream>) -> Value {
    loop {
        let frame = call.next().await;
        if frame["realtimeInput"]["audioStreamEnd"] != true {
            return frame;
        }
    }
}

/// It is sent nothing but sound for so long, while the microphone is silent.
async fn is_left_alone(talk: &Talk, call: &mut Call<DuplexStream>, time: Duration) {
    let silence = talk.speak(0, time);
    let asked = async {
        let asked = timeout(time, next(call)).await;
        assert!(asked.is_err(), "{asked:?}");
    };
    tokio::join!(silence, asked);
}

fn tool_call() -> Value {
    let call = json!({"id": "a", "name": "code_agent_request", "args": {"request": "build"}});
    json!({"toolCall": {"functionCalls": [call]}})
}

async fn give_result(talk: &mut Talk) {
    let told = talk.output().await;
    let LiveOutput::ToolCall { id, .. } = told else { panic!("{told:?}") };
    talk.input(LiveInput::ToolResult { id, outcome: Ok("begun".to_owned()) }).await;
}

#[tokio::test(start_paused = true)]
async fn a_short_word_at_the_end_of_a_reply_is_heard_as_an_answer_to_it() {
    for turns in [Turns::Model, Turns::Gateway] {
        let mut talk = talk(turns);
        let mut call = talk.answer().await;
        talk.write("ask me").await;
        call.text().await;
        // The turn is not over before its sound was heard.
        call.sound(4 * SECOND).await;
        call.words("shall we go on").await;
        call.content(json!({"generationComplete": true})).await;
        sleep(Duration::from_millis(3_600)).await;
        talk.speak(8000, Duration::from_millis(160)).await;
        call.content(json!({"turnComplete": true})).await;
        talk.speak(0, 2 * SECOND).await;
        talk.model_said("shall we go on").await;
        while let Ok(Some(_)) = timeout(SECOND, call.frame()).await {}
        assert!(call.loud > 0, "{turns:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_comes_while_somebody_speaks_is_told_afterwards() {
    for turns in [Turns::Model, Turns::Gateway] {
        let mut talk = talk(turns);
        let mut call = talk.answer().await;
        talk.write("build it").await;
        call.text().await;
        call.say(tool_call()).await;
        talk.speak(8000, SECOND).await;
        give_result(&mut talk).await;
        talk.speak(8000, SECOND).await;
        let user = talk.speak(0, 2 * SECOND);
        let told = async {
            if turns == Turns::Gateway {
                assert_eq!(next(&mut call).await, activity_start());
                assert_eq!(next(&mut call).await, activity_end());
            }
            let heard = call.heard;
            let told = next(&mut call).await;
            assert!(told["toolResponse"].is_object(), "{turns:?} {told}");
            heard
        };
        tokio::join!(user, told);
        assert!(call.heard >= 2 * 32_000, "{turns:?}: nobody was interrupted by it");
    }
}

#[tokio::test(start_paused = true)]
async fn who_speaks_calls_and_goes_on_is_not_asked_to_answer() {
    for goes_on in [true, false] {
        let mut talk = talk(Turns::Model);
        let mut call = talk.answer().await;
        talk.write("build it").await;
        call.text().await;
        call.sound(SECOND).await;
        call.words("i give it to an agent ").await;
        call.say(tool_call()).await;
        give_result(&mut talk).await;
        assert!(next(&mut call).await["toolResponse"].is_object());
        if goes_on {
            call.sound(3 * SECOND).await;
            call.words("and it has begun").await;
        }
        call.content(json!({"generationComplete": true})).await;
        sleep(4 * SECOND).await;
        call.content(json!({"turnComplete": true})).await;
        is_left_alone(&talk, &mut call, 12 * SECOND).await;
        let wanted = if goes_on { " and it has begun" } else { "" };
        talk.model_said(&format!("i give it to an agent{wanted}")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_answer_within_the_same_turn_is_waited_for() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.write("build it").await;
    call.text().await;
    call.say(tool_call()).await;
    give_result(&mut talk).await;
    assert!(next(&mut call).await["toolResponse"].is_object());
    call.sound(30 * SECOND).await;
    call.words("it has begun").await;
    is_left_alone(&talk, &mut call, 29 * SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn who_answers_before_we_believe_that_the_user_is_done_is_not_asked_again() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.speak(8000, SECOND).await;
    talk.speak(0, Duration::from_millis(400)).await;
    call.content(json!({"inputTranscription": {"text": "hello", "finished": true}})).await;
    call.reply("hi", Duration::from_millis(300)).await;
    is_left_alone(&talk, &mut call, 12 * SECOND).await;
    talk.user_said("hello").await;
    talk.model_said("hi").await;
}

#[tokio::test(start_paused = true)]
async fn a_pause_within_what_is_said_does_not_move_later_texts() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.speak(8000, SECOND).await;
    talk.speak(0, Duration::from_millis(700)).await;
    talk.speak(8000, SECOND).await;
    talk.speak(0, SECOND).await;
    let merged = json!({"inputTranscription": {"text": "one and two", "finished": true}});
    call.content(merged).await;
    call.reply("three", SECOND).await;
    talk.user_said("one and two").await;
    talk.model_said("three").await;
    talk.speak(8000, SECOND).await;
    talk.speak(0, SECOND).await;
    call.reply("five", SECOND).await;
    call.content(json!({"inputTranscription": {"text": "four", "finished": true}})).await;
    talk.user_said("four").await;
    talk.model_said("five").await;
}

#[tokio::test(start_paused = true)]
async fn a_warning_is_followed_at_a_pause_also_without_a_handle() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.exchange(&mut call, "hello", "hi").await;
    call.handle(None).await;
    call.say(json!({"goAway": {"timeLeft": "50s"}})).await;
    let start = Instant::now();
    call.left().await;
    assert!(start.elapsed() < 10 * SECOND, "{:?}", start.elapsed());
    let mut next = talk.pick_up().await;
    assert_eq!(next.begin().await["sessionResumption"], json!({}));
    let turns = next.next().await["clientContent"]["turns"].take();
    assert_eq!(turns[0]["parts"][0]["text"], "hello", "{turns}");
    talk.exchange(&mut next, "still there?", "yes").await;
}

#[tokio::test(start_paused = true)]
async fn a_handle_that_comes_a_moment_after_a_warning_is_used() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.exchange(&mut call, "hello", "hi").await;
    call.handle(None).await;
    call.say(json!({"goAway": {"timeLeft": "50s"}})).await;
    sleep(SECOND).await;
    call.handle(Some("h")).await;
    call.left().await;
    let mut next = talk.pick_up().await;
    assert_eq!(next.begin().await["sessionResumption"], json!({"handle": "h"}));
}

#[tokio::test(start_paused = true)]
async fn who_speaks_by_a_key_and_leaves_the_microphone_on_is_answered() {
    for turns in [Turns::Model, Turns::Gateway] {
        for room in [[0, 0], [600, 600], [8_000, 300]] {
            let mut talk = talk(turns);
            let mut call = talk.answer().await;
            for round in 0..4 {
                talk.input(LiveInput::TalkKey(TalkKey::Pressed)).await;
                if turns == Turns::Model && round == 0 {
                    // It cannot be told within a connection that it is not to judge.
                    call.left().await;
                    call = talk.answer().await;
                }
                talk.speak(8_000, 2 * SECOND).await;
                talk.input(LiveInput::TalkKey(TalkKey::Released)).await;
                let vendor = async {
                    assert_eq!(call.next().await, activity_start());
                    assert_eq!(call.next().await, activity_end());
                    sleep(Duration::from_millis(400)).await;
                    let said = json!({"inputTranscription": {"text": "over", "finished": true}});
                    call.content(said).await;
                    call.reply("and out", SECOND).await;
                };
                let noise = async {
                    // The last syllable comes after the key.
                    talk.speak(room[0], Duration::from_millis(200)).await;
                    talk.speak(room[1], 3 * SECOND).await;
                };
                tokio::join!(vendor, noise);
                talk.user_said("over").await;
                talk.model_said("and out").await;
                let more = timeout(2 * SECOND, next(&mut call)).await;
                assert!(more.is_err(), "{turns:?} {room:?} {round}: {more:?}");
            }
        }
    }
}
