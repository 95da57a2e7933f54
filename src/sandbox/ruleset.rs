//! Landlock: what may be written, whom signals and abstract sockets reach, and which TCP ports are closed.

use super::error::BoxError;
use super::view::{OWN, open_real};
use super::{Confinement, Network};
use landlock::{
    ABI, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{FileType, fstat};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The first that keeps signals within the box.
const NEEDED: ABI = ABI::V6;

/// Also gives up new privileges for good. Whatever the kernel cannot do is an error.
pub(super) fn restrict(confinement: &Confinement, writable: &[PathBuf]) -> Result<(), BoxError> {
    let own = OWN.iter().filter_map(|path| Path::new(path).canonicalize().ok());
    let all = own.chain(writable.iter().cloned());
    let opened = all.map(|path| open_real(&path)).collect::<Result<Vec<_>, _>>()?;
    restricted(confinement, opened).map_err(|err| BoxError::Landlock(err.to_string()))
}

fn restricted(confinement: &Confinement, writable: Vec<OwnedFd>) -> Result<(), RulesetError> {
    let ports = AccessNet::BindTcp | AccessNet::ConnectTcp;
    let has_closed = confinement.network == Network::Open && !confinement.closed_ports.is_empty();
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(NEEDED))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    if has_closed {
        ruleset = ruleset.handle_access(ports)?;
    }
    let mut created = ruleset.create()?;
    for opened in writable {
        created = allow_writing(created, opened)?;
    }
    if has_closed {
        // There is no rule for all but one, so there is one for each other.
        for port in (0..=u16::MAX).filter(|port| !confinement.closed_ports.contains(port)) {
            created = created.add_rule(NetPort::new(port, ports))?;
        }
    }
    created.restrict_self().map(drop)
}

fn allow_writing(created: RulesetCreated, opened: OwnedFd) -> Result<RulesetCreated, RulesetError> {
    let mut access = AccessFs::from_write(NEEDED);
    let is_dir = fstat(&opened).is_ok_and(|about| FileType::from_raw_mode(about.st_mode).is_dir());
    if !is_dir {
        access &= AccessFs::from_file(NEEDED);
    }
    created.add_rule(PathBeneath::new(opened, access))
}
