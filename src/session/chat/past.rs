//! What was said in the session so far, by voice and in the chat. Models are told as much of it as they have room for.

use crate::message::{Channel, Event, Notice, Position, Seq, Speaker, View};
use crate::provider::live::Said;
use crate::store::{SessionKey, Store, StoreError};
use tracing::warn;

/// How many of the newest chat events are read; a model takes as many of them as it has room for.
const LOOKED_BACK: usize = 200;
/// In characters. One long answer must not push everything else out.
const LONGEST: usize = 1_000;

/// What was said up to the event `upto`, oldest first, for a live model. `asked` is what the model is asked right now;
/// it is left out, although the log has it already.
pub(in crate::session) async fn said(
    store: Store,
    key: SessionKey,
    upto: Seq,
    asked: Vec<String>,
) -> Vec<Said> {
    match recent(&store, key, Channel::Chat, upto, words).await {
        Ok(said) => without(said, &asked),
        Err(err) => {
            warn!(%err, "a live model is not told what was said before");
            Vec::new()
        }
    }
}

/// What `wanted` picks from the newest events of a channel up to `upto`, oldest first, since the user began anew.
pub(super) async fn recent<T>(
    store: &Store,
    key: SessionKey,
    channel: Channel,
    upto: Seq,
    wanted: fn(&Event) -> Option<T>,
) -> Result<Vec<T>, StoreError> {
    // `None` stands for a reset.
    let picked = newest(store, key, channel, upto, LOOKED_BACK, |event| {
        let is_reset = matches!(event, Event::Notice(Notice::Reset));
        if is_reset { Some(None) } else { wanted(event).map(Some) }
    });
    let mut found = Vec::new();
    for one in picked.await? {
        match one {
            Some(one) => found.push(one),
            None => found.clear(),
        }
    }
    Ok(found)
}

/// What `wanted` picks from the newest `most` events of a channel up to `upto`, oldest first.
pub(super) async fn newest<T>(
    store: &Store,
    key: SessionKey,
    channel: Channel,
    upto: Seq,
    most: usize,
    wanted: impl Fn(&Event) -> Option<T>,
) -> Result<Vec<T>, StoreError> {
    let (view, upto) = (View::One(channel), Position(upto.0));
    let mut after = store.before_last(key, view, upto, most).await?;
    let mut found = Vec::new();
    while after < upto {
        let page = store.page(key, view, after, upto).await?;
        found.extend(page.entries.iter().filter_map(|entry| wanted(&entry.event)));
        after = page.reached;
    }
    Ok(found)
}

/// Who said what, typed or spoken, to any model.
pub(super) fn spoken(event: &Event) -> Option<(Speaker, &str)> {
    match event {
        // A request is what the user has typed elsewhere for this channel.
        Event::UserText { text, .. } | Event::UserRequest { text, .. } => {
            Some((Speaker::User, text))
        }
        Event::Transcript { speaker, text, .. } => Some((*speaker, text)),
        Event::Text { text, .. } | Event::RequestAnswered { text, .. } => {
            Some((Speaker::Model, text))
        }
        Event::UserFile(_)
        | Event::RunStarted(_)
        | Event::RunLine(_)
        | Event::Tool(_)
        | Event::Plan(_)
        | Event::RunSummed(_)
        | Event::Chosen(_)
        | Event::ConfirmAsked(_)
        | Event::ConfirmSettled { .. }
        | Event::RunEnded(_)
        | Event::FileMade(_)
        | Event::FilesChanged { .. }
        | Event::CancelTaken
        | Event::AgentReport(_)
        | Event::Notice(_)
        | Event::Work(_)
        | Event::Files { .. } => None,
    }
}

fn words(event: &Event) -> Option<Said> {
    let (speaker, text) = spoken(event)?;
    Some(Said { by_user: speaker == Speaker::User, text: shortened(text) })
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn without(mut said: Vec<Said>, asked: &[String]) -> Vec<Said> {
    for text in asked {
        let text = shortened(text);
        if let Some(at) = said.iter().rposition(|said| said.by_user && said.text == text) {
            said.remove(at);
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Said {
        Said { by_user: true, text: text.to_owned() }
    }

    #[test]
    fn the_current_question_is_not_history_but_an_earlier_equal_one_is() {
        let said = vec![user("again"), user("b"), user("again")];
        assert_eq!(without(said, &["again".to_owned()]), [user("again"), user("b")]);
    }

    #[test]
    fn a_long_answer_is_shortened_between_characters() {
        let text = "\u{3042}".repeat(LONGEST + 1);
        let answered = Event::RequestAnswered { text, by: None };
        let Some(said) = words(&answered) else { panic!("nothing") };
        assert_eq!(said.text.chars().count(), LONGEST + 3);
        assert!(!said.by_user && said.text.ends_with("..."));
    }
}
