//! Commands as one client sent them over one connection, and their ids.

use super::Command;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A command as one client sent it.
#[derive(Debug, Clone, PartialEq)]
pub struct Inbound {
    pub request: Option<RequestNo>,
    pub command: Command,
}

/// The client's own id for one command, so that a resent command is carried out only once.
/// It is returned in the form it came in; 5 and "5" are the same id.
#[derive(Debug, Clone)]
pub enum RequestNo {
    Number(u64),
    Text(Arc<str>),
}

impl PartialEq for RequestNo {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for RequestNo {}

impl Hash for RequestNo {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_string().hash(state);
    }
}

impl fmt::Display for RequestNo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(out),
            Self::Text(text) => text.fmt(out),
        }
    }
}

/// One attached socket or event stream, unique within this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub u64);
