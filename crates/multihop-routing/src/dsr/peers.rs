//! Notices for this host's connections about the paths to their peers.

use alloc::collections::BTreeMap;
use core::net::Ipv4Addr;

use multihop_core::{Instant, Notice};

use super::cache::Cache;
use super::outbox::Outbox;

/// Path lengths in the last notices to this host's connections.
#[derive(Clone, Debug, Default)]
pub(super) struct Peers {
    /// Number of hops to each peer to which packets were sent; `None` if there is no path.
    hops: BTreeMap<Ipv4Addr, Option<usize>>,
    /// Version of the route cache from which the path lengths were computed.
    version: u32,
}

impl Peers {
    /// Records the path length of a packet to `peer`, `None` without a path, and sends notices if it changed.
    pub(super) fn update(&mut self, peer: Ipv4Addr, hops: Option<usize>, out: &mut Outbox) {
        match self.hops.get_mut(&peer) {
            Some(known) => change(peer, known, hops, out),
            None if hops.is_some() => {
                self.hops.insert(peer, hops);
                tell_length(peer, hops, out);
            }
            None => {}
        }
    }

    /// Reports changes of the cache that concern the peers.
    pub(super) fn follow(&mut self, now: Instant, cache: &Cache, out: &mut Outbox) {
        if self.version != cache.version() {
            self.version = cache.version();
            for (&peer, known) in &mut self.hops {
                change(peer, known, cache.find(now, peer).map(|path| path.len()), out);
            }
        }
    }
}

fn change(peer: Ipv4Addr, known: &mut Option<usize>, hops: Option<usize>, out: &mut Outbox) {
    match (*known, hops) {
        (Some(_), None) => out.notice(peer, Notice::RouteLost),
        (None, Some(_)) => out.notice(peer, Notice::RouteRestored),
        _ => {}
    }
    if *known != hops {
        tell_length(peer, hops, out);
        *known = hops;
    }
}

fn tell_length(peer: Ipv4Addr, hops: Option<usize>, out: &mut Outbox) {
    if let Some(hops) = hops {
        let hops = u8::try_from(hops).expect("paths are short");
        out.notice(peer, Notice::PathInfo { hops });
    }
}
