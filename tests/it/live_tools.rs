//! Tools of live models, on the vendors' own wires: what is offered, what is asked about, and what the model is told.

use crate::live_gemini::{self, vendor};
use crate::live_openai;
use crate::lives::set;
use crate::support::{BODY, CHANNEL, Frontend, Gateway, KIND, eventually};
use kakehashi::provider::row::LiveModel;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::net::TcpStream;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wire {
    OpenAi,
    Gemini,
}

const WIRES: [Wire; 2] = [Wire::OpenAi, Wire::Gemini];

/// The vendor's end of one conversation.
enum End {
    OpenAi { call: live_openai::Call, responses: u32 },
    Gemini(vendor::Call<TcpStream>),
}

/// A conversation whose model has just been told "go on" by the user.
struct Talk {
    end: End,
    front: Frontend,
    gateway: Gateway,
    /// What the model was told of its tools.
    tools: Value,
}

/// Id, name and arguments as the model writes them.
type Wish<'a> = (&'a str, &'a str, &'a str);

const READ: Wish<'_> = ("c-1", "file_read", r#"{"path":"report.txt"}"#);
const WRITE: Wish<'_> = ("c-1", "file_write", r#"{"path":"made.txt","content":"x"}"#);

impl End {
    /// What the model says it wants, in one response.
    async fn wants(&mut self, wishes: &[Wish<'_>]) {
        match self {
            Self::OpenAi { call, responses } => {
                *responses += 1;
                respond(call, *responses, wishes, "completed").await;
            }
            Self::Gemini(call) => {
                let wish = |(id, name, arguments): &Wish<'_>| {
                    let args: Value = serde_json::from_str(arguments).unwrap_or(json!(arguments));
                    json!({"id": id, "name": name, "args": args})
                };
                let calls: Vec<_> = wishes.iter().map(wish).collect();
                call.say(json!({"toolCall": {"functionCalls": calls}})).await;
            }
        }
    }

    /// The next thing that it is told, which has to be the result of a call: its id, and the result or why there is
    /// none.
    async fn result(&mut self) -> (String, Result<String, String>) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        match self {
            Self::OpenAi { call, .. } => {
                let item = call.until("conversation.item.create").await["item"].take();
                assert_eq!(item["type"], "function_call_output", "{item}");
                let output = text(&item["output"]);
                let error = serde_json::from_str::<Value>(&output).ok();
                let error = error.and_then(|value| Some(value["error"].as_str()?.to_owned()));
                (text(&item["call_id"]), error.map_or(Ok(output), Err))
            }
            Self::Gemini(call) => {
                let frame = call.next().await;
                let answer = &frame["toolResponse"]["functionResponses"][0];
                let id = answer["id"].as_str().unwrap_or_else(|| panic!("{frame}")).to_owned();
                let response = &answer["response"];
                let error = response["error"].as_str().map(str::to_owned);
                (id, error.map_or_else(|| Ok(text(&response["output"])), Err))
            }
        }
    }

    /// The next thing that it is told, which has to be a text of the user.
    async fn text(&mut self) -> String {
        match self {
            Self::OpenAi { call, .. } => {
                let item = call.until("conversation.item.create").await["item"].take();
                assert_eq!(item["type"], "message", "{item}");
                item["content"][0]["text"].as_str().unwrap().to_owned()
            }
            Self::Gemini(call) => call.text().await,
        }
    }
}

/// One response of OpenAI's that only calls functions, and its end.
async fn respond(call: &mut live_openai::Call, number: u32, wishes: &[Wish<'_>], status: &str) {
    let response = format!("r{number}");
    call.say(json!({"type": "response.created", "response": {"id": response}})).await;
    let mut output = Vec::new();
    for (id, name, arguments) in wishes {
        let made = json!({"type": "response.function_call_arguments.done", "response_id": response,
            "item_id": format!("i-{id}"), "call_id": id, "name": name, "arguments": arguments});
        call.say(made).await;
        let item =
            json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments});
        output.push(item);
    }
    let done = json!({"id": response, "status": status, "output": output});
    call.say(json!({"type": "response.done", "response": done})).await;
}

impl Talk {
    async fn open(wire: Wire) -> Self {
        Self::open_with(wire, "auto").await
    }

