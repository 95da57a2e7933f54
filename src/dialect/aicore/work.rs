//! Steps of an assistant as packets that existing clients show: code and its output as lines of the stream, figures and
//! reports as files.

use super::wire::{Body, Packet};
use super::{AicoreDialect, encode, phrase};
use crate::dialect::work;
use crate::locale::Locale;
use crate::message::floor::{Arrow, FloorOrder};
use crate::message::{Channel, Dataset, Decision, Execution, NextAction, Work};

/// `None`: the answer, which follows as a text, says it all.
pub(super) fn packet<'a>(
    dialect: &'a AicoreDialect,
    channel: Channel,
    work: &'a Work,
) -> Option<Packet<'a>> {
    let locale = dialect.locale;
    let packet = |kind, text| dialect.packet(channel, kind, Body::Owned(text));
    match work {
        Work::Dataset(set) => Some(packet("output_text", dataset(locale, set))),
        Work::Decision(decision) => Some(packet("output_stream", reason(locale, decision)?)),
        Work::Code(note) => {
            let number = note.step.to_string();
            let values = [("number", number.as_str()), ("code", note.code.trim_end())];
            Some(packet("output_stream", locale.say("work", "code", &values)))
        }
        Work::Execution(done) => Some(packet("output_stream", execution(locale, done))),
        Work::Artifact(made) => {
            let text = phrase::file_made(locale, &made.file);
            Some(encode::file(packet("output_file", text), &made.file))
        }
        Work::Floor(note) => Some(packet("output_stream", floor(locale, &note.order))),
        Work::Report(_) => None,
    }
}

fn dataset(locale: Locale, set: &Dataset) -> String {
    let (rows, count) = (set.rows.to_string(), set.columns.len().to_string());
    let names: Vec<_> = set.columns.iter().map(|column| column.name.as_str()).collect();
    let values = [
        ("name", set.name.as_str()),
        ("rows", &rows),
        ("count", &count),
        ("columns", &names.join(", ")),
    ];
    let told = locale.say("work", "dataset", &values);
    std::iter::once(told).chain(set.warnings.iter().cloned()).collect::<Vec<_>>().join("\n")
}

/// A question follows as a text.
fn reason(locale: Locale, decision: &Decision) -> Option<String> {
    let name = match decision.next {
        NextAction::Ask => return None,
        NextAction::Act => "act",
        NextAction::Finalize => "finalize",
    };
    let told = locale.say("work", name, &[("rationale", &decision.rationale)]);
    let assumed = decision.assumption.iter();
    let assumed = assumed.map(|text| locale.say("work", "assumption", &[("text", text)]));
    Some(std::iter::once(told).chain(assumed).collect::<Vec<_>>().join("\n"))
}

fn floor(locale: Locale, order: &FloorOrder) -> String {
    let say = |name, values: &[(&str, &str)]| locale.say("work", name, values);
    match order {
        FloorOrder::DrawArrow(Arrow { room, direction }) => {
            say("arrow", &[("room", room.name()), ("direction", direction.word())])
        }
        FloorOrder::ClearArrows => say("no_arrows", &[]),
        FloorOrder::ShowMap(map) => {
            let rooms: Vec<_> = map.highlights().iter().map(|one| one.room.name()).collect();
            say("map", &[("floor", map.floor.id()), ("rooms", &rooms.join(", "))])
        }
        FloorOrder::ClearMap => say("no_map", &[]),
    }
}

/// What code prints never stands alone: it could be a mark of the stream, such as the one of a failed run.
fn execution(locale: Locale, done: &Execution) -> String {
    let readable = work::readable(&done.stdout);
    let printed = readable.trim_end();
    let output = || locale.say("work", "output", &[("output", printed)]);
    match &done.error {
        Some(error) => {
            let told = locale.say("work", "failed", &[("error", error)]);
            if printed.is_empty() { told } else { format!("{}\n{told}", output()) }
        }
        None if printed.is_empty() => locale.say("work", "no_output", &[]),
        None => output(),
    }
}
