//! Encodes deliveries as frames. An event has `order`, `at`, `channel`, `type` and `data`. A signal has no order,
//! because it is not part of the history.

use super::{ApiEncoder, data, name, push, settings};
use crate::dialect::aicore::phrase;
use crate::dialect::{Frame, work};
use crate::locale::Locale;
use crate::message::{
    Channel, Confirmed, Entry, Event, EventTime, Generation, KnownList, ListKind, Notice,
    RequestNo, Signal, Speaker, StopReason,
};
use jiff::Timestamp;
use serde_json::{Value, json};

pub(super) fn entry(locale: Locale, entry: &Entry) -> Value {
    let (kind, data) = event(locale, &entry.event);
    json!({
        "type": kind, "order": entry.order.0, "at": rfc3339(entry.at), "channel": name::channel(entry.channel),
        "data": data,
    })
}

fn event(locale: Locale, event: &Event) -> (&'static str, Value) {
    match event {
        Event::UserText { text, attachments } => {
            ("user_text", json!({"text": text, "files": attachments}))
        }
        Event::UserRequest { text, attachments } => {
            ("user_request", json!({"text": text, "files": attachments}))
        }
        Event::UserFile(note) => ("user_file", data::file(note)),
        Event::Text { text, run, note } => ("reply", data::reply(text, *run, note)),
        Event::RunStarted(run) => ("run_started", json!({"run": run.0})),
        Event::RunLine(text) => ("run_line", json!({"text": text})),
        Event::Tool(note) => ("tool", data::tool(note)),
        Event::Plan(steps) => ("plan", data::plan(steps)),
        Event::ConfirmAsked(asked) => ("question", data::question(locale, asked)),
        Event::ConfirmSettled { id, channel: asked_on, number, confirmed, by } => {
            let approved = *confirmed == Confirmed::Approved;
            let settled = json!({
                "id": id.as_str(), "agent": name::agent_of(*asked_on), "number": number, "approved": approved,
                "by": by.name(),
            });
            ("question_settled", settled)
        }
        Event::RunEnded(outcome) => ("run_ended", json!({"outcome": outcome.name()})),
        Event::RunSummed(summary) => ("result", data::result(summary)),
        Event::Chosen(chosen) => ("decision", data::decision(locale, chosen)),
        Event::FileMade(note) => ("file", data::file(note)),
        Event::RequestAnswered { text, by } => {
            ("agent_reply", json!({"text": text, "agent": data::agent(*by)}))
        }
        Event::FilesChanged { paths, copy_of, .. } => {
            ("files_changed", json!({"paths": paths, "copy_of": data::agent(*copy_of)}))
        }
        Event::Transcript { speaker, text, interrupted } => {
            let speaker = match speaker {
                Speaker::User => "user",
                Speaker::Model => "model",
            };
            let heard = interrupted.map(|interruption| data::millis(interruption.heard));
            ("transcript", json!({"speaker": speaker, "text": text, "interrupted_after_ms": heard}))
        }
        Event::CancelTaken => ("cancel_taken", json!({})),
        Event::AgentReport(report) => ("agent_report", data::report(report)),
        Event::Notice(notice) => ("notice", notice_data(locale, notice)),
        Event::Work(step) => work::frame(step),
        Event::Files { kind, list } => ("files", data::files(*kind, list.as_deref())),
    }
}