    /// With these tools in the session's settings.
    async fn open_with(wire: Wire, tools: &str) -> Self {
        let (listener, model): (_, LiveModel) = match wire {
            Wire::OpenAi => {
                let vendor = live_openai::Vendor::start().await;
                let row = vendor.row("test_live");
                (vendor.listener, row)
            }
            Wire::Gemini => {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                let row = live_gemini::row("test_live", &listener);
                (listener, row)
            }
        };
        let gateway = Gateway::start_with(|config| {
            Arc::make_mut(&mut config.settings).live = "test_live".to_owned();
            config.live = vec![model];
        })
        .await;
        std::fs::write(gateway.project().join("report.txt"), "all is well\n").unwrap();
        let mut front = Frontend::open(gateway.addr, None).await;
        let chosen = set(gateway.addr, front.session(), "CHAT_TOOLS", tools).await;
        assert_eq!(chosen["status"], "OK", "{chosen}");
        write(&mut front, "go on").await;
        let (mut end, tools) = match wire {
            Wire::OpenAi => {
                let vendor = live_openai::Vendor { listener };
                let (call, setup) = vendor.answer_with_setup().await;
                let tools = setup["session"]["tools"].clone();
                (End::OpenAi { call, responses: 0 }, tools)
            }
            Wire::Gemini => {
                let (stream, _) = listener.accept().await.unwrap();
                let mut call = vendor::Call::pick_up(stream).await;
                let setup = call.begin().await;
                let tools = setup["tools"][0]["functionDeclarations"].clone();
                (End::Gemini(call), tools)
            }
        };
        assert_eq!(end.text().await, "go on");
        if let End::OpenAi { call, .. } = &mut end {
            call.until("response.create").await;
        }
        Self { end, front, gateway, tools }
    }

    fn tool_names(&self) -> Vec<&str> {
        let tools = self.tools.as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
    }

    /// The id of the next question.
    async fn asked(&mut self) -> Value {
        self.front.input.until("confirm_request").await[BODY]["id"].take()
    }

    async fn answer(&mut self, id: &Value, approved: bool) {
        let answer = json!({KIND: "confirm_answer", BODY: {"id": id, "承認": approved}});
        self.front.input.send(&answer).await;
    }

    /// The question is over, and nobody has answered it.
    async fn disappears(&mut self, id: &Value) {
        let settled = self.front.input.until("confirm_result").await;
        assert_eq!(&settled[BODY]["id"], id, "{settled}");
        assert_eq!(settled[BODY]["承認"], false, "{settled}");
        assert_eq!(settled[BODY]["決定者"], "end", "{settled}");
        // A late answer decides nothing.
        self.answer(id, true).await;
        assert_eq!(self.front.input.until("error").await["コード"], "nothing_to_confirm");
    }

    /// Nothing but a text of the user reaches the model.
    async fn hears_only_the_user(&mut self) {
        write(&mut self.front, "still there?").await;
        assert_eq!(self.end.text().await, "still there?");
    }

    fn made(&self) -> Option<String> {
        std::fs::read_to_string(self.gateway.project().join("made.txt")).ok()
    }
}

async fn write(front: &mut Frontend, text: &str) {
    let live = json!({CHANNEL: "0", "送信モード": "Live", KIND: "input_text", BODY: text});
    front.input.send(&live).await;
}

#[tokio::test]
async fn a_model_is_told_of_the_tools_that_its_session_offers() {
    let all = ["file_read", "file_list", "file_search", "file_write", "file_replace"];
    let all: Vec<_> =
        ["code_agent_request"].into_iter().chain(all).chain(["shell_execute"]).collect();
    for wire in WIRES {
        for (chosen, names) in [
            ("auto", &all[..]),
            ("file:read, file:list", &["code_agent_request", "file_read", "file_list"]),
            ("agent:request,file:list", &["code_agent_request", "file_list"]),
            ("none", &["code_agent_request"]),
        ] {
            let talk = Talk::open_with(wire, chosen).await;
            assert_eq!(talk.tool_names(), names, "{wire:?} {chosen}");
            for tool in talk.tools.as_array().unwrap() {
                assert!(tool["description"].as_str().unwrap().len() > 10, "{tool}");
                let schema = match wire {
                    Wire::OpenAi => &tool["parameters"],
                    Wire::Gemini => &tool["parametersJsonSchema"],
                };
                assert_eq!(schema["type"], "object", "{tool}");
                let is_function = tool["type"] == "function";
                assert_eq!(is_function, wire == Wire::OpenAi, "{tool}");
            }
        }
    }
}

