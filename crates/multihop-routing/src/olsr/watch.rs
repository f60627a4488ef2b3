//! Destinations of this host's packets, for news about the way to them.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant, Notice};

/// Destinations that this host has used lately, and what it was last told.
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

    /// A packet leaves for a destination that is so many hops away, if it can be reached.
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

    /// Compares with the routes of now, and reports what has changed.
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

/// Longer than any transport leaves between two attempts (two minutes).
const MEMORY: Duration = Duration::from_secs(300);
