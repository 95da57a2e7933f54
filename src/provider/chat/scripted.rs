//! A chat model without a model: echoes the text word by word. `fail REASON` fails and `sleep SECONDS` waits
//! first, so that failures and cancels can be tried offline.

use super::{CHAT_OUTPUT_CAPACITY, ChatError, ChatOutput, ChatRequest, ChatTurn, DoneReason};
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
    if let Some(reason) = request.text.strip_prefix("fail ") {
        emit(pieces, ChatOutput::Failed(ChatError::Scripted(reason.to_owned()))).await;
        return;
    }
    if let Some(pause) = request.text.strip_prefix("sleep ").and_then(seconds) {
        tokio::time::sleep(pause).await;
    }
    emit(pieces, ChatOutput::Delta("echo: ".to_owned())).await;
    for word in request.text.split_inclusive(char::is_whitespace) {
        emit(pieces, ChatOutput::Delta(word.to_owned())).await;
    }
    for path in &request.attachments {
        emit(pieces, ChatOutput::Delta(format!(" [file {}]", file_name(path)))).await;
    }
    emit(pieces, DONE).await;
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

    async fn collect(text: &str, attachments: &[&str]) -> Vec<ChatOutput> {
        let attachments = attachments.iter().map(Into::into).collect();
        let mut turn =
            ask(ChatRequest { text: text.to_owned(), attachments, ..ChatRequest::default() });
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