#[tokio::test]
async fn reading_runs_unasked_and_its_result_goes_back_with_its_id() {
    for wire in WIRES {
        let mut talk = Talk::open(wire).await;
        talk.end.wants(&[READ]).await;
        let (id, said) = talk.end.result().await;
        assert_eq!((id.as_str(), said.unwrap().as_str()), ("c-1", "    1  all is well\n"));
        // It was made once, and nobody was asked.
        talk.hears_only_the_user().await;
        talk.answer(&json!("another"), true).await;
        let seen = talk.front.input.collect_until(|packet| packet[KIND] == "error").await;
        assert!(seen.iter().all(|packet| packet[KIND] != "confirm_request"), "{seen:?}");
    }
}

#[tokio::test]
async fn writing_is_done_if_the_user_allows_it() {
    for wire in WIRES {
        let mut talk = Talk::open(wire).await;
        talk.end.wants(&[WRITE]).await;
        let id = talk.asked().await;
        assert_eq!(talk.made(), None);
        talk.answer(&id, true).await;
        let (id, said) = talk.end.result().await;
        assert_eq!((id.as_str(), said.as_deref()), ("c-1", Ok("made.txt is written: 1 bytes")));
        assert_eq!(talk.made().as_deref(), Some("x"));
    }
}

#[tokio::test]
async fn a_refused_call_has_a_refusal_as_its_result() {
    for wire in WIRES {
        let mut talk = Talk::open(wire).await;
        talk.end.wants(&[WRITE]).await;
        let id = talk.asked().await;
        talk.answer(&id, false).await;
        let (id, said) = talk.end.result().await;
        assert_eq!(id, "c-1");
        assert!(said.unwrap_err().contains("this was not allowed"));
        assert_eq!(talk.made(), None);
    }
}

#[tokio::test]
async fn two_calls_of_one_response_have_a_result_each() {
    for wire in WIRES {
        let mut talk = Talk::open(wire).await;
        let write = ("c-2", WRITE.1, WRITE.2);
        talk.end.wants(&[write, READ]).await;
        // The question of one does not hold the other up.
        let (id, said) = talk.end.result().await;
        assert_eq!(id, "c-1");
        assert!(said.unwrap().contains("all is well"));
        let question = talk.asked().await;
        talk.answer(&question, true).await;
        let (id, said) = talk.end.result().await;
        assert_eq!(id, "c-2");
        assert!(said.unwrap().contains("made.txt"));
        assert_eq!(talk.made().as_deref(), Some("x"));
    }
}

