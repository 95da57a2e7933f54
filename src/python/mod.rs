//! Runs Python that nobody has read, in a closed view of its own: the environment of packages, the interpreter inside
//! and what comes out of it. Knows neither who wrote the code nor what the results are for.

mod answer;
mod boxed;
mod datasets;
mod environment;
mod error;
mod found;
mod frame;
mod interpreter;
mod output;
mod process;
mod program;
mod setup;
mod table;

pub use answer::{ActionResult, Failure, OutputFile, OutputKind, Skipped};
pub use boxed::{BoxMeans, DataFile, Limits, Workspace, launcher};
pub use environment::{Environment, Outlook, Step};
pub use error::PythonError;
pub use interpreter::{Action, Interpreter, Variables};
pub use table::{DataFrameInfo, Sampled, Warning};
