//! Capabilities and users that a process gives up.

use std::io;
use std::path::Path;

use nix::unistd::{Gid, Uid, User, setgroups, setresgid, setresuid};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::system::uname;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities, set_keep_capabilities, set_no_new_privs,
};

use crate::{Needs, Right};

/// Keeps only the rights that are needed, and those that the files of other users require.
pub(crate) fn keep(needs: &Needs) -> io::Result<()> {
    let had = capabilities(None)?;
    let needed =
        needs.rights.iter().map(|right| set(*right)).fold(CapabilitySet::empty(), |all, one| all | one);
    let needed = needed | for_files(needs, had)?;
    if had.permitted.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all().difference(needed).iter() {
            // A capability that this kernel does not have is in no set.
            if capability_is_in_bounding_set(capability).unwrap_or(false) {
                remove_capability_from_bounding_set(capability)?;
            }
        }
    }
    if let Some(name) = &needs.user {
        let user = User::from_name(name)?;
        let user = user.ok_or_else(|| io::Error::other(format!("there is no user {name:?}")))?;
        set_keep_capabilities(true)?;
        become_user(user.uid, user.gid)?;
    }
    let kept = had.permitted & needed;
    // Without inheritable capabilities there are no ambient ones either.
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable })?;
    Ok(set_no_new_privs(true)?)
}

/// Rights that root needs to reach the given files, if they belong to other users.
fn for_files(needs: &Needs, had: CapabilitySets) -> io::Result<CapabilitySet> {
    if had.effective.is_empty() {
        return Ok(CapabilitySet::empty());
    }
    set_capabilities(None, CapabilitySets { effective: CapabilitySet::empty(), ..had })?;
    let fails = |path: &Path, access| {
        let access = if path.is_dir() { access | Access::EXEC_OK } else { access };
        accessat(CWD, path, access, AtFlags::EACCESS).is_err()
    };
    let cannot_write = needs.write.iter().any(|path| fails(path, Access::READ_OK | Access::WRITE_OK));
    let cannot_read = needs.read.iter().any(|path| fails(path, Access::READ_OK));
    set_capabilities(None, had)?;
    let mut needed = CapabilitySet::empty();
    if cannot_write {
        needed |= set(Right::FilesOfOthers);
    }
    if cannot_read {
        needed |= set(Right::ReadFilesOfOthers);
    }
    Ok(needed)
}

fn set(right: Right) -> CapabilitySet {
    match right {
        Right::NetAdmin => CapabilitySet::NET_ADMIN,
        Right::NetBindService => CapabilitySet::NET_BIND_SERVICE,
        Right::Marks if marks_need_administrator() => CapabilitySet::NET_ADMIN,
        Right::Marks => CapabilitySet::NET_RAW,
        Right::FilesOfOthers => CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::FOWNER),
        Right::ReadFilesOfOthers => CapabilitySet::DAC_READ_SEARCH,
    }
}

/// Whether this kernel is older than Linux 5.17, where CAP_NET_RAW sets no marks.
fn marks_need_administrator() -> bool {
    let name = uname();
    let release = name.release().to_string_lossy();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < (5, 17)
}

fn become_user(user: Uid, group: Gid) -> io::Result<()> {
    setgroups(&[])?;
    setresgid(group, group, group)?;
    setresuid(user, user, user)?;
    Ok(())
}
