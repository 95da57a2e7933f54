//! Workplaces: where an agent works, the backups around its runs, and what becomes of its results: compare, accept,
//! discard, restore.

pub(super) mod agent_home;
pub(super) mod choice;
pub(super) mod inspect;
pub(super) mod kept;
pub(super) mod place_work;
pub(super) mod planted;
pub(super) mod restore;
pub(super) mod results;
pub(super) mod run_backup;
pub(super) mod safeguard;
pub(super) mod site;
