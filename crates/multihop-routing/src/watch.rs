//! Notices for this host's connections about the routes to their peers.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant, Notice};

/// Recently used destinations of this host, and the hop count in their last notice.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    list: Vec<Watched>,
}

#[derive(Clone, Debug)]
struct Watched {
    destination: Ipv4Addr,
    hops: Option<u8>,
    used: Instant,
}

impl Watch {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Records a packet to a destination at this distance; `None` if it is unreachable.
    pub(super) fn uses(&mut self, now: Instant, destination: Ipv4Addr, hops: Option<u8>) -> Option<Notice> {
        match self.list.binary_search_by_key(&destination, |watched| watched.destination) {
            Ok(at) => {
                self.list[at].used = now;
                None
            }
            Err(at) => {
                self.list.insert(at, Watched { destination, hops, used: now });
                Some(hops.map_or(Notice::RouteLost, |hops| Notice::PathInfo { hops }))
            }
        }
    }

    /// Compares with the current routes, and reports the changes.
    pub(super) fn compare(
        &mut self,
        now: Instant,
        hops: impl Fn(Ipv4Addr) -> Option<u8>,
        mut report: impl FnMut(Ipv4Addr, Notice),
    ) {
        self.list.retain(|watched| now.saturating_since(watched.used) < MEMORY);
        for Watched { destination, hops: before, .. } in &mut self.list {
            let after = hops(*destination);
            let before = core::mem::replace(before, after);
            match after {
                _ if after == before => {}
                None => report(*destination, Notice::RouteLost),
                Some(hops) => {
                    if before.is_none() {
                        report(*destination, Notice::RouteRestored);
                    }
                    report(*destination, Notice::PathInfo { hops });
                }
            }
        }
    }
}

/// Longer than any transport pauses between two attempts (two minutes).
const MEMORY: Duration = Duration::from_secs(300);
