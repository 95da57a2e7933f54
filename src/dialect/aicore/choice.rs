//! Packets about agents' results: compare, diff, backups, accept, discard, restore.

use super::decode::{destination, named_agents, optional_object, wrong_channel};
use super::error::DecodeError;
use super::value;
use super::wire::{self, CommandPacket, field};
use crate::message::{
    AgentSet, AgentSlot, Branch, Channel, CheckWish, Choice, Command, RestorePoint, RunId,
    WorkVersion,
};

/// Limit for names of branches and files and for commit messages, in bytes.
const LONGEST_NAME: usize = 4096;

pub(super) fn read_compare(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    let agents = match packet.target.and_then(value::string_or_number) {
        Some(names) => named_agents(&names)?,
        None => AgentSet::ALL,
    };
    let body: wire::CompareBody = optional_object(packet, "an object of a flag")?;
    let check = if body.check == Some(false) { CheckWish::Skip } else { CheckWish::Run };
    Ok(Command::Compare { agents, check })
}

pub(super) fn read_diff(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    let body: wire::DiffRequestBody = optional_object(packet, "an object of a path")?;
    Ok(Command::ShowDiff { agent: agent(packet)?, path: optional_name(body.path)? })
}

pub(super) fn read_accept(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    let body: wire::AcceptBody =
        optional_object(packet, "an object of a branch, a commit message and a version")?;
    let message = optional_name(body.message)?;
    let branch = optional_name(body.branch)?.map(|name| Branch { name, message });
    let version = optional_name(body.version)?.map(WorkVersion::new);
    Ok(Command::Choose { agent: agent(packet)?, choice: Choice::Accept { branch, version } })
}

pub(super) fn read_discard(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    Ok(Command::Choose { agent: agent(packet)?, choice: Choice::Discard })
}

pub(super) fn read_restore(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    let body: wire::RestoreBody =
        optional_object(packet, "an object of a run or a backup, and a path")?;
    let point = match (body.run, optional_name(body.backup)?) {
        (Some(run), None) => RestorePoint::Before(RunId(run)),
        (None, Some(name)) => RestorePoint::Named(name),
        (Some(_), Some(_)) | (None, None) => {
            return Err(DecodeError::BadField {
                field: field::RESTORE,
                expected: "the number of a run or the name of a backup, one of the two",
            });
        }
    };
    let choice = Choice::Restore { point, path: optional_name(body.path)? };
    Ok(Command::Choose { agent: agent(packet)?, choice })
}

/// Without an agent all backups are listed, in the chat.
pub(super) fn read_backups(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    match destination(packet)? {
        Some(Channel::Agent(slot)) => Ok(Command::ListBackups { agent: Some(slot) }),
        Some(Channel::Chat | Channel::Input) | None => Ok(Command::ListBackups { agent: None }),
        Some(Channel::Audio | Channel::File) => Err(wrong_channel(packet, "0, 1, 2, 3, 4")),
    }
}

fn agent(packet: &CommandPacket<'_>) -> Result<AgentSlot, DecodeError> {
    match destination(packet)? {
        Some(Channel::Agent(slot)) => Ok(slot),
        Some(Channel::Audio | Channel::Input | Channel::File | Channel::Chat) | None => {
            Err(wrong_channel(packet, "1, 2, 3, 4"))
        }
    }
}

/// Checks the length of an optional name. An empty text counts as absent: pages send the content of form fields, which
/// may be empty.
fn optional_name(text: Option<String>) -> Result<Option<String>, DecodeError> {
    match text {
        Some(text) if text.len() > LONGEST_NAME => Err(DecodeError::BadField {
            field: field::BODY,
            expected: "texts of at most 4096 bytes",
        }),
        Some(text) => Ok(Some(text).filter(|text| !text.trim().is_empty())),
        None => Ok(None),
    }
}
