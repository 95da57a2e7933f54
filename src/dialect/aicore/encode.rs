//! Encodes deliveries as packets: one logged event is one packet with its number.

use super::value::channel_name;
use super::wire::{
    self, AckPacket, AskedBody, BackupBody, Body, ChangedBody, ConnectionPacket, HeartbeatBody,
    Packet, Rows, SettledBody, TempBody, TimesBody, UnchangedBody, WarningBody,
};
use super::{AicoreDialect, activity, http, phrase, rows, work};
use crate::dialect::Frame;
use crate::message::{
    AudioChunk, Channel, ChoiceKind, Chosen, Confirmation, Confirmed, Entry, Event, Features,
    FileList, FileNote, Generation, KnownList, ListKind, ListRoots, Notice, RunOutcome, Signal,
    Speaker, TurnTimes,
};
use base64_simd::STANDARD;
use serde::Serialize;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// Appends the packet of one logged event.
pub(super) fn entry(dialect: &AicoreDialect, entry: &Entry, frames: &mut Vec<Frame>) {
    if is_sent_on_another_channel(dialect, entry) {
        return;
    }
    if let Some(mut packet) = event(dialect, entry.channel, &entry.event) {
        packet.seq = Some(entry.seq.0);
        push(frames, &packet);
    }
}

/// Whether the event is only for clients that need it as text, and this client gets it as a packet on another channel.
fn is_sent_on_another_channel(dialect: &AicoreDialect, entry: &Entry) -> bool {
    let Features { confirm, agents, .. } = dialect.features;
    let in_chat = entry.channel == Channel::Chat;
    let is_question = matches!(entry.event, Event::ConfirmAsked(_) | Event::ConfirmSettled { .. });
    let is_chosen = matches!(entry.event, Event::Chosen(_));
    // The chat has no marks around its answers.
    let is_mark = matches!(entry.event, Event::RunStarted(_) | Event::RunEnded(_));
    let is_copy_notice = matches!(entry.event, Event::Notice(Notice::ChangedInCopy { .. }));
    (in_chat && is_mark)
        || (in_chat && confirm && is_question)
        || (in_chat && agents && is_chosen)
        || (agents && is_copy_notice)
}

