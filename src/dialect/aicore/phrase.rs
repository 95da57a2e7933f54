//! Texts of the gateway itself, in the client's language.

use super::error::{DecodeError, Malformed};
use super::settings;
use super::wire::SCRIPTED;
use crate::dialect::FrameError;
use crate::locale::Locale;
use crate::message::{
    AUTO, AssistantName, Channel, Chosen, ChosenOutcome, Confirmation, FileNote, Greeting, Notice,
    Problem, SettingProblem, SetupHint, StopReason, SystemNotice, View, WorkplaceChoice,
};

/// Longest input shown together with a diff, in bytes.
const LONGEST_BEGINNING: usize = 2 * 1024;

pub(super) fn with_attachments(locale: Locale, text: &str, attachments: &[String]) -> String {
    if attachments.is_empty() {
        return text.to_owned();
    }
    text.to_owned() + &locale.say("file", "attached", &[("paths", &attachments.join(", "))])
}

pub(super) fn file_received(locale: Locale, note: &FileNote) -> String {
    locale.say("file", "received", &[("name", &note.name)])
}

pub(in crate::dialect) fn file_made(locale: Locale, note: &FileNote) -> String {
    locale.say("file", "made", &[("name", &note.name)])
}

pub(in crate::dialect) fn notice(locale: Locale, notice: &Notice) -> String {
    let say = |name, values: &[(&str, &str)]| locale.say("notice", name, values);
    match notice {
        Notice::Queued { run, place } => {
            say("queued", &[("run", &run.0.to_string()), ("place", &place.to_string())])
        }
        Notice::QueuedCancelled { run } => say("queued_cancelled", &[("run", &run.0.to_string())]),
        Notice::NothingToCancel => say("nothing_to_cancel", &[]),
        Notice::RunCancelled { .. } => say("run_cancelled", &[]),
        Notice::RunFailed { reason, .. } => say("run_failed", &[("reason", &locale.word(reason))]),
        Notice::RunInterrupted { request, .. } => say("run_interrupted", &[("request", request)]),
        Notice::ProjectGone { project } => say("project_gone", &[("project", project)]),
        Notice::LiveDown { reason } => say("live_down", &[("reason", &locale.word(reason))]),
        Notice::LiveReplaced { model, reason } => {
            say("live_replaced", &[("model", model), ("reason", &locale.word(reason))])
        }
        Notice::WorkKept { agent, files } => {
            let (agent, files) = (agent.number().to_string(), files.to_string());
            say("work_kept", &[("agent", &agent), ("files", &files)])
        }
        Notice::CopyLacks { agent, paths } => {
            let agent = agent.number().to_string();
            say("copy_lacks", &[("agent", &agent), ("paths", &paths.join(", "))])
        }
        Notice::Locked { failures } => say("locked", &[("failures", &failures.to_string())]),
        Notice::Reset => say("reset", &[]),
        Notice::AnswerCut { .. } => say("answer_cut", &[]),
        Notice::WhichQuestion { open } => {
            let first = open.first().map_or_else(String::new, u32::to_string);
            let numbers: Vec<_> = open.iter().map(u32::to_string).collect();
            say("which_question", &[("open", &numbers.join(", ")), ("first", &first)])
        }
        Notice::ChangedInCopy { agent, files } => {
            let (agent, files) = (agent.number().to_string(), files.to_string());
            say("in_copy", &[("agent", &agent), ("files", &files)])
        }
        Notice::NotChosen { reason } => say("not_chosen", &[("reason", &locale.word(reason))]),
        Notice::ConfirmAgain { number } => say("confirm_again", &[("number", &number.to_string())]),
        Notice::StillOpen { agent, open } => {
            let first = open.first().map_or_else(String::new, u32::to_string);
            let numbers: Vec<_> = open.iter().map(u32::to_string).collect();
            let (agent, open) = (agent.number().to_string(), numbers.join(", "));
            say("still_open", &[("agent", &agent), ("open", &open), ("first", &first)])
        }
    }
}

pub(super) fn stop_playback(locale: Locale, reason: StopReason) -> String {
    let name = match reason {
        StopReason::UserSpeaks => "user_speaks",
        StopReason::AnotherSocket => "another_socket",
        StopReason::ModelLeaves => "model_leaves",
    };
    locale.say("playback", name, &[])
}

pub(in crate::dialect) fn system(locale: Locale, notice: &SystemNotice) -> String {
    match notice {
        SystemNotice::Say(text) => text.as_ref().to_owned(),
        SystemNotice::ShuttingDown => locale.say("system", "shutting_down", &[]),
    }
}

