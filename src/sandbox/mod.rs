//! The box around code agents: what a process and all that comes out of it may see, change and reach. No layer is
//! enough alone: namespaces hide, Landlock and a read-only view refuse writing, a filter refuses system calls.

#[cfg(target_os = "linux")]
mod allowed;
#[cfg(target_os = "linux")]
mod bwrap;
mod closed;
mod confinement;
#[cfg(target_os = "linux")]
mod enter;
mod error;
#[cfg(target_os = "linux")]
mod filter;
mod fresh;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
mod library;
mod limit;
mod means;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod plan;
mod probe;
#[cfg(target_os = "linux")]
mod root;
#[cfg(target_os = "linux")]
mod ruleset;
mod secret;
#[cfg(target_os = "linux")]
mod view;

#[cfg(target_os = "linux")]
pub use allowed::filter_for_children;
pub use closed::{ClosedView, Scratch, Shown};
pub use confinement::{Confinement, Network, StandIn};
#[cfg(target_os = "linux")]
pub use enter::{Next, enter};
pub use error::BoxError;
pub use fresh::replaced_in;
#[cfg(target_os = "linux")]
pub use init::{hold, lead};
pub use limit::Limits;
pub use means::{Means, Way, Wish};
pub use probe::probe;
pub use secret::secrets_of_others;

/// Elsewhere there is no box.
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Next, enter, filter_for_children, hold, lead};

#[cfg(not(target_os = "linux"))]
mod elsewhere;
