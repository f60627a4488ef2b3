//! Controls that the kernel has checked, and their registration.
//!
//! Since Linux 6.4 a BPF link registers a control: the kernel removes the control with the last descriptor or
//! file of the link, also if the process is killed. Older kernels refuse maps for such links (EINVAL). There,
//! an update of the map registers the control, which then stays until its element is deleted, even if the
//! process ends. Links are used if the kernel supports them, because only they need no later command that
//! removes the control of a killed process ([`sweep`]).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use nix::libc::EINVAL;

use super::syscall::{self, MapAttributes, NAME};
use crate::Control;

/// A control that can be registered.
#[derive(Debug)]
pub(super) struct Checked {
    map: OwnedFd,
    /// Value of the map, which refers to programs by their descriptors.
    bytes: Vec<u8>,
    /// The name of the map and of the control.
    name: [u8; NAME],
    takes_links: bool,
}

impl Checked {
    /// Makes the map of a control, whose value is `bytes`.
    pub(super) fn new(map: MapAttributes, bytes: Vec<u8>) -> io::Result<Self> {
        let with_links = syscall::create_map(MapAttributes { flags: WITH_LINK, ..map });
        let (made, takes_links) = match with_links {
            Err(error) if error.raw_os_error() == Some(EINVAL) => (syscall::create_map(map)?, false),
            made => (made?, true),
        };
        Ok(Self { map: made, bytes, name: map.name, takes_links })
    }

    /// Registers the control with the kernel.
    pub(super) fn register(&self) -> io::Result<Attachment> {
        if self.takes_links {
            syscall::update(self.map.as_fd(), &self.bytes)?;
            return syscall::register(self.map.as_fd()).map(Attachment::new);
        }
        // The mark is created before the control and removed after it, so that the control of a live process
        // always has a mark.
        let element = Element { map: self.map.try_clone()?, _mark: mark(self.name)?, is_kept: false };
        syscall::update(self.map.as_fd(), &self.bytes)?;
        Ok(Attachment(Kept::Element(element)))
    }
}

/// Keeps a program attached or a control registered while this value exists.
#[derive(Debug)]
pub(super) struct Attachment(Kept);

#[derive(Debug)]
enum Kept {
    BpfLink(OwnedFd),
    Element(Element),
}

/// A control that has been registered by the update of its map.
#[derive(Debug)]
struct Element {
    map: OwnedFd,
    _mark: OwnedFd,
    /// Whether the control remains registered after this value is dropped.
    is_kept: bool,
}

impl Attachment {
    pub(super) fn new(link: OwnedFd) -> Self {
        Self(Kept::BpfLink(link))
    }

    /// Pins the control to a file of bpffs, so that it outlives this process. The file of a control without a
    /// link only shows that the control is loaded; [`remove`] removes the control.
    pub(super) fn pin(self, path: &Path) -> io::Result<()> {
        match self.0 {
            Kept::BpfLink(link) => syscall::pin(link.as_fd(), path),
            Kept::Element(mut element) => {
                syscall::pin(element.map.as_fd(), path)?;
                element.is_kept = true;
                Ok(())
            }
        }
    }
}

impl Drop for Element {
    fn drop(&mut self) {
        if !self.is_kept {
            delete(self.map.as_fd());
        }
    }
}

/// Removes the controls that `load` has registered without links; returns whether there were any.
pub(super) fn remove() -> bool {
    let of_load = checked().filter(|(name, _)| Control::ALL.iter().any(|control| control.name() == name));
    of_load.fold(false, |any, (_, map)| delete(map.as_fd()) | any)
}

/// Unregisters controls of `multihop tcp run` whose process was killed. Only needed on kernels without BPF links.
pub(super) fn sweep() {
    let of_runs = checked().filter(|(name, _)| Control::ALL.iter().any(|control| is_of_run(name, *control)));
    let of_runs: Vec<_> = of_runs.collect();
    if of_runs.is_empty() {
        return;
    }
    // Marks are listed after controls, because a mark is created before its control.
    let marks: Vec<_> =
        syscall::maps().filter(|(info, _)| info.kind == MARK).map(|(info, _)| info.name).collect();
    for (name, map) in of_runs {
        if !marks.contains(&syscall::name(&name)) {
            delete(map.as_fd());
        }
    }
}

/// Whether `name` belongs to a control that `multihop tcp run` has registered, for example `mh_ap_1f3a`.
fn is_of_run(name: &str, control: Control) -> bool {
    name.strip_prefix(control.name()).is_some_and(|rest| rest.starts_with('_'))
}

/// Names and maps of all eBPF controls that the kernel has checked.
fn checked() -> impl Iterator<Item = (String, OwnedFd)> {
    let controls = syscall::maps().filter(|(info, _)| info.kind == MAP_STRUCT_OPS);
    controls.map(|(info, map)| {
        let end = info.name.iter().position(|byte| *byte == 0).unwrap_or(NAME);
        (String::from_utf8_lossy(&info.name[..end]).into_owned(), map)
    })
}

/// Unregisters a control without a link. Returns false if the kernel refuses: the control has a link, or was
/// unregistered before.
fn delete(map: BorrowedFd<'_>) -> bool {
    syscall::delete(map).is_ok()
}

/// Creates a map with the name of a control, which marks the control as in use as long as its process holds
/// the map.
fn mark(name: [u8; NAME]) -> io::Result<OwnedFd> {
    syscall::create_map(MapAttributes {
        kind: MARK,
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        name,
        ..Default::default()
    })
}

/// Map type of an array (`BPF_MAP_TYPE_ARRAY`).
const MARK: u32 = 2;
pub(super) const MAP_STRUCT_OPS: u32 = 26;
/// Flag of a map whose control is registered by a link.
const WITH_LINK: u32 = 1 << 13;
