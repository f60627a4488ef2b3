//! Controls for all programs of the machine, until they are removed. A link in a file of a bpffs keeps a
//! control in the kernel. This file system is mounted separately here: removing its files and the mount
//! removes all controls, even after a loader was killed. Kernels without links keep a control until it is
//! removed by its name.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::cgroup::Cgroup;
use super::controls::{self, Attachment};
use super::programs::{Loaded, PACKETS, Programs, REPORT, refused};
use super::sweep;
use crate::{Control, Settings, TcpError};

/// Registers the controls with the kernel. Packets are inspected for the connections of one cgroup, or of
/// all.
pub fn load(settings: Settings, cgroup: Option<PathBuf>) -> Result<(), TcpError> {
    let mut programs = Programs::open()?.only(&PROGRAMS, &Control::ALL);
    if is_mounted() {
        return Err(TcpError::Loaded);
    }
    let cgroup = cgroup.map_or_else(Cgroup::root, Cgroup::open)?;
    programs.configure(settings, false, "");
    let loaded = programs.load()?;
    fs::create_dir_all(PLACE).map_err(|error| failed("cannot make", error))?;
    mount(Some("multihop-tcp"), PLACE, Some("bpf"), MsFlags::empty(), None::<&str>)
        .map_err(|error| failed("cannot mount", error.into()))?;
    let done = keep(&loaded, &cgroup);
    if done.is_err() {
        let _ = remove();
    }
    done
}

/// Removes the controls from the kernel. Connections that use one keep it until they end.
pub fn unload() -> Result<(), TcpError> {
    sweep();
    if is_mounted() {
        return remove();
    }
    // Without links, controls outlive their mount, for example that of a container.
    if controls::remove() { Ok(()) } else { Err(TcpError::NotLoaded) }
}

/// Whether programs of this machine can choose the controls.
pub fn is_loaded() -> bool {
    Control::ALL.iter().all(|control| Path::new(PLACE).join(control.name()).exists())
}

fn keep(loaded: &Loaded, cgroup: &Cgroup) -> Result<(), TcpError> {
    for name in PROGRAMS {
        pin(loaded.attach(name, cgroup.as_fd())?, name)?;
    }
    for control in Control::ALL {
        pin(loaded.register(control)?, control.name())?;
    }
    Ok(())
}

fn pin(link: Attachment, name: &str) -> Result<(), TcpError> {
    link.pin(&Path::new(PLACE).join(name)).map_err(|error| refused("cannot keep a control", &error))
}

fn remove() -> Result<(), TcpError> {
    // Other mount namespaces may have copies of the mount, whose files would keep the links.
    for name in Control::ALL.map(Control::name).into_iter().chain(PROGRAMS) {
        match fs::remove_file(Path::new(PLACE).join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("cannot empty", error));
            }
            _ => {}
        }
    }
    controls::remove();
    umount2(PLACE, MntFlags::empty()).map_err(|error| failed("cannot unmount", error.into()))?;
    fs::remove_dir(PLACE).map_err(|error| failed("cannot remove", error))?;
    wait_for_the_kernel();
    Ok(())
}

/// Waits until the kernel has unregistered the controls whose links were removed; until then they cannot be
/// loaded again.
fn wait_for_the_kernel() {
    for _ in 0..TRIES {
        let known = fs::read_to_string(AVAILABLE).unwrap_or_default();
        if !known.split_whitespace().any(|name| Control::ALL.iter().any(|control| control.name() == name)) {
            return;
        }
        thread::sleep(PAUSE);
    }
}

fn is_mounted() -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts.lines().any(|line| line.split(' ').nth(1) == Some(PLACE))
}

fn failed(what: &str, error: io::Error) -> TcpError {
    TcpError::File { what: format!("{what} {PLACE}"), error }
}

/// Programs that are attached to the connections of the cgroup.
const PROGRAMS: [&str; 2] = [PACKETS, REPORT];
/// Names of the controls that the kernel has.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);
/// Folder in bpffs in which the links are pinned.
const PLACE: &str = "/run/multihop-tcp";