pub(in crate::dialect) fn problem(locale: Locale, problem: &Problem) -> String {
    let say = |values: &[(&str, &str)]| locale.say("error", problem.code(), values);
    match problem {
        Problem::QueueFull { waiting } => say(&[("waiting", &waiting.to_string())]),
        Problem::FileRefused { reason }
        | Problem::ListFailed { reason }
        | Problem::StoreStalled { reason }
        | Problem::NoChoice { reason }
        | Problem::NotCarriedOut { reason } => say(&[("reason", &locale.word(reason))]),
        Problem::TooManyControls { limit } => say(&[("limit", &limit.to_string())]),
        Problem::ReadOnly
        | Problem::NotHolder
        | Problem::NothingToConfirm
        | Problem::ConfirmTwice
        | Problem::Locked
        | Problem::SessionDeleted
        | Problem::StorageDamaged => say(&[]),
    }
}

/// An approval question for clients without a dialog. The text contains as much as a dialog would show.
pub(super) fn question(locale: Locale, channel: Channel, asked: &Confirmation) -> String {
    let (seconds, number) = (asked.seconds.to_string(), asked.number.to_string());
    let agent = number_of(asked.channel);
    let input = match &asked.diff {
        // Most of the input is usually in the diff as well; the rest of the input is rarely long.
        Some(diff) => format!("{}\n{diff}", beginning(locale, &asked.input)),
        None => asked.input.clone(),
    };
    let values = [
        ("number", number.as_str()),
        ("agent", agent.as_str()),
        ("tool", asked.tool.as_str()),
        ("input", &input),
        ("level", asked.level.name()),
        ("reason", &locale.word(&asked.reason)),
        ("seconds", &seconds),
    ];
    let is_copy = channel == Channel::Chat && asked.channel != channel;
    let name = if is_copy { "question_in_chat" } else { "question" };
    locale.say("confirm", name, &values)
}

/// The beginning of a text, with a note about how much was cut off.
fn beginning(locale: Locale, text: &str) -> String {
    let mut end = text.len().min(LONGEST_BEGINNING);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end == text.len() {
        return text.to_owned();
    }
    let missing = (text.len() - end).to_string();
    let mark = locale.say("confirm", "shortened", &[("bytes", &missing)]);
    format!("{}\n{mark}", &text[..end])
}

pub(super) fn settled(
    locale: Locale,
    channel: Channel,
    asked_on: Channel,
    number: u32,
    approved: bool,
) -> String {
    let is_copy = channel == Channel::Chat && asked_on != channel;
    let name = match (is_copy, approved) {
        (true, true) => "approved_in_chat",
        (true, false) => "refused_in_chat",
        (false, true) => "approved",
        (false, false) => "refused",
    };
    let (agent, number) = (number_of(asked_on), number.to_string());
    locale.say("confirm", name, &[("agent", &agent), ("number", &number)])
}

/// Number of the agent on this channel, as users know it; 0 is the chat.
fn number_of(channel: Channel) -> String {
    match channel {
        Channel::Agent(slot) => slot.number().to_string(),
        Channel::Chat | Channel::Audio | Channel::Input | Channel::File => "0".to_owned(),
    }
}

/// The outcome of a choice, for clients that only show text.
pub(super) fn chosen(locale: Locale, chosen: &Chosen) -> String {
    let agent = chosen.agent.number().to_string();
    let (name, details) = match &chosen.outcome {
        ChosenOutcome::Done { files, branch, left_out, .. } => {
            let mut lines =
                branch.as_ref().map_or_else(|| files.clone(), |name| vec![name.clone()]);
            if !left_out.is_empty() {
                let paths = left_out.join(", ");
                lines.push(locale.say("choice", "left_out", &[("paths", &paths)]));
            }
            ("done", lines.join("\n"))
        }
        ChosenOutcome::Conflicts(conflicts) => {
            let lines = conflicts.iter().map(|one| format!("{} ({})", one.path, one.kind));
            ("conflict", lines.collect::<Vec<_>>().join("\n"))
        }
        ChosenOutcome::Failed { reason } => ("failed", locale.word(reason)),
    };
    let values = [("agent", agent.as_str()), ("details", &details)];
    let what = locale.say("choice", chosen.kind.name(), &values);
    locale.say("choice", name, &[("what", &what), ("details", &details)])
}

pub(super) fn decode_error(locale: Locale, error: &DecodeError) -> String {
    let say = |values: &[(&str, &str)]| locale.say("error", error.code(), values);
    match error {
        DecodeError::Malformed(malformed) => say(&[("reason", &reason(locale, *malformed))]),
        DecodeError::UnknownKind(kind)
        | DecodeError::AudioOnly(kind)
        | DecodeError::NoAudioHere(kind) => say(&[("kind", kind)]),
        DecodeError::ReceiveOnly(channel) => say(&[("channel", channel)]),
        DecodeError::WrongChannel { value, allowed } => {
            say(&[("value", value), ("allowed", allowed)])
        }
        DecodeError::BadField { field, expected } => {
            say(&[("field", field), ("expected", &locale.word(expected))])
        }
        DecodeError::TooLarge { size, limit } => {
            say(&[("size", &size.to_string()), ("limit", &limit.to_string())])
        }
        DecodeError::BadBase64 { field } => say(&[("field", field)]),
        DecodeError::BadAudio(reason) => say(&[("reason", &locale.word(reason))]),
        DecodeError::NotAnObject | DecodeError::MissingKind | DecodeError::Binary => say(&[]),
    }
}

