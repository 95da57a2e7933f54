//! The box around code agents: what a process and all that comes out of it may see, change and reach.

mod confinement;

pub use confinement::{Confinement, Network};