#[tokio::test]
async fn what_cannot_be_called_is_answered_with_the_reason() {
    for wire in WIRES {
        let mut talk = Talk::open_with(wire, "file:read,file:list").await;
        for (at, (name, arguments, why)) in [
            (
                "file_burn",
                "{}",
                "there is no tool `file_burn` here; there are file_read, file_list",
            ),
            // A tool of the gateway that this session does not offer.
            (WRITE.1, WRITE.2, "there is no tool `file_write` here"),
            ("file_read", r#"{"path":"#, "the arguments of file_read do not match its schema"),
            ("file_read", r#"{"path":7}"#, "the arguments of file_read do not match its schema"),
            ("file_read", r#"{"path":"missing"}"#, "missing does not exist"),
            ("code_agent_request", r#"{"channel":9,"request":"x"}"#, "from 1 to 4"),
        ]
        .into_iter()
        .enumerate()
        {
            let wanted = format!("c-{at}");
            talk.end.wants(&[(&wanted, name, arguments)]).await;
            let (id, said) = talk.end.result().await;
            assert_eq!(id, wanted);
            let said = said.unwrap_err();
            assert!(said.contains(why), "{wire:?} {name} {arguments}: {said}");
        }
        assert_eq!(talk.made(), None);
    }
}

/// OpenAI cancels responses, and the calls of one that was cancelled may look complete.
#[tokio::test]
async fn a_call_of_a_cancelled_response_is_not_made() {
    let mut talk = Talk::open(Wire::OpenAi).await;
    let End::OpenAi { call, responses } = &mut talk.end else { panic!() };
    *responses += 1;
    respond(call, *responses, &[WRITE], "cancelled").await;
    talk.hears_only_the_user().await;
    // Whatever was read before this call has been answered when its result is there.
    let End::OpenAi { call, .. } = &mut talk.end else { panic!() };
    call.until("response.create").await;
    talk.end.wants(&[("c-2", READ.1, READ.2)]).await;
    assert_eq!(talk.end.result().await.0, "c-2");
    talk.answer(&json!("another"), true).await;
    let seen = talk.front.input.collect_until(|packet| packet[KIND] == "error").await;
    assert!(seen.iter().all(|packet| packet[KIND] != "confirm_request"), "{seen:?}");
    assert_eq!(talk.made(), None);
}

/// Gemini cancels calls when the user speaks.
#[tokio::test]
async fn a_cancelled_call_has_no_question_and_no_result() {
    let mut talk = Talk::open(Wire::Gemini).await;
    talk.end.wants(&[WRITE]).await;
    let id = talk.asked().await;
    cancel(&mut talk, "c-1").await;
    talk.disappears(&id).await;
    talk.hears_only_the_user().await;
    assert_eq!(talk.made(), None);
    // A command that runs already is stopped.
    let script = json!({"command": "touch begun; sleep 600; touch made.txt"}).to_string();
    talk.end.wants(&[("c-2", "shell_execute", &script)]).await;
    let id = talk.asked().await;
    talk.answer(&id, true).await;
    let begun = talk.gateway.project().join("begun");
    eventually(|| begun.exists()).await;
    cancel(&mut talk, "c-2").await;
    talk.hears_only_the_user().await;
    talk.end.wants(&[("c-3", READ.1, READ.2)]).await;
    assert_eq!(talk.end.result().await.0, "c-3");
    assert_eq!(talk.made(), None);
}

async fn cancel(talk: &mut Talk, id: &str) {
    let End::Gemini(call) = &mut talk.end else { panic!() };
    call.content(json!({"interrupted": true})).await;
    call.say(json!({"toolCallCancellation": {"ids": [id]}})).await;
    call.content(json!({"turnComplete": true})).await;
}

/// Whoever ends it, nobody is left who could use the result.
#[tokio::test]
async fn the_question_of_a_model_that_is_gone_disappears() {
    for wire in WIRES {
        let mut talk = Talk::open(wire).await;
        talk.end.wants(&[WRITE]).await;
        let id = talk.asked().await;
        set(talk.gateway.addr, talk.front.session(), "LIVE_AI_NAME", "scripted").await;
        talk.disappears(&id).await;
        assert_eq!(talk.made(), None);

        let mut talk = Talk::open(wire).await;
        talk.end.wants(&[WRITE]).await;
        let id = talk.asked().await;
        match &mut talk.end {
            End::OpenAi { call, .. } => {
                let error = json!({"type": "insufficient_quota", "code": "insufficient_quota",
                    "message": "nothing is left"});
                call.say(json!({"type": "error", "error": error})).await;
            }
            End::Gemini(call) => {
                let error = json!({"code": 403, "status": "PERMISSION_DENIED", "message": "no"});
                call.say(json!({"error": error})).await;
            }
        }
        talk.disappears(&id).await;
        assert_eq!(talk.made(), None);
    }
}

#[tokio::test]
async fn a_huge_result_is_cut_and_says_so() {
    for wire in WIRES {
        let mut talk = Talk::open(wire).await;
        // Of three bytes each.
        let line = format!("{}\n", "橋".repeat(100));
        std::fs::write(talk.gateway.project().join("report.txt"), line.repeat(300)).unwrap();
        talk.end.wants(&[READ]).await;
        let said = talk.end.result().await.1.unwrap();
        assert!((15_000..17_000).contains(&said.len()), "{}", said.len());
        assert!(said.starts_with("    1  橋"), "{said}");
        assert!(said.ends_with(" more bytes are not shown; ask for less at once]"), "{said}");
        // Why something failed can be long, too.
        let path = json!({"path": "x".repeat(60_000)}).to_string();
        talk.end.wants(&[("c-2", "file_read", &path)]).await;
        let why = talk.end.result().await.1.unwrap_err();
        assert!(why.len() < 17_000, "{}", why.len());
        assert!(why.ends_with(" more bytes are not shown; ask for less at once]"), "{why}");
    }
}