#[expect(clippy::too_many_lines, reason = "one arm for each")]
fn event<'a>(dialect: &'a AicoreDialect, channel: Channel, event: &'a Event) -> Option<Packet<'a>> {
    let locale = dialect.locale;
    let packet = |kind, body| dialect.packet(channel, kind, body);
    Some(match event {
        Event::UserText { text, attachments } => {
            packet("input_text", Body::Owned(phrase::with_attachments(locale, text, attachments)))
        }
        Event::UserRequest { text, attachments } => packet(
            "input_request",
            Body::Owned(phrase::with_attachments(locale, text, attachments)),
        ),
        Event::UserFile(note) => {
            file(packet("input_file", Body::Owned(phrase::file_received(locale, note))), note)
        }
        Event::FileMade(note) => {
            file(packet("output_file", Body::Owned(phrase::file_made(locale, note))), note)
        }
        Event::Text { text, run, .. } => {
            Packet { run: run.map(|run| run.0), ..packet("output_text", Body::Text(text)) }
        }
        Event::RunStarted(run) => {
            Packet { run: Some(run.0), ..packet("output_stream", Body::Text(wire::STREAM_STARTED)) }
        }
        Event::RunLine(line) => packet("output_stream", Body::Text(line)),
        Event::Tool(note) => {
            let body = Body::Tool(activity::tool(note));
            agent_event(dialect, channel, "tool", body, || activity::tool_line(locale, note))
        }
        Event::Plan(steps) => {
            let body = Body::Plan(activity::plan(steps));
            agent_event(dialect, channel, "plan", body, || activity::plan_lines(steps))
        }
        Event::RunSummed(summary) => {
            let body = Body::Summary(activity::summary(summary));
            let lines = || activity::summary_lines(locale, summary);
            let packet = agent_event(dialect, channel, "result", body, lines);
            Packet { run: Some(summary.run.0), ..packet }
        }
        Event::Chosen(what) => chosen(dialect, channel, what),
        Event::ConfirmAsked(asked) => confirm_asked(dialect, channel, asked),
        Event::ConfirmSettled { id, channel: asked_on, number, confirmed, by } => {
            let approved = *confirmed == Confirmed::Approved;
            if dialect.asks_in_text(channel) {
                let text = phrase::settled(locale, channel, *asked_on, *number, approved);
                return Some(packet("output_text", Body::Owned(text)));
            }
            let channel = channel_name(*asked_on);
            let body = SettledBody { id: id.as_str(), channel, approved, by: by.name() };
            packet("confirm_result", Body::Settled(body))
        }
        Event::RunEnded(outcome) => packet("output_stream", Body::Text(stream_end(*outcome))),
        Event::RequestAnswered { text, by } => Packet {
            source: by.map(|agent| channel_name(Channel::Agent(agent))),
            ..packet("output_request", Body::Text(text))
        },
        Event::FilesChanged { paths, by, copy_of } => {
            let channel = by.map(|agent| channel_name(Channel::Agent(agent)));
            let update_files = match copy_of.filter(|_| !dialect.features.agents) {
                Some(agent) => paths.iter().map(|path| http::copy_path(agent, path)).collect(),
                None => Cow::Borrowed(paths.as_slice()),
            };
            packet("update_info", Body::Changed(ChangedBody { update_files, channel }))
        }
        Event::Transcript { speaker, text, interrupted } => Packet {
            interrupted: interrupted.map(|_| true),
            played_ms: interrupted.map(|interruption| millis(interruption.heard)),
            ..packet(recognition(*speaker), Body::Text(text))
        },
        Event::CancelTaken => without_file(packet("cancel_run", Body::Text(wire::CANCEL_TAKEN))),
        Event::AgentReport(report) => packet("input_text", Body::Owned(locale.report(report))),
        Event::Notice(notice) => notice_packet(
            packet("output_text", Body::Owned(phrase::notice(locale, notice))),
            notice,
        ),
        Event::Files { kind, list } => {
            without_file(packet(list_kind(*kind), files(*kind, list.as_ref())))
        }
        Event::Work(step) => return work::packet(dialect, channel, step),
    })
}

/// Clients without the `agents` feature get lines of text instead.
fn agent_event<'a>(
    dialect: &'a AicoreDialect,
    channel: Channel,
    kind: &'a str,
    body: Body<'a>,
    lines: impl FnOnce() -> String,
) -> Packet<'a> {
    if dialect.features.agents {
        return without_file(dialect.packet(channel, kind, body));
    }
    dialect.packet(channel, "output_stream", Body::Owned(lines()))
}

fn chosen<'a>(dialect: &'a AicoreDialect, channel: Channel, chosen: &'a Chosen) -> Packet<'a> {
    if dialect.features.agents {
        let body = Body::Chosen(activity::chosen(chosen));
        return without_file(dialect.packet(channel, choice_kind(chosen.kind), body));
    }
    let text = phrase::chosen(dialect.locale, chosen);
    dialect.packet(channel, "output_text", Body::Owned(text))
}

/// Packets of these kinds have never carried the file keys.
fn without_file(packet: Packet<'_>) -> Packet<'_> {
    Packet { file_name: None, thumbnail: None, ..packet }
}

/// Clients without the `confirm` feature show the question as text, and the user answers in words.
fn confirm_asked<'a>(
    dialect: &'a AicoreDialect,
    channel: Channel,
    asked: &'a Confirmation,
) -> Packet<'a> {
    if dialect.asks_in_text(channel) {
        let text = phrase::question(dialect.locale, channel, asked);
        return dialect.packet(channel, "output_text", Body::Owned(text));
    }
    let body = AskedBody {
        id: asked.id.as_str(),
        channel: channel_name(asked.channel),
        tool: &asked.tool,
        input: &asked.input,
        diff: asked.diff.as_deref(),
        warning: WarningBody {
            level: asked.level.name(),
            message: dialect.locale.word(&asked.reason),
        },
        seconds: asked.seconds,
    };
    dialect.packet(channel, "confirm_request", Body::Asked(body))
}

