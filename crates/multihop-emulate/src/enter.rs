//! Programs that enter a station of a running emulation.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use multihop_linux::wait::Signals;
use nix::sched::{CloneFlags, setns};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::sandbox::Sandbox;
use crate::stations::{Stations, address_variables};
use crate::{EmulateError, Tried};

/// Description of the stations of an emulation, for programs that enter them: a file in memory, which other processes
/// of the user find as an open file of this one. It ends with this process, however that happens.
pub(crate) struct Entry(#[expect(dead_code, reason = "the file is read by other processes")] File);

#[derive(Deserialize, Serialize)]
pub(crate) struct Description {
    pub(crate) scenario: String,
    pub(crate) pid: u32,
    /// The process with the programs' namespaces.
    first_process: u32,
    stations: Vec<StationEntry>,
    /// Name of the socket for readers of captures.
    pub(crate) readers: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct StationEntry {
    name: String,
    namespace: PathBuf,
}

impl Entry {
    /// Writes the description of an emulation into a new file in memory.
    pub(crate) fn new(
        scenario: &str,
        names: &[String],
        stations: &Stations,
        sandbox: &Sandbox,
        readers: Option<String>,
    ) -> Result<Self, EmulateError> {
        let station = |(name, namespace): (&String, &multihop_linux::netns::Namespace)| StationEntry {
            name: name.clone(),
            namespace: namespace.path(),
        };
        let description = Description {
            scenario: scenario.to_owned(),
            pid: std::process::id(),
            first_process: sandbox.first_process(),
            stations: names.iter().zip(stations.namespaces().iter()).map(station).collect(),
            readers,
        };
        let describe = || "describe the emulation in a file in memory".to_owned();
        let mut file = memfd_create(NAME, MFdFlags::MFD_CLOEXEC).map(File::from).tried(describe)?;
        let text = serde_json::to_vec(&description).expect("texts and numbers");
        file.write_all(&text).tried(describe)?;
        Ok(Self(file))
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
    let mut found: Vec<_> = entries(Path::new("/proc")).filter_map(|process| description(&process)).collect();
    found.sort_by_key(|description| description.pid);
    found
}

/// The description of the emulation that a process of this user runs, given its folder in `/proc`.
fn description(process: &Path) -> Option<Description> {
    let pid: u32 = process.file_name()?.to_str()?.parse().ok()?;
    if fs::metadata(process).ok()?.uid() != geteuid().as_raw() {
        return None;
    }
    let named = format!("/memfd:{NAME} (deleted)");
    let mut files = entries(&process.join("fd"));
    let file = files.find(|file| fs::read_link(file).is_ok_and(|target| target == Path::new(&named)))?;
    let found: Description = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    (found.pid == pid).then_some(found)
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The emulation with this process number; without a number, the only one that runs.
pub(crate) fn find(pid: Option<u32>) -> Result<Description, EmulateError> {
    choose(all(), pid)
}

fn choose(mut found: Vec<Description>, pid: Option<u32>) -> Result<Description, EmulateError> {
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

/// Name of the file in memory.
const NAME: &str = "multihop-emulation";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulation_is_chosen_by_its_number_or_is_the_only_one() {
        let runs = |pid| Description {
            scenario: "two".to_owned(),
            pid,
            first_process: 1,
            stations: Vec::new(),
            readers: None,
        };
        let chosen = |pids: &[u32], pid| {
            choose(pids.iter().map(|&pid| runs(pid)).collect(), pid)
                .map(|found| found.pid)
                .map_err(|error| error.to_string())
        };
        assert_eq!(chosen(&[7], None), Ok(7));
        assert_eq!(chosen(&[7, 9], Some(9)), Ok(9));
        for (pids, pid, message) in [
            (&[][..], None, "this user runs no emulation"),
            (&[], Some(7), "this user runs no emulation"),
            (&[7, 9], None, "several emulations run; choose one by --pid: 7 (two), 9 (two)"),
            (&[7, 9], Some(8), "found --pid 8, allowed: 7 (two), 9 (two)"),
        ] {
            assert_eq!(chosen(pids, pid), Err(message.to_owned()));
        }
    }
}
