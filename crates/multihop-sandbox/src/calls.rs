//! Denies system calls by seccomp.

use std::collections::BTreeMap;
use std::io;

use nix::libc;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use crate::Needs;

/// A filter as the kernel takes it.
pub(crate) type Program = BpfProgram;

/// The filters for a program with these needs.
pub(crate) fn filters(needs: &Needs) -> io::Result<Vec<Program>> {
    let processor = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| invalid(error.into()))?;
    let whole = |calls: &[libc::c_long]| calls.iter().map(|call| (*call, Vec::new())).collect();
    let mut denied: BTreeMap<i64, Vec<SeccompRule>> = whole(&DENIED);
    denied.append(&mut whole(DENIED_OF_PROCESSOR));
    denied.append(&mut in_part(needs).map_err(invalid)?);
    // A filter cannot read the flags of clone3, which makes namespaces. Without it C libraries use clone.
    let missing = whole(&[libc::SYS_clone3]);
    let mut programs = foreign_numbers();
    for (calls, error) in [(denied, libc::EPERM), (missing, libc::ENOSYS)] {
        let action = SeccompAction::Errno(error.cast_unsigned());
        let filter = SeccompFilter::new(calls, SeccompAction::Allow, action, processor);
        programs.push(filter.and_then(TryInto::try_into).map_err(|error| invalid(error.into()))?);
    }
    Ok(programs)
}

/// Applies filters to this thread.
pub(crate) fn deny(programs: &[Program]) -> io::Result<()> {
    for program in programs {
        match apply_filter(program) {
            Err(Error::Prctl(error) | Error::Seccomp(error))
                if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) =>
            {
                tracing::debug!("this kernel does not filter system calls: {error}");
                return Ok(());
            }
            applied => applied.map_err(invalid)?,
        }
    }
    Ok(())
}

/// Calls that are denied with some arguments.
fn in_part(needs: &Needs) -> Result<BTreeMap<i64, Vec<SeccompRule>>, Error> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let argument = |number, operation, value: i32| {
        let value = u64::from(value.cast_unsigned());
        SeccompCondition::new(number, SeccompCmpArgLen::Dword, operation, value)
    };
    let mut families = Vec::new();
    if needs.internet {
        families.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    if needs.names || needs.interfaces || needs.abstract_sockets {
        families.push(libc::AF_UNIX);
    }
    // No family has the highest number: without a family, no socket.
    let other = families.into_iter().chain([libc::c_int::MAX]).map(|family| argument(0, Ne, family));
    let other_family = SeccompRule::new(other.collect::<Result<_, _>>()?)?;
    // Raw sockets of IP; those of netlink have the same type.
    let raw = |family| {
        let kind = SeccompCondition::new(1, SeccompCmpArgLen::Dword, MaskedEq(0xf), SOCK_RAW)?;
        SeccompRule::new(vec![argument(0, Eq, family)?, kind])
    };
    let any = |conditions: Vec<_>| {
        let rule = |condition: Result<_, _>| SeccompRule::new(vec![condition?]);
        conditions.into_iter().map(rule).collect::<Result<Vec<_>, _>>()
    };
    let masked = |flag: &libc::c_int| argument(0, MaskedEq(u64::from(flag.cast_unsigned())), *flag);
    Ok(BTreeMap::from([
        (libc::SYS_socket, vec![other_family, raw(libc::AF_INET)?, raw(libc::AF_INET6)?]),
        (libc::SYS_clone, any(NAMESPACES.iter().map(masked).collect())?),
        // A thread may signal its own process only.
        (libc::SYS_tgkill, any(vec![argument(0, Ne, std::process::id().cast_signed())])?),
        // Both requests put input into the terminal, which the shell then executes.
        (libc::SYS_ioctl, any([TIOCSTI, TIOCLINUX].map(|request| argument(1, Eq, request)).into())?),
    ]))
}

/// A filter that denies all calls with the numbers of x32, which other filters do not know.
fn foreign_numbers() -> Vec<Program> {
    #[cfg(target_arch = "x86_64")]
    {
        use seccompiler::sock_filter;
        let instruction = |code: u32, jt, jf, k| {
            let code = u16::try_from(code).expect("codes of instructions have 16 bits");
            sock_filter { code, jt, jf, k }
        };
        let returns = libc::BPF_RET | libc::BPF_K;
        // The number of the call is the first word of what the filter sees.
        vec![vec![
            instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32),
            instruction(returns, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned()),
            instruction(returns, 0, 0, libc::SECCOMP_RET_ALLOW),
        ]]
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}

fn invalid(error: Error) -> io::Error {
    io::Error::other(format!("seccomp: {error}"))
}

const SOCK_RAW: u64 = 3;
/// Lowest number of a system call of the x32 ABI.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;
const TIOCSTI: libc::c_int = 0x5412;
const TIOCLINUX: libc::c_int = 0x541c;
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// Calls that no command needs after its start.
const DENIED: [libc::c_long; 64] = [
    // Programs.
    libc::SYS_execve,
    libc::SYS_execveat,
    // Other processes.
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    // Namespaces and mounts.
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
    libc::SYS_unshare,
    // Large parts of the kernel in which many faults were found; io_uring also makes calls that filters do not see.
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_perf_event_open,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
    // The kernel itself.
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    // The host: clocks, names, accounting, quotas, terminals, network file systems.
    libc::SYS_acct,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_vhangup,
    // Files by numbers in place of paths, all changes of a file system, devices.
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_mknodat,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // Memory of other nodes and processes, and other personalities of the kernel.
    libc::SYS_mbind,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_personality,
    libc::SYS_set_mempolicy,
];

/// Calls of one kind of processor.
#[cfg(target_arch = "x86_64")]
const DENIED_OF_PROCESSOR: &[libc::c_long] = &[
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_kexec_file_load,
    libc::SYS_mknod,
    libc::SYS_modify_ldt,
    libc::SYS_sysfs,
    libc::SYS_uselib,
    libc::SYS_ustat,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_OF_PROCESSOR: &[libc::c_long] = &[];