fn stream_end(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Finished => wire::STREAM_FINISHED,
        RunOutcome::Cancelled | RunOutcome::Interrupted => wire::STREAM_CANCELLED,
        RunOutcome::Failed => wire::STREAM_FAILED,
    }
}

fn recognition(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::User => "recognition_input",
        Speaker::Model => "recognition_output",
    }
}

fn choice_kind(kind: ChoiceKind) -> &'static str {
    match kind {
        ChoiceKind::Accept => "accept",
        ChoiceKind::Discard => "discard",
        ChoiceKind::Restore => "restore",
    }
}

fn list_kind(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Backup => "files_backup",
        ListKind::Temp => "files_temp",
    }
}

pub(super) fn file<'a>(packet: Packet<'a>, note: &'a FileNote) -> Packet<'a> {
    let thumbnail = note.thumbnail.as_ref().map(|png| STANDARD.encode_to_string(png));
    Packet { file_name: Some(note.path.as_deref()), thumbnail: Some(thumbnail), ..packet }
}

fn notice_packet<'a>(packet: Packet<'a>, notice: &Notice) -> Packet<'a> {
    match notice {
        Notice::Queued { run, place } => Packet { run: Some(run.0), place: Some(*place), ..packet },
        Notice::QueuedCancelled { run }
        | Notice::RunCancelled { run }
        | Notice::RunFailed { run, .. }
        | Notice::AnswerCut { run }
        | Notice::RunInterrupted { run, .. } => Packet { run: Some(run.0), ..packet },
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
        | Notice::CopyLacks { .. } => packet,
    }
}

/// A list that could not be made for a replay is shown as empty.
fn files(kind: ListKind, list: Option<&Arc<FileList>>) -> Body<'_> {
    let newest = list.and_then(|list| list.newest.as_deref());
    let files = list.map_or_else(|| Rows::Plain(Vec::new()), rows::of);
    match (kind, list.map(|list| &list.roots)) {
        (ListKind::Backup, Some(ListRoots::Backup { project, backup })) => {
            Body::Backup(BackupBody { project, backup, newest, files })
        }
        (ListKind::Backup, Some(ListRoots::Temp) | None) => {
            Body::Backup(BackupBody { project: "", backup: "", newest, files })
        }
        (ListKind::Temp, _) => Body::Temp(TempBody { newest: newest.unwrap_or_default(), files }),
    }
}

fn unchanged(kind: ListKind, list: &KnownList) -> UnchangedBody<'_> {
    let newest = list.newest.as_deref();
    let (backup_newest, temp_newest) = match kind {
        ListKind::Backup => (Some(newest), None),
        ListKind::Temp => (None, Some(newest.unwrap_or_default())),
    };
    UnchangedBody { unchanged: true, backup_newest, temp_newest, count: list.count }
}

