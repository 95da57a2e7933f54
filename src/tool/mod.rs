//! The gateway's own tools for models. A tool has a name, a schema, a risk and one function, which checks a call and
//! says what it would do. Callers get approval before they run a call; this module knows neither callers nor rules.

mod call;
mod data;
mod edit;
mod floor;
mod look;
mod python;
mod query;
mod registry;
mod request;
mod shell;
mod workplace;

pub use call::{Call, Context, Interrupted, Outcome, Output, OutputClosed, TitleValue};
pub use edit::Change;
pub use floor::floor_order;
pub use python::{Computed, ComputedFile, code, interpreter_arguments};
pub use registry::{Description, Risk, Tool, all, descriptions, find, find_for_model};
pub use request::NAME as REQUEST_NAME;
pub use shell::LONGEST_SECONDS;
pub use workplace::{Workplace, WorkplaceError};