fn reason(locale: Locale, malformed: Malformed) -> String {
    match malformed {
        Malformed::NotJson(at) => at.say(locale, "malformed", "not_json"),
        Malformed::CutOff(at) => at.say(locale, "malformed", "cut_off"),
        Malformed::DuplicateKey(at) => at.say(locale, "malformed", "key_twice"),
        Malformed::Unreadable => locale.say("malformed", "unreadable", &[]),
    }
}

pub(in crate::dialect) fn setting_problem(locale: Locale, problem: &SettingProblem) -> String {
    let say = |values: &[(&str, &str)]| locale.say("setting", problem.code(), values);
    match problem {
        SettingProblem::NoEffect { value, only } => say(&[("value", value), ("only", only)]),
        SettingProblem::UnknownValue { value, known } => say(&[("value", value), ("known", known)]),
        SettingProblem::Unusable { reason } => say(&[("reason", reason)]),
        SettingProblem::NotListed | SettingProblem::Busy => say(&[]),
    }
}

/// Which model or agent answers on this channel; `None` for channels without an introduction.
pub(super) fn welcome_info(locale: Locale, greeting: &Greeting) -> Option<String> {
    let settings = &greeting.settings;
    let View::One(channel) = greeting.view else { return None };
    match channel {
        Channel::Input => {
            Some(locale.say("welcome", "input_info", &[("project", &greeting.project)]))
        }
        Channel::Chat => {
            let (chat, live) = (settings.chat.as_str(), settings.live.as_str());
            let values = [("chat", chat), ("live", live), ("voice", settings::voice(settings))];
            let info = match settings.chat_assistant.as_str() {
                AssistantName::ANALYST => analyst_info(locale, greeting),
                _ => locale.say("welcome", "chat_info", &values),
            };
            let hints = greeting.setup.as_ref().map(|setup| {
                let of_chat = ["chat_scripted", "chat_offered"];
                let of_live = ["live_scripted", "live_offered"];
                model_hint(locale, setup, chat, of_chat, &setup.chat_row)
                    + &model_hint(locale, setup, live, of_live, &setup.live_row)
            });
            Some(info + &hints.unwrap_or_default())
        }
        Channel::Agent(slot) if settings.agents[slot].name == AssistantName::ANALYST => {
            Some(analyst_info(locale, greeting))
        }
        Channel::Agent(slot) => {
            let (agent, chosen) = (slot.number().to_string(), &settings.agents[slot]);
            let model = chosen.model.as_deref().unwrap_or(AUTO);
            let values = [("agent", agent.as_str()), ("name", &chosen.name), ("model", model)];
            let info = locale.say("welcome", "agent_info", &values);
            let is_shared = chosen.workplace == WorkplaceChoice::Shared;
            let risk = is_shared.then(|| locale.say("welcome", "shared_risk", &[]));
            Some(risk.map_or(info.clone(), |risk| format!("{info}\n{risk}")))
        }
        Channel::Audio | Channel::File => None,
    }
}

fn analyst_info(locale: Locale, greeting: &Greeting) -> String {
    let values =
        [("chat", greeting.settings.chat.as_str()), ("session", greeting.session.as_str())];
    locale.say("welcome", "analyst_info", &values)
}

/// Explains why the scripted or an automatically found model answers, and how to configure another one.
fn model_hint(
    locale: Locale,
    setup: &SetupHint,
    name: &str,
    [scripted, offered]: [&str; 2],
    row: &str,
) -> String {
    let file = ("file", setup.file.as_str());
    if name == SCRIPTED {
        let values = [file, ("row", row), ("variables", &setup.variables)];
        return locale.say("welcome", scripted, &values);
    }
    let Some(model) = setup.offered.iter().find(|model| model.name == name) else {
        return String::new();
    };
    let values = [file, ("model", model.model.as_str()), ("variable", &model.variable)];
    locale.say("welcome", offered, &values)
}

pub(super) fn welcome_text(locale: Locale, greeting: &Greeting) -> Option<String> {
    let View::One(channel) = greeting.view else { return None };
    match channel {
        Channel::Input => Some(match &greeting.overview {
            Some(overview) => overview.clone(),
            None => locale.say("welcome", "input_text", &[]),
        }),
        Channel::Chat => Some(locale.say("welcome", "chat_text", &[])),
        Channel::Agent(_) => Some(locale.say("welcome", "agent_text", &[])),
        Channel::Audio | Channel::File => None,
    }
}
