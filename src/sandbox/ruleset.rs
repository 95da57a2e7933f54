//! Landlock: what may be written, whom signals and abstract sockets reach, and which TCP ports are closed.

use super::error::BoxError;
use super::means::{CLOSES_PORTS, KEEPS_SIGNALS};
use super::plan::{OWN, open_real};
use super::{ClosedView, Confinement, Network};
use landlock::{
    ABI, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{FileType, fstat};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The newest version that this kernel has, up to `newest`; 0 if it has none.
pub(super) fn version(newest: u8) -> u8 {
    let is_there = |version: &u8| {
        // Made and thrown away: nobody is restricted by it.
        let made = handled(*version, *version >= CLOSES_PORTS).and_then(|rules| rules.create());
        made.is_ok()
    };
    (1..=newest.min(KEEPS_SIGNALS)).rev().find(is_there).unwrap_or(0)
}

/// Also gives up new privileges for good. Whatever the kernel cannot do is an error.
pub(super) fn restrict(confinement: &Confinement, writable: &[PathBuf]) -> Result<(), BoxError> {
    let own = OWN.iter().filter_map(|path| Path::new(path).canonicalize().ok());
    let all = own.chain(writable.iter().cloned());
    let opened = all.map(|path| open_real(&path)).collect::<Result<Vec<_>, _>>()?;
    restricted(confinement, opened).map_err(|err| BoxError::Landlock(err.to_string()))
}

/// The same for a closed view, where also reading and starting programs is allowed only where it is needed, although
/// nothing else is there.
pub(super) fn restrict_closed(view: &ClosedView, version: u8) -> Result<(), BoxError> {
    let abi = ABI::from(i32::from(version));
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let planted = AccessFs::MakeSym
        | AccessFs::MakeFifo
        | AccessFs::MakeSock
        | AccessFs::MakeChar
        | AccessFs::MakeBlock;
    let shown = view.shown.iter().map(|one| {
        let starts = view.executable.contains(&one.inside);
        (one.inside.as_path(), if starts { read | AccessFs::Execute } else { read })
    });
    let own = [
        (Path::new("/proc"), read),
        (Path::new("/dev"), read | AccessFs::WriteFile),
        (view.scratch.place.as_path(), (read | AccessFs::from_write(abi)) & !planted),
    ];
    let opened = shown.chain(own).map(|(path, access)| Ok((open_real(path)?, access)));
    let opened = opened.collect::<Result<Vec<_>, BoxError>>()?;
    let restricted = || -> Result<(), RulesetError> {
        let mut ruleset = handled(version, version >= CLOSES_PORTS)?;
        ruleset = ruleset.handle_access(AccessFs::from_read(abi))?;
        let mut created = ruleset.create()?;
        for (opened, access) in opened {
            created = add(created, opened, access, abi)?;
        }
        created.restrict_self().map(drop)
    };
    restricted().map_err(|err| BoxError::Landlock(err.to_string()))
}

fn restricted(confinement: &Confinement, writable: Vec<OwnedFd>) -> Result<(), RulesetError> {
    let version = confinement.means.landlock;
    let has_closed = confinement.network == Network::Open
        && !confinement.closed_ports.is_empty()
        && version >= CLOSES_PORTS;
    let mut created = handled(version, has_closed)?.create()?;
    for opened in writable {
        created = allow_writing(created, opened, ABI::from(i32::from(version)))?;
    }
    if has_closed {
        // There is no rule for all but one, so there is one for each other.
        for port in (0..=u16::MAX).filter(|port| !confinement.closed_ports.contains(port)) {
            created = created.add_rule(NetPort::new(port, ports()))?;
        }
    }
    created.restrict_self().map(drop)
}

/// What is refused unless a rule allows it. Whatever this version does not really have is an error.
fn handled(version: u8, has_closed: bool) -> Result<Ruleset, RulesetError> {
    let abi = ABI::from(i32::from(version));
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(abi))?;
    if version >= KEEPS_SIGNALS {
        ruleset = ruleset.scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    }
    if has_closed {
        ruleset = ruleset.handle_access(ports())?;
    }
    Ok(ruleset)
}

fn ports() -> BitFlags<AccessNet> {
    AccessNet::BindTcp | AccessNet::ConnectTcp
}

fn allow_writing(
    created: RulesetCreated,
    opened: OwnedFd,
    abi: ABI,
) -> Result<RulesetCreated, RulesetError> {
    add(created, opened, AccessFs::from_write(abi), abi)
}

/// What makes sense only in a directory is left out where there is a file.
fn add(
    created: RulesetCreated,
    opened: OwnedFd,
    mut access: BitFlags<AccessFs>,
    abi: ABI,
) -> Result<RulesetCreated, RulesetError> {
    let is_dir = fstat(&opened).is_ok_and(|about| FileType::from_raw_mode(about.st_mode).is_dir());
    if !is_dir {
        access &= AccessFs::from_file(abi);
    }
    created.add_rule(PathBeneath::new(opened, access))
}