/// Appends the frames of a signal.
pub(super) fn signal(encoder: &mut ApiEncoder, signal: &Signal, frames: &mut Vec<Frame>) {
    let locale = encoder.locale;
    let frame = match signal {
        Signal::Audio { generation, chunk } => {
            if encoder.playing.replace(*generation) != Some(*generation) {
                let data = json!({"generation": generation.0, "rate": chunk.rate});
                push(frames, &json!({"type": "audio", "data": data}));
            }
            return frames.push(Frame::Binary(chunk.pcm.clone()));
        }
        Signal::StopPlayback { generation, reason } => {
            channel_signal("stop_playback", Channel::Audio, stop(*generation, *reason))
        }
        Signal::TurnTimes(times) => {
            channel_signal("turn_times", Channel::Audio, data::turn_times(times))
        }
        Signal::Heartbeat { count, uptime_seconds } => {
            json!({"type": "heartbeat", "data": {"count": count, "uptime_seconds": uptime_seconds}})
        }
        Signal::Ack { request, repeated } => {
            json!({"type": "ack", "request": request_value(request), "repeated": repeated})
        }
        Signal::Failed { problem, request } => {
            error(problem.code(), &phrase::problem(locale, problem), request.as_ref())
        }
        Signal::FilesUnchanged { kind, list, .. } => {
            channel_signal("files_unchanged", Channel::File, unchanged(*kind, list))
        }
        Signal::System(notice) => {
            json!({"type": "system", "data": {"text": phrase::system(locale, notice)}})
        }
        Signal::AnswerPart { channel, run, text } => {
            channel_signal("reply_part", *channel, json!({"run": run.0, "text": text}))
        }
        Signal::AnswerLines { channel, text } => {
            channel_signal("reply_part", *channel, json!({"run": null, "text": text}))
        }
        Signal::Compared { rows } => {
            channel_signal("comparison", Channel::Chat, data::comparison(locale, rows))
        }
        Signal::Diff(note) => channel_signal("diff", Channel::Agent(note.agent), data::diff(note)),
        Signal::Backups(list) => {
            let channel = list.agent.map_or(Channel::Chat, Channel::Agent);
            channel_signal("snapshots", channel, data::snapshots(list))
        }
        Signal::Settings(note) => json!({"type": "settings", "data": settings::data(note)}),
        Signal::SettingsRefused { refused, request } => {
            settings::refused(locale, refused, request.as_ref())
        }
        Signal::State { channel, note } => {
            let data = json!({"state": note.state.name(), "run": note.run.map(|run| run.0)});
            channel_signal("agent_state", *channel, data)
        }
        Signal::Usage { agent, run, usage } => {
            let data = json!({"run": run.0, "usage": data::usage(usage)});
            channel_signal("usage", Channel::Agent(*agent), data)
        }
    };
    push(frames, &frame);
}

pub(super) fn error(code: &str, text: &str, request: Option<&RequestNo>) -> Value {
    let mut frame = json!({"type": "error", "code": code, "message": text});
    if let (Value::Object(frame), Some(request)) = (&mut frame, request) {
        frame.insert("request".to_owned(), request_value(request));
    }
    frame
}

fn channel_signal(kind: &str, channel: Channel, data: Value) -> Value {
    json!({"type": kind, "channel": name::channel(channel), "data": data})
}

fn request_value(request: &RequestNo) -> Value {
    match request {
        RequestNo::Number(number) => json!(number),
        RequestNo::Text(text) => json!(&**text),
    }
}

fn stop(generation: Option<Generation>, reason: StopReason) -> Value {
    let reason = match reason {
        StopReason::UserSpeaks => "user_speaks",
        StopReason::AnotherSocket => "another_connection",
        StopReason::ModelLeaves => "model_leaves",
    };
    json!({"generation": generation.map(|generation| generation.0), "reason": reason})
}

fn unchanged(kind: ListKind, list: &KnownList) -> Value {
    json!({"list": name::list(kind), "newest": list.newest, "count": list.count})
}

fn notice_data(locale: Locale, notice: &Notice) -> Value {
    let text = phrase::notice(locale, notice);
    match notice {
        Notice::Queued { run, place } => json!({"text": text, "run": run.0, "place": place}),
        Notice::QueuedCancelled { run }
        | Notice::RunCancelled { run }
        | Notice::RunFailed { run, .. }
        | Notice::AnswerCut { run }
        | Notice::RunInterrupted { run, .. } => json!({"text": text, "run": run.0}),
        Notice::NothingToCancel
        | Notice::ProjectGone { .. }
        | Notice::LiveDown { .. }
        | Notice::LiveReplaced { .. }
        | Notice::WhichQuestion { .. }
        | Notice::ChangedInCopy { .. }
        | Notice::NotChosen { .. }
        | Notice::ConfirmAgain { .. }
        | Notice::StillOpen { .. }
        | Notice::WorkKept { .. }
        | Notice::Locked { .. }
        | Notice::Reset
        | Notice::CopyLacks { .. } => json!({"text": text}),
    }
}

/// In UTC, to the millisecond.
fn rfc3339(at: EventTime) -> String {
    let time = Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
