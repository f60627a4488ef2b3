//! Confines access to files and TCP by Landlock.

use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};

use crate::Needs;

/// Restricts this thread to the files that are needed. An older kernel restricts less, or nothing.
pub(crate) fn restrict(needs: &Needs) -> io::Result<()> {
    let status = enforce(needs).map_err(|error| io::Error::other(format!("Landlock: {error}")))?;
    if status != RulesetStatus::FullyEnforced {
        tracing::debug!("Landlock of this kernel restricts files and sockets only in part: {status:?}");
    }
    Ok(())
}

fn enforce(needs: &Needs) -> Result<RulesetStatus, RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(TESTED))?.scope(Scope::Signal)?;
    if !needs.abstract_sockets {
        ruleset = ruleset.scope(Scope::AbstractUnixSocket)?;
    }
    if !needs.tcp {
        ruleset = ruleset.handle_access(AccessNet::from_all(TESTED))?;
    }
    let for_names: &[&str] = if needs.names { &FOR_NAMES } else { &[] };
    let ruleset = ruleset.create()?.add_rules(path_beneath_rules(SYSTEM.iter().chain(for_names), read))?;
    let ruleset = ruleset.add_rules(path_beneath_rules(["/dev/null"], read | AccessFs::WriteFile))?;
    let ruleset = ruleset.add_rules(path_beneath_rules(existing(&needs.read), read))?;
    let ruleset = ruleset.add_rules(path_beneath_rules(existing(&needs.write), read | write()))?;
    let parameters: &[&str] = if needs.interfaces { &["/proc/sys/net"] } else { &[] };
    let ruleset =
        ruleset.add_rules(path_beneath_rules(parameters, AccessFs::WriteFile | AccessFs::Truncate))?;
    Ok(ruleset.restrict_self()?.ruleset)
}

/// Everything that a file transfer does beneath its folder. Devices, sockets and pipes are not made.
fn write() -> BitFlags<AccessFs> {
    AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::RemoveDir
        | AccessFs::RemoveFile
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::MakeSym
        | AccessFs::Refer
}

fn existing(paths: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    paths.iter().filter(|path| path.exists())
}

/// The version of Landlock with which this module has been tested: that of Linux 6.12, which added scopes.
const TESTED: ABI = ABI::V6;
/// Files that C libraries, Python and the runtime read by themselves: libraries, time zones, the number of processors.
const SYSTEM: [&str; 8] =
    ["/usr", "/lib", "/lib32", "/lib64", "/proc", "/sys/devices/system", "/sys/fs/cgroup", "/dev/urandom"];
/// Folders with the configuration of name resolution. Other programs replace its files while this one runs.
const FOR_NAMES: [&str; 3] = ["/etc", "/run", "/var/lib/sss"];
