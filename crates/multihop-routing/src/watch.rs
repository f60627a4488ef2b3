//! Notices for this host's connections about the routes to their peers.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant, Notice};

/// Reachability of a destination in a routing table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// No route leads to the destination.
    Lost,
    /// A route over this many links exists.
    Hops(u8),
    /// A route of unknown length exists.
    Somewhere,
}

/// Recently used destinations of this host, with the last known state of their routes.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    list: Vec<Watched>,
}

#[derive(Clone, Debug)]
struct Watched {
    destination: Ipv4Addr,
    reach: Reach,
    used: Instant,
}

impl Watch {
    /// Whether this host has recently sent no packets.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Records a packet to a destination.
    pub fn uses(&mut self, now: Instant, destination: Ipv4Addr, reach: Reach) -> Option<Notice> {
        match self.list.binary_search_by_key(&destination, |watched| watched.destination) {
            Ok(at) => {
                self.list[at].used = now;
                None
            }
            Err(at) => {
                self.list.insert(at, Watched { destination, reach, used: now });
                match reach {
                    Reach::Lost => Some(Notice::RouteLost),
                    Reach::Hops(hops) => Some(Notice::PathInfo { hops }),
                    Reach::Somewhere => None,
                }
            }
        }
    }

    /// Compares the state of routes with the current routes, and reports changes.
    pub fn compare(
        &mut self,
        now: Instant,
        reach: impl Fn(Ipv4Addr) -> Reach,
        mut report: impl FnMut(Ipv4Addr, Notice),
    ) {
        self.list.retain(|watched| now.saturating_since(watched.used) < MEMORY);
        for Watched { destination, reach: before, .. } in &mut self.list {
            let after = reach(*destination);
            let before = core::mem::replace(before, after);
            if after == before {
                continue;
            }
            if after == Reach::Lost {
                report(*destination, Notice::RouteLost);
            } else if before == Reach::Lost {
                report(*destination, Notice::RouteRestored);
            }
            if let Reach::Hops(hops) = after {
                report(*destination, Notice::PathInfo { hops });
            }
        }
    }
}

/// Time for which a peer is remembered. It exceeds the two minutes that any transport pauses between two
/// attempts.
const MEMORY: Duration = Duration::from_secs(300);
