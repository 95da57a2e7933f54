//! The system calls of a closed view. Everything that is not on the list is refused with an error, so that Python tells
//! the caller instead of dying. There are no sockets, no files without a path, no links, and no ways to trace others.

use super::error::BoxError;
use super::filter::{Rules, backend, is, value};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};
use std::collections::BTreeMap;

/// What every process inside may call with whatever arguments.
const FOR_ALL: &[i64] = &[
    // Files; which ones there are is up to the view and to Landlock.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_lseek,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_utimensat,
    libc::SYS_umask,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_getcwd,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_fgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_flistxattr,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    // Memory.
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mincore,
    libc::SYS_msync,
    libc::SYS_brk,
    libc::SYS_membarrier,
    // Threads of one's own, time, and chance.
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_restart_syscall,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_times,
    libc::SYS_getrandom,
    libc::SYS_getcpu,
    // What one is.
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getpgid,
    libc::SYS_getsid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getgroups,
    libc::SYS_getpriority,
    libc::SYS_getrusage,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    // Signals that come; none can be sent.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Older names of the same.
#[cfg(target_arch = "x86_64")]
const OLDER: &[i64] = &[
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_chmod,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_dup2,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_arch_prctl,
    libc::SYS_time,
    libc::SYS_alarm,
    libc::SYS_pause,
    libc::SYS_getpgrp,
    libc::SYS_getrlimit,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[i64] = &[];

/// What only the parent may call, which runs nothing that nobody has read: it starts, watches and ends children, and
/// locks them in. The first program is started by this, too.
const FOR_PARENT: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_kill,
    libc::SYS_pipe2,
    libc::SYS_seccomp,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
];

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Parent,
    Child,
}

/// No new privileges must have been given up before. Nothing is needed afterwards but the program.
pub(super) fn install() -> Result<(), BoxError> {
    let filters = || -> seccompiler::Result<()> {
        apply_filter(&allowing(Role::Parent)?)?;
        // Its flags are in memory, where no filter can look; without it programs take the older call.
        let newer = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
        let action = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
        let filter = SeccompFilter::new(newer, SeccompAction::Allow, action, arch()?)?;
        apply_filter(&BpfProgram::try_from(filter)?)
    };
    filters().map_err(|err| BoxError::Seccomp(err.to_string()))
}

/// The filter for children that run what nobody has read, as the kernel takes it (`struct sock_filter`): the parent
/// inside installs it in each of them. They cannot start, trace or signal anybody.
pub fn filter_for_children() -> Result<Vec<u8>, BoxError> {
    let program = allowing(Role::Child).map_err(|err| BoxError::Seccomp(err.to_string()))?;
    let bytes = program.iter().flat_map(|one| {
        let [code0, code1] = one.code.to_ne_bytes();
        let [k0, k1, k2, k3] = one.k.to_ne_bytes();
        [code0, code1, one.jt, one.jf, k0, k1, k2, k3]
    });
    Ok(bytes.collect())
}

fn allowing(role: Role) -> seccompiler::Result<BpfProgram> {
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let rules = rules(role).map_err(backend)?;
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch()?)?;
    Ok(BpfProgram::try_from(filter)?)
}

fn arch() -> seccompiler::Result<TargetArch> {
    Ok(TargetArch::try_from(std::env::consts::ARCH)?)
}

fn rules(role: Role) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = FOR_ALL.iter().chain(OLDER).map(|&call| (call, Vec::new())).collect();
    let one_of = |at: u8, values: &[u64]| {
        let each = values.iter().map(|&one| SeccompRule::new(vec![is(at, one)?]));
        each.collect::<Result<Vec<_>, _>>()
    };
    rules.insert(libc::SYS_fcntl, one_of(1, &descriptor_commands())?);
    rules.insert(libc::SYS_ioctl, one_of(1, &terminal_requests())?);
    rules.insert(libc::SYS_prctl, one_of(0, &of_itself())?);
    // Limits of somebody else's process end it as well as a signal does.
    rules.insert(libc::SYS_prlimit64, one_of(0, &[0])?);
    if role == Role::Parent {
        rules.extend(FOR_PARENT.iter().map(|&call| (call, Vec::new())));
        // Children in the same namespaces.
        let mask = value(namespaces());
        let none = SeccompCmpOp::MaskedEq(mask);
        let none = SeccompCondition::new(0, SeccompCmpArgLen::Qword, none, 0)?;
        rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![none])?]);
    }
    Ok(rules)
}

/// Without those by which a descriptor sends signals to somebody, or a pipe takes more of the kernel's memory.
fn descriptor_commands() -> [u64; 12] {
    [
        libc::F_DUPFD,
        libc::F_DUPFD_CLOEXEC,
        libc::F_GETFD,
        libc::F_SETFD,
        libc::F_GETFL,
        libc::F_SETFL,
        libc::F_GETLK,
        libc::F_SETLK,
        libc::F_SETLKW,
        libc::F_OFD_GETLK,
        libc::F_OFD_SETLK,
        libc::F_OFD_SETLKW,
    ]
    .map(value)
}

/// By which programs find out whether something is a terminal, and set what belongs to a descriptor alone.
fn terminal_requests() -> [u64; 6] {
    [libc::TCGETS, libc::TIOCGWINSZ, libc::FIONREAD, libc::FIONBIO, libc::FIOCLEX, libc::FIONCLEX]
}

fn of_itself() -> [u64; 7] {
    [
        libc::PR_SET_NAME,
        libc::PR_GET_NAME,
        libc::PR_SET_DUMPABLE,
        libc::PR_GET_DUMPABLE,
        libc::PR_SET_PDEATHSIG,
        libc::PR_SET_NO_NEW_PRIVS,
        // Names of mappings, which allocators set.
        0x5356_4d41,
    ]
    .map(value)
}

fn namespaces() -> i32 {
    libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_can_do_less_than_its_parent() {
        let (parent, child) = (rules(Role::Parent).unwrap(), rules(Role::Child).unwrap());
        assert!(child.keys().all(|call| parent.contains_key(call)));
        for call in [libc::SYS_clone, libc::SYS_execve, libc::SYS_kill, libc::SYS_seccomp] {
            assert!(parent.contains_key(&call) && !child.contains_key(&call), "{call}");
        }
        for call in
            [libc::SYS_socket, libc::SYS_ptrace, libc::SYS_memfd_create, libc::SYS_symlinkat]
        {
            assert!(!parent.contains_key(&call), "{call}");
        }
        assert_eq!(filter_for_children().unwrap().len() % 8, 0);
    }
}
