//! Rights that a process needs to make namespaces.

use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

/// Gains the right to make network namespaces, if this process does not have it: as root of a new user namespace.
///
/// The process must then have only one thread.
pub fn gain_rights() -> io::Result<()> {
    if is_administrator()? {
        return Ok(());
    }
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    // Linux wants this before an ordinary user may map a group.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Whether this process has the capability that namespaces need.
fn is_administrator() -> io::Result<bool> {
    let status = fs::read_to_string("/proc/self/status")?;
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    Ok(effective.is_some_and(|set| set & (1 << CAP_SYS_ADMIN) != 0))
}

const CAP_SYS_ADMIN: u32 = 21;
