//! System calls that nobody in the box needs, and by which one could leave it or attack the kernel.

use super::error::BoxError;
use super::means::Means;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};
use std::collections::BTreeMap;

pub(super) type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Another way to make the same calls on x86-64, for programs with short pointers.
const SHORT_POINTERS: i64 = 0x4000_0000;

/// Answered as if one had no right to.
const REFUSED: &[i64] = &[
    // Other roots and other namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Files without a path, and descriptors of others.
    libc::SYS_open_by_handle_at,
    libc::SYS_pidfd_getfd,
    libc::SYS_fanotify_init,
    // Doors to the kernel. A ring carries out calls that no filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_vhangup,
    // Keys of the user.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];

/// No new privileges must have been given up before. Nothing is needed afterwards but the agent's program.
pub(super) fn install(means: &Means) -> Result<(), BoxError> {
    let filters = || -> seccompiler::Result<()> {
        for (rules, errno) in [
            (refused()?, libc::EPERM),
            (scheduling(means).map_err(backend)?, libc::EPERM),
            (unknown(), libc::ENOSYS),
            (sockets()?, libc::EPROTONOSUPPORT),
        ] {
            let action = SeccompAction::Errno(errno.unsigned_abs());
            let arch = TargetArch::try_from(std::env::consts::ARCH)?;
            let filter = SeccompFilter::new(doubled(rules), SeccompAction::Allow, action, arch)?;
            apply_filter(&BpfProgram::try_from(filter)?)?;
        }
        Ok(())
    };
    filters().map_err(|err| BoxError::Seccomp(err.to_string()))
}

fn refused() -> seccompiler::Result<Rules> {
    let mut rules: Rules = REFUSED.iter().map(|&call| (call, Vec::new())).collect();
    let namespaces = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    let flags = (0..32).map(|bit| 1_u64 << bit).filter(|bit| value(namespaces) & bit != 0);
    let has_flag = flags.map(|flag| SeccompRule::new(vec![has(0, flag)?]));
    rules.insert(libc::SYS_clone, has_flag.collect::<Result<_, _>>().map_err(backend)?);
    // Keys typed into somebody else's terminal.
    let typed = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| is(1, request));
    let typed = typed.into_iter().map(|one| SeccompRule::new(vec![one?]));
    rules.insert(libc::SYS_ioctl, typed.collect::<Result<_, _>>().map_err(backend)?);
    // Limits of somebody else's process end it as well as a signal does.
    let others = SeccompRule::new(vec![is_not(0, 0).map_err(backend)?]).map_err(backend)?;
    rules.insert(libc::SYS_prlimit64, vec![others]);
    // A connection that is made by sending passes by Landlock.
    let fast = value(libc::MSG_FASTOPEN);
    for (call, at) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
        let rule = SeccompRule::new(vec![has(at, fast).map_err(backend)?]).map_err(backend)?;
        rules.insert(call, vec![rule]);
    }
    Ok(rules)
}

/// How much of the machine other processes get. Programs change that of themselves (`nice`, `taskset`), of their own
/// threads and of their children.
///
/// With a process namespace nobody outside has a number; there only the namespace's first process is out of bounds,
/// because the end of all others would wait for one that hardly gets to run. Without one a filter cannot tell an own
/// thread from the gateway, so only the caller itself is left: runtimes that bind single threads are refused, and go on
/// without.
fn scheduling(means: &Means) -> Result<Rules, seccompiler::BackendError> {
    const INIT: u64 = 1;
    const OF_USER: [(i64, u64); 2] = [(libc::SYS_setpriority, 2), (libc::SYS_ioprio_set, 3)];
    let other = |at: u8| {
        SeccompRule::new(vec![if means.has_own_pids() { is(at, INIT)? } else { is_not(at, 0)? }])
    };
    let mut rules = Rules::new();
    for call in [
        libc::SYS_sched_setparam,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setattr,
    ] {
        rules.insert(call, vec![other(0)?]);
    }
    // All processes of the user, whose the gateway is too.
    for (call, of_user) in OF_USER {
        rules.insert(call, vec![other(1)?, SeccompRule::new(vec![is(0, of_user)?])?]);
    }
    Ok(rules)
}

/// Its flags are in memory, where no filter can look; without it programs take the older call.
fn unknown() -> Rules {
    Rules::from([(libc::SYS_clone3, Vec::new())])
}

/// Sockets are for programs of this machine, TCP, UDP, pings, and for asking the kernel about addresses. Whatever
/// else carries streams, such as multipath TCP, would pass by Landlock's closed ports.
fn sockets() -> seccompiler::Result<Rules> {
    const PING6: i32 = libc::IPPROTO_ICMPV6;
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let rules = || {
        let mut rules = vec![SeccompRule::new(
            families.map(|one| is_not(0, one)).into_iter().collect::<Result<_, _>>()?,
        )?];
        rules.push(SeccompRule::new(vec![
            is(0, value(libc::AF_NETLINK))?,
            is_not(2, libc::NETLINK_ROUTE)?,
        ])?);
        let protocols = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMP, PING6];
        for family in [libc::AF_INET, libc::AF_INET6] {
            let mut other = vec![is(0, value(family))?];
            for protocol in protocols {
                other.push(is_not(2, protocol)?);
            }
            rules.push(SeccompRule::new(other)?);
            let raw = SeccompCmpOp::MaskedEq(0xf);
            let raw =
                SeccompCondition::new(1, SeccompCmpArgLen::Dword, raw, value(libc::SOCK_RAW))?;
            rules.push(SeccompRule::new(vec![is(0, value(family))?, raw])?);
        }
        Ok(Rules::from([(libc::SYS_socket, rules)]))
    };
    rules().map_err(backend)
}

/// The same for calls with short pointers.
fn doubled(rules: Rules) -> Rules {
    if cfg!(not(target_arch = "x86_64")) {
        return rules;
    }
    // Some have a number of their own there.
    let own = [
        (libc::SYS_ioctl, 514),
        (libc::SYS_sendmsg, 518),
        (libc::SYS_sendmmsg, 538),
        (libc::SYS_kexec_load, 528),
    ];
    let short = rules.iter().map(|(&call, rules)| (SHORT_POINTERS + call, rules.clone()));
    let others = own
        .iter()
        .filter_map(|(call, number)| Some((SHORT_POINTERS + number, rules.get(call)?.clone())));
    let more: Vec<_> = short.chain(others).collect();
    rules.into_iter().chain(more).collect()
}

pub(super) type Condition = Result<SeccompCondition, seccompiler::BackendError>;

pub(super) fn is(argument: u8, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

pub(super) fn is_not(argument: u8, number: i32) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value(number))
}

pub(super) fn has(argument: u8, flag: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag)
}

pub(super) fn value(number: i32) -> u64 {
    u64::from(number.cast_unsigned())
}

pub(super) fn backend(err: seccompiler::BackendError) -> seccompiler::Error {
    seccompiler::Error::Backend(err)
}
