//! Namespaces of our own: users, so that nobody has to be root for the rest; mounts; System V IPC; processes; and a
//! network with nothing but a loopback for those who may not have more.

use super::Network;
use super::error::BoxError;
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use rustix::process::{getegid, geteuid};
use rustix::thread::{self, CapabilitiesSecureBits, CapabilitySet, CapabilitySets, UnshareFlags};
use std::fs;
use std::io;

/// Whether the box has a process namespace of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pids {
    Own,
    Shared,
}

/// Only for a process with one thread. It stays outside of a new process namespace; its next child is the first in it.
pub(super) fn enter(network: Network, pids: Pids) -> Result<(), BoxError> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let mut kinds = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    match pids {
        Pids::Own => kinds |= UnshareFlags::NEWPID,
        Pids::Shared => (),
    }
    match network {
        Network::None => kinds |= UnshareFlags::NEWNET,
        Network::Open => (),
    }
    #[expect(
        deprecated,
        reason = "it is dangerous with FILES and several threads, and here is neither"
    )]
    thread::unshare(kinds).map_err(|err| BoxError::Namespaces(err.into()))?;
    // Inside one is who one was: files keep their owner, and programs find their user.
    let identity = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{uid} {uid} 1")),
        ("/proc/self/gid_map", format!("{gid} {gid} 1")),
    ];
    for (file, text) in identity {
        fs::write(file, text).map_err(BoxError::Namespaces)?;
    }
    match network {
        Network::None => switch_loopback_on().map_err(BoxError::Loopback),
        Network::Open => Ok(()),
    }
}

/// A request to the kernel in its own words (rtnetlink(7)): the first interface, flags, up.
fn switch_loopback_on() -> io::Result<()> {
    const LENGTH: u32 = 32;
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ANSWER: u16 = 1 | 4;
    const FIRST: u32 = 1;
    const UP: u32 = 1;
    let mut message = Vec::new();
    message.extend(LENGTH.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ANSWER.to_ne_bytes());
    // Number and sender; then family, padding and kind, which are all nothing.
    message.extend([0; 8 + 4]);
    message.extend(FIRST.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    // No protocol is that of routes, addresses and links.
    let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 64];
    let (_, length) = recv(&socket, &mut answer[..], rustix::net::RecvFlags::empty())?;
    // An answer is a header of 16 bytes and the error, 0 for none.
    let code = answer.get(16..20).filter(|_| length >= 20).map(<[u8; 4]>::try_from);
    match code {
        Some(Ok(code)) if i32::from_ne_bytes(code) == 0 => Ok(()),
        Some(Ok(code)) => Err(io::Error::from_raw_os_error(-i32::from_ne_bytes(code))),
        Some(Err(_)) | None => Err(io::Error::other("the kernel's answer is too short")),
    }
}

/// Whoever has made the view for us has left us nothing by which it could be unmade.
pub(super) fn check_rights() -> Result<(), BoxError> {
    let rights = |err: io::Error| BoxError::Rights(err);
    let has = thread::capabilities(None).map_err(|err| rights(err.into()))?;
    if has.effective.is_empty() && has.permitted.is_empty() && has.inheritable.is_empty() {
        return Ok(());
    }
    Err(rights(io::Error::other("some are left after bubblewrap has taken them")))
}

/// The next program can mount and give up rights too, whoever runs it.
pub(super) fn pass_on_rights() -> Result<(), BoxError> {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::SETPCAP;
    let passed_on = || -> Result<(), Errno> {
        let mut sets = thread::capabilities(None)?;
        sets.inheritable |= needed;
        thread::set_capabilities(None, sets)?;
        for one in [CapabilitySet::SYS_ADMIN, CapabilitySet::SETPCAP] {
            thread::configure_capability_in_ambient_set(one, true)?;
        }
        Ok(())
    };
    passed_on().map_err(|err| BoxError::Rights(err.into()))
}

/// What the namespace made us able to do was for building the box; whoever is in it can do none of that.
pub(super) fn give_up_rights() -> Result<(), BoxError> {
    let given_up = || -> Result<(), Errno> {
        thread::clear_ambient_capability_set()?;
        for bit in 0..u64::BITS {
            let one = CapabilitySet::from_bits_retain(1 << bit);
            match thread::remove_capability_from_bounding_set(one) {
                Ok(()) => (),
                // The kernel does not know so many.
                Err(Errno::INVAL) => break,
                Err(err) => return Err(err),
            }
        }
        // Without this, user 0 would get everything back with the next program.
        let bits = CapabilitiesSecureBits::NO_ROOT | CapabilitiesSecureBits::NO_ROOT_LOCKED;
        thread::set_capabilities_secure_bits(bits)?;
        let nothing = CapabilitySet::empty();
        let sets = CapabilitySets { effective: nothing, permitted: nothing, inheritable: nothing };
        thread::set_capabilities(None, sets)
    };
    given_up().map_err(|err| BoxError::Rights(err.into()))
}
