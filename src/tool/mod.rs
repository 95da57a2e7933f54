//! Tools of our own, for every model that may call some. A tool has a name, a schema, a risk and one function, which
//! checks a call and says what it would do. The caller asks for approval before it lets that happen: this module knows
//! neither callers nor rules.

mod call;
mod edit;
mod look;
mod registry;
mod request;
mod shell;
mod workplace;

pub use call::{Call, Context, Interrupted, Outcome, Output, OutputClosed, Subject};
pub use edit::Change;
pub use registry::{Description, Risk, Tool, all, descriptions, find, named};
pub use request::NAME as REQUEST_NAME;
pub use shell::LONGEST_SECONDS;
pub use workplace::{Workplace, WorkplaceError};
