//! A chat model without a model: echoes the text word by word. `fail REASON` fails and `sleep SECONDS` waits
//! first, so that failures and cancels can be tried offline. Each line `use TOOL JSON` calls a tool, in order; the
//! answer is the text of the results.

use super::{
    CHAT_OUTPUT_CAPACITY, ChatError, ChatMessage, ChatOutput, ChatRequest, ChatTurn, DoneReason,
    ToolCall, ToolResult, ToolSpec,
};
use crate::task;
use std::path::Path;
use std::time::Duration;
use tokio::sync::mpsc;

const DONE: ChatOutput = ChatOutput::Done { reason: DoneReason::Complete };

pub(super) fn ask(request: ChatRequest) -> ChatTurn {
    let (pieces, output) = mpsc::channel(CHAT_OUTPUT_CAPACITY);
    task::spawn("chat-scripted", async move {
        tokio::select! {
            // Nobody waits for the answer any more.
            () = pieces.closed() => (),
            () = answer(&request, &pieces) => (),
        }
    });
    ChatTurn { output }
}

async fn answer(request: &ChatRequest, pieces: &mpsc::Sender<ChatOutput>) {
    let (text, results) = asked(request);
    if !results.is_empty() {
        emit(pieces, ChatOutput::Delta(results.join("\n"))).await;
        emit(pieces, DONE).await;
        return;
    }
    let calls = calls(text, &request.tools);
    if !calls.is_empty() {
        for call in calls {
            emit(pieces, ChatOutput::ToolCall(call)).await;
        }
        emit(pieces, ChatOutput::Done { reason: DoneReason::Tools }).await;
        return;
    }
    if let Some(reason) = text.strip_prefix("fail ") {
        emit(pieces, ChatOutput::Failed(ChatError::Scripted(reason.to_owned()))).await;
        return;
    }
    if let Some(pause) = text.strip_prefix("sleep ").and_then(seconds) {
        tokio::time::sleep(pause).await;
    }
    let begin = if request.echo.is_empty() { "echo: " } else { request.echo };
    emit(pieces, ChatOutput::Delta(begin.to_owned())).await;
    for word in text.split_inclusive(char::is_whitespace) {
        emit(pieces, ChatOutput::Delta(word.to_owned())).await;
    }
    for path in &request.attachments {
        emit(pieces, ChatOutput::Delta(format!(" [file {}]", file_name(path)))).await;
    }
    emit(pieces, DONE).await;
}

/// What the user asked, and what the tools that were called for it said.
fn asked(request: &ChatRequest) -> (&str, Vec<&str>) {
    if !request.text.is_empty() {
        return (&request.text, Vec::new());
    }
    let is_user = |message: &ChatMessage| matches!(message, ChatMessage::User { .. });
    let Some(at) = request.history.iter().rposition(is_user) else { return ("", Vec::new()) };
    let text = match &request.history[at] {
        ChatMessage::User { text, .. } => text.as_str(),
        ChatMessage::Assistant { .. } | ChatMessage::Tool(_) => "",
    };
    let results = request.history[at..].iter().filter_map(|message| match message {
        ChatMessage::Tool(ToolResult { outcome: Ok(said) | Err(said), .. }) => Some(said.as_str()),
        ChatMessage::User { .. } | ChatMessage::Assistant { .. } => None,
    });
    (text, results.collect())
}

/// The lines `use TOOL JSON`. A name has a colon or is that of a tool that is offered, so that a sentence which begins
/// with "use" is none.
fn calls(text: &str, tools: &[ToolSpec]) -> Vec<ToolCall> {
    let call = |(number, line): (usize, &str)| {
        let rest = line.trim().strip_prefix("use ")?.trim_start();
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let arguments = arguments.trim();
        let is_tool = name.contains(':') || tools.iter().any(|tool| tool.name == name);
        is_tool.then(|| ToolCall {
            id: format!("use-{}", number + 1),
            name: name.to_owned(),
            arguments: if arguments.is_empty() { "{}".to_owned() } else { arguments.to_owned() },
            signature: None,
        })
    };
    text.lines().enumerate().filter_map(call).collect()
}

