//! Giving up what the daemon does not need after its start.

use std::io;

use nix::unistd::{Gid, Uid, User, setgroups, setresgid, setresuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set, set_capabilities,
    set_keep_capabilities, set_no_new_privs,
};

/// Keeps only what routes and sockets of further interfaces need: CAP_NET_ADMIN and CAP_NET_BIND_SERVICE. Becomes
/// `user`, if given. This process must have one thread.
pub(crate) fn drop_others(user: Option<&str>) -> io::Result<()> {
    let needed = CapabilitySet::NET_ADMIN | CapabilitySet::NET_BIND_SERVICE;
    let had = capabilities(None)?.permitted;
    if had.contains(CapabilitySet::SETPCAP) {
        for capability in had.difference(needed).iter() {
            remove_capability_from_bounding_set(capability)?;
        }
    }
    if let Some(name) = user {
        let user = User::from_name(name)?;
        let user = user.ok_or_else(|| io::Error::other(format!("there is no user {name:?}")))?;
        set_keep_capabilities(true)?;
        become_user(user.uid, user.gid)?;
    }
    let kept = had & needed;
    set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() },
    )?;
    set_no_new_privs(true)?;
    Ok(())
}

fn become_user(user: Uid, group: Gid) -> io::Result<()> {
    setgroups(&[])?;
    setresgid(group, group, group)?;
    setresuid(user, user, user)?;
    Ok(())
}
