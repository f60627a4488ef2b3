//! Programs that enter a station of a running emulation.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use multihop_linux::wait::Signals;
use nix::fcntl::{Flock, FlockArg};
use nix::sched::{CloneFlags, setns};
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::sandbox::Sandbox;
use crate::stations::{Stations, address_variables};
use crate::{EmulateError, Tried};

/// File that describes the stations of an emulation. The emulation holds a lock on it as long as it runs.
pub(crate) struct Entry {
    path: PathBuf,
    _locked: Flock<File>,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct Description {
    pub(crate) scenario: String,
    pub(crate) pid: u32,
    /// The process with the programs' namespaces.
    first_process: u32,
    stations: Vec<StationEntry>,
}

#[derive(Deserialize, Serialize)]
struct StationEntry {
    name: String,
    namespace: PathBuf,
}

impl Entry {
    /// Writes the description of an emulation, and removes the descriptions of emulations that were killed.
    pub(crate) fn new(
        folder: &Path,
        scenario: &str,
        names: &[String],
        stations: &Stations,
        sandbox: &Sandbox,
    ) -> Result<Self, EmulateError> {
        let write = || format!("write into {}", folder.display());
        make_own(folder).tried(write)?;
        for path in files(folder) {
            if running(&path).is_none() {
                let _ = fs::remove_file(readers_socket(&path));
                let _ = fs::remove_file(path);
            }
        }
        let pid = std::process::id();
        let station = |(name, namespace): (&String, &multihop_linux::netns::Namespace)| StationEntry {
            name: name.clone(),
            namespace: namespace.path(),
        };
        let description = Description {
            scenario: scenario.to_owned(),
            pid,
            first_process: sandbox.first_process(),
            stations: names.iter().zip(stations.namespaces().iter()).map(station).collect(),
        };
        let path = folder.join(format!("{pid}.json"));
        let file = File::create(&path).tried(write)?;
        let locked = Flock::lock(file, FlockArg::LockExclusiveNonblock);
        let locked = locked.map_err(|(_, error)| error).tried(write)?;
        serde_json::to_writer(&*locked, &description).map_err(io::Error::from).tried(write)?;
        Ok(Self { path, _locked: locked })
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Runs a program at a station (number or name) of a running emulation, a shell if `words` is empty. `pid` selects
/// the emulation if several run.
pub fn enter(station: &str, pid: Option<u32>, words: &[OsString]) -> Result<ExitStatus, EmulateError> {
    let description = find(pid)?;
    let stations = &description.stations;
    let names: Vec<_> = stations.iter().map(|entry| entry.name.clone()).collect();
    let n = crate::stations::find(&names, station)?;
    join(&description, &stations[n].namespace)?;
    let shell = env::var_os("SHELL").unwrap_or_else(|| "sh".into());
    let (program, arguments) = words.split_first().map_or((&shell, words), |(first, rest)| (first, rest));
    let variables = address_variables(stations.len());
    let run = || format!("run {}", program.display());
    // Signals from the keyboard are for the program; its end ends this process as well.
    let _caught = Signals::catch(&[SIGINT, SIGQUIT]).tried(run)?;
    Command::new(program).args(arguments).envs(variables).status().tried(run)
}

/// Joins the namespaces of a station.
fn join(description: &Description, network: &Path) -> Result<(), EmulateError> {
    let join = || format!("join the emulation with the process number {}", description.pid);
    let of = |kind| PathBuf::from(format!("/proc/{}/ns/{kind}", description.first_process));
    let open = |path: &Path| File::open(path).tried(join);
    let (user, processes, mounts) = (open(&of("user"))?, open(&of("pid"))?, open(&of("mnt"))?);
    let network = open(network)?;
    let ours = fs::metadata("/proc/self/ns/user").tried(join)?.ino();
    if user.metadata().tried(join)?.ino() != ours {
        setns(user, CloneFlags::CLONE_NEWUSER).tried(join)?;
    }
    // Only children enter the PID namespace, this process does not. The namespace's /proc shows no processes
    // outside of it.
    setns(processes, CloneFlags::CLONE_NEWPID).tried(join)?;
    setns(network, CloneFlags::CLONE_NEWNET).tried(join)?;
    setns(mounts, CloneFlags::CLONE_NEWNS).tried(join)
}

/// Emulations of this user that run now.
pub(crate) fn all() -> Vec<Description> {
    let mut found: Vec<_> = files(&folder()).filter_map(|path| running(&path)).collect();
    found.sort_by_key(|description| description.pid);
    found
}

/// The emulation with this process number; without a number, the only one that runs.
pub(crate) fn find(pid: Option<u32>) -> Result<Description, EmulateError> {
    let mut found = all();
    let list: Vec<_> = found.iter().map(|entry| format!("{} ({})", entry.pid, entry.scenario)).collect();
    found.retain(|description| pid.is_none_or(|pid| pid == description.pid));
    if found.len() > 1 {
        let message = format!("several emulations run; choose one by --pid: {}", list.join(", "));
        return Err(EmulateError::NotFound(message));
    }
    found.pop().ok_or_else(|| {
        EmulateError::NotFound(match (pid, list.is_empty()) {
            (Some(pid), false) => format!("found --pid {pid}, allowed: {}", list.join(", ")),
            _ => "this user runs no emulation".to_owned(),
        })
    })
}

/// The description in a file, if its emulation runs.
fn running(path: &Path) -> Option<Description> {
    let file = File::open(path).ok()?;
    match Flock::lock(file, FlockArg::LockSharedNonblock) {
        Err((file, nix::errno::Errno::EWOULDBLOCK)) => serde_json::from_reader(file).ok(),
        _ => None,
    }
}

/// Creates the folder for this user alone. An existing folder is accepted only if no other user could have
/// put links into it.
fn make_own(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if is_own(folder) {
        Ok(())
    } else {
        Err(io::Error::other("the folder belongs to another user, is a link, or others have access to it"))
    }
}

fn is_own(folder: &Path) -> bool {
    fs::symlink_metadata(folder)
        .is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0)
}

/// The files in the folder, unless another user may have written them.
fn files(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = is_own(folder).then(|| fs::read_dir(folder).ok()).flatten().into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "json"))
}

/// The files of this process in the folder of emulations.
pub(crate) fn own_files(folder: &Path) -> [PathBuf; 2] {
    let description = folder.join(format!("{}.json", std::process::id()));
    [readers_socket(&description), description]
}

/// The socket at which readers of captures join the emulation that a file describes.
pub(crate) fn readers_socket(description: &Path) -> PathBuf {
    description.with_extension("sock")
}

/// Folder for this user's emulations. The environment variable is unset for some services, and in containers.
pub(crate) fn folder() -> PathBuf {
    match env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) => Path::new(&folder).join("multihop"),
        None => env::temp_dir().join(format!("multihop-{}", geteuid())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_folder_that_others_may_have_prepared_is_refused() {
        let above = tempfile::tempdir().unwrap();
        let [own, open, link] = ["a/own", "open", "link"].map(|name| above.path().join(name));
        make_own(&own).unwrap();
        make_own(&own).unwrap();
        assert_eq!(fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(make_own(&open).is_err());
        symlink(&own, &link).unwrap();
        assert!(make_own(&link).is_err());
    }
}
