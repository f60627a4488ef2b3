//! Reserved paths of this host's flows: observed packets in, paths of the kernel out.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use multihop_core::{Instant, earliest};
use multihop_linux::netlink::Interface;

use super::Daemon;
use crate::flows::Flow;
use crate::observer::Observer;
use crate::paths::{InstalledPaths, Wanted, prepare};

/// The flows and paths of this host; exists if paths are reserved.
#[derive(Debug)]
pub(super) struct Reserver {
    flows: Observer<Flow>,
    installed: InstalledPaths,
    /// Instant at which a path is released.
    release_at: Option<Instant>,
}

impl Reserver {
    /// Opens the socket for packets, which takes `CAP_NET_RAW`, and prepares the kernel.
    pub(super) fn open() -> io::Result<Self> {
        let flows = Observer::open()?;
        prepare()?;
        Ok(Self { flows, installed: InstalledPaths::default(), release_at: None })
    }

    /// Descriptor that is readable when a packet of a flow has left.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.flows.as_fd()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        earliest(self.flows.deadline(), self.release_at)
    }
}

impl Daemon {
    /// Passes the interfaces of the daemon to the observer of flows, and reads the kernel's paths.
    pub(super) fn look_at_paths(&mut self, now: Instant, all: &[Interface]) -> io::Result<()> {
        let Some(reserver) = &mut self.reserver else { return Ok(()) };
        let interfaces = self.sockets.iter().map(|open| open.port.index).collect();
        reserver.flows.set(now, interfaces, self.router.config().reserve.clone())?;
        reserver.installed.look(all)
    }

    /// Takes the flows whose packets have left, and installs the paths of new flows.
    pub(super) fn take_flows(&mut self, now: Instant) -> io::Result<()> {
        let Some(reserver) = &mut self.reserver else { return Ok(()) };
        let mut has_changed = false;
        for flow in reserver.flows.take(now)? {
            has_changed |= self.router.on_flow(now, flow);
        }
        if has_changed {
            self.update_paths(now);
        } else if let Some(reserver) = &mut self.reserver {
            reserver.release_at = self.router.release_due();
        }
        Ok(())
    }

    /// Handles the deadlines of flows.
    pub(super) fn handle_flows(&mut self, now: Instant) -> io::Result<()> {
        let Some(reserver) = &mut self.reserver else { return Ok(()) };
        reserver.flows.handle_timeout(now)?;
        if reserver.release_at.is_some_and(|at| at <= now) {
            self.update_paths(now);
        }
        Ok(())
    }

    /// Makes the kernel's paths equal to those of the router.
    pub(super) fn update_paths(&mut self, now: Instant) {
        let Some(reserver) = &mut self.reserver else { return };
        let Some(main) = self.router.reserving() else { return };
        let interfaces = self.sockets.iter().map(|open| open.port.index).collect();
        let (neighbours, flows) = (self.router.direct(), self.router.reserved(now));
        reserver.installed.update(&Wanted { main, interfaces, neighbours, flows });
        reserver.release_at = self.router.release_due();
    }
}