/// Appends the packet of a signal.
#[expect(clippy::too_many_lines, reason = "one arm for each")]
pub(super) fn signal(dialect: &AicoreDialect, signal: &Signal, frames: &mut Vec<Frame>) {
    let session = dialect.session.as_str();
    match signal {
        Signal::Audio { generation, chunk } => {
            frames.push(Frame::Text(audio(dialect, *generation, chunk)))
        }
        Signal::StopPlayback { generation, reason } => {
            let body = Body::Owned(phrase::stop_playback(dialect.locale, *reason));
            let generation = generation.filter(|_| dialect.features.playback);
            let packet = dialect.packet(Channel::Audio, "cancel_audio", body);
            push(frames, &Packet { generation: generation.map(|it| it.0), ..packet });
        }
        Signal::TurnTimes(times) => {
            let body = Body::Times(turn_times(times));
            push(frames, &without_file(dialect.packet(Channel::Audio, "metrics", body)));
        }
        Signal::Heartbeat { count, uptime_seconds } => {
            let body = HeartbeatBody { count: *count, uptime: *uptime_seconds };
            push(
                frames,
                &ConnectionPacket { kind: "heartbeat", session, body, code: None, request: None },
            );
        }
        Signal::Ack { request, repeated } => {
            let channel = channel_name(dialect.channel);
            push(
                frames,
                &AckPacket {
                    session,
                    channel,
                    kind: "ack",
                    request: request.into(),
                    repeated: *repeated,
                },
            );
        }
        Signal::Failed { problem, request } => {
            let body = phrase::problem(dialect.locale, problem);
            let request = request.as_ref().map(Into::into);
            push(
                frames,
                &ConnectionPacket {
                    kind: "error",
                    session,
                    body,
                    code: Some(problem.code()),
                    request,
                },
            );
        }
        Signal::FilesUnchanged { kind, channel, list } => {
            let body = Body::Unchanged(unchanged(*kind, list));
            push(frames, &without_file(dialect.packet(*channel, list_kind(*kind), body)));
        }
        Signal::AnswerPart { channel, run, text } => {
            let packet = dialect.packet(*channel, "output_stream", Body::Text(text));
            push(frames, &Packet { run: Some(run.0), ..packet });
        }
        Signal::AnswerLines { channel, text } => {
            push(frames, &dialect.packet(*channel, "output_stream", Body::Text(text)));
        }
        Signal::Compared { rows } => {
            let body = Body::Compared(activity::compared(dialect.locale, rows));
            push(frames, &without_file(dialect.packet(Channel::Chat, "compare", body)));
        }
        Signal::Diff(note) => {
            let body = Body::Diff(activity::diff(note));
            let channel = Channel::Agent(note.agent);
            push(frames, &without_file(dialect.packet(channel, "diff", body)));
        }
        // Clients of this dialect read and change settings over HTTP.
        Signal::Settings(_) | Signal::SettingsRefused { .. } => {}
        Signal::Backups(list) => {
            let body = Body::Backups(activity::backups(list));
            let channel = list.agent.map_or(Channel::Chat, Channel::Agent);
            push(frames, &without_file(dialect.packet(channel, "backups", body)));
        }
        Signal::State { channel, note } => {
            let body = Body::State(activity::state(note.state));
            let packet = without_file(dialect.packet(*channel, "state", body));
            push(frames, &Packet { run: note.run.map(|run| run.0), ..packet });
        }
        Signal::Usage { agent, run, usage } => {
            let body = Body::Usage(activity::usage(usage));
            let packet = without_file(dialect.packet(Channel::Agent(*agent), "usage", body));
            push(frames, &Packet { run: Some(run.0), ..packet });
        }
        Signal::System(notice) => {
            let body = phrase::system(dialect.locale, notice);
            push(
                frames,
                &ConnectionPacket { kind: "system_info", session, body, code: None, request: None },
            );
        }
    }
}

/// Built by hand for speed; see [`wire::audio_prefix`].
fn audio(dialect: &AicoreDialect, generation: Generation, chunk: &AudioChunk) -> String {
    let encoded = STANDARD.encoded_length(chunk.pcm.len());
    let mut frame =
        String::with_capacity(dialect.audio_prefix.len() + encoded + wire::LONGEST_AUDIO_SUFFIX);
    frame.push_str(&dialect.audio_prefix);
    STANDARD.encode_append(&chunk.pcm, &mut frame);
    if dialect.features.playback {
        wire::push_audio_suffix(generation.0, &mut frame);
    } else {
        frame.push_str(wire::AUDIO_SUFFIX);
    }
    frame
}

fn turn_times(times: &TurnTimes) -> TimesBody {
    TimesBody {
        end_of_turn: times.end_of_turn.map(millis),
        first_sound: times.first_sound.map(millis),
        first_sent: times.first_sent.map(millis),
        first_played: times.first_played.map(millis),
        stop: times.stop.map(millis),
        underruns: times.underruns,
        dropped: times.dropped,
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Our own structs always serialize. A packet that does not would be a bug of ours; it is left out.
pub(super) fn push<T: Serialize>(frames: &mut Vec<Frame>, packet: &T) {
    frames.extend(serde_json::to_string(packet).map(Frame::Text));
}