/// A closed queue is seen by the select around the whole answer.
async fn emit(pieces: &mpsc::Sender<ChatOutput>, output: ChatOutput) {
    let _ = pieces.send(output).await;
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    #[tokio::test]
    async fn answer_comes_word_by_word() {
        let pieces = collect("a  b\nc ", &[]).await;
        let deltas =
            ["echo: ", "a ", " ", "b\n", "c "].map(|text| ChatOutput::Delta(text.to_owned()));
        assert_eq!(pieces[..5], deltas);
        assert_eq!(pieces[5..], [DONE]);
    }

    #[tokio::test]
    async fn attachments_are_named_at_the_end() {
        let pieces = collect("hi", &["/x/a.txt", "b.png"]).await;
        let text: String = pieces.iter().filter_map(delta).collect();
        assert_eq!(text, "echo: hi [file a.txt] [file b.png]");
    }

    #[tokio::test]
    async fn fail_gives_the_reason() {
        let failed = ChatOutput::Failed(ChatError::Scripted("no more words".to_owned()));
        assert_eq!(collect("fail no more words", &[]).await, [failed]);
    }

    #[tokio::test(start_paused = true)]
    async fn sleep_waits_before_the_answer() {
        let began = Instant::now();
        assert_eq!(collect("sleep 1.5", &[]).await.last(), Some(&DONE));
        assert_eq!(began.elapsed(), Duration::from_millis(1_500));
    }

    #[tokio::test(start_paused = true)]
    async fn sleep_without_a_number_is_a_text() {
        for text in ["sleep well", "sleep -1", "sleep NaN", "sleep 1e300"] {
            let began = Instant::now();
            assert_eq!(collect(text, &[]).await.last(), Some(&DONE));
            assert_eq!(began.elapsed(), Duration::ZERO);
        }
    }

    #[tokio::test]
    async fn lines_that_use_tools_are_calls_and_the_results_are_the_answer() {
        let text = "use file:read {\"path\": \"a.txt\"}\nplease\nuse file:list";
        let pieces = collect(text, &[]).await;
        let call = |id: &str, name: &str, arguments: &str| ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            signature: None,
        };
        let read = call("use-1", "file:read", "{\"path\": \"a.txt\"}");
        let list = call("use-3", "file:list", "{}");
        let done = ChatOutput::Done { reason: DoneReason::Tools };
        let expected =
            [ChatOutput::ToolCall(read.clone()), ChatOutput::ToolCall(list.clone()), done];
        assert_eq!(pieces, expected);
        let result = |id: &str, outcome| {
            ChatMessage::Tool(ToolResult { id: id.to_owned(), name: String::new(), outcome })
        };
        let history = vec![
            ChatMessage::User { text: text.to_owned(), images: Vec::new() },
            ChatMessage::Assistant { text: String::new(), calls: vec![read, list] },
            result("use-1", Ok("1: hi".to_owned())),
            result("use-3", Err("refused".to_owned())),
        ];
        let pieces = collected(ChatRequest { history, ..ChatRequest::default() }).await;
        assert_eq!(pieces, [ChatOutput::Delta("1: hi\nrefused".to_owned()), DONE]);
    }

    #[tokio::test]
    async fn a_sentence_that_begins_with_use_is_echoed() {
        assert_eq!(collect("use the force", &[]).await.first(), Some(&echo()));
        assert_eq!(collect("using file:read", &[]).await.first(), Some(&echo()));
    }

    #[tokio::test]
    async fn a_tool_that_is_offered_is_called_by_its_plain_name_and_an_echo_has_its_own_beginning()
    {
        let spec = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            schema: "{}".to_owned(),
        };
        let request = |text: &str| ChatRequest {
            text: text.to_owned(),
            tools: vec![spec("clear_map")],
            echo: "Echo: ",
            ..ChatRequest::default()
        };
        let pieces = collected(request("use clear_map {}")).await;
        assert!(matches!(&pieces[0], ChatOutput::ToolCall(call) if call.name == "clear_map"));
        let pieces = collected(request("use the map")).await;
        assert_eq!(pieces.first(), Some(&ChatOutput::Delta("Echo: ".to_owned())));
    }

    fn echo() -> ChatOutput {
        ChatOutput::Delta("echo: ".to_owned())
    }

    async fn collect(text: &str, attachments: &[&str]) -> Vec<ChatOutput> {
        let attachments = attachments.iter().map(Into::into).collect();
        let request = ChatRequest { text: text.to_owned(), attachments, ..ChatRequest::default() };
        collected(request).await
    }

    async fn collected(request: ChatRequest) -> Vec<ChatOutput> {
        let mut turn = ask(request);
        let mut pieces = Vec::new();
        while let Some(piece) = turn.output.recv().await {
            pieces.push(piece);
        }
        pieces
    }

    fn delta(piece: &ChatOutput) -> Option<&str> {
        match piece {
            ChatOutput::Delta(text) => Some(text),
            ChatOutput::ToolCall(_)
            | ChatOutput::Image { .. }
            | ChatOutput::Usage(_)
            | ChatOutput::Done { .. }
            | ChatOutput::Failed(_) => None,
        }
    }
}
