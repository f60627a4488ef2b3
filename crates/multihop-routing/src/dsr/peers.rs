use alloc::collections::BTreeMap;
use core::net::Ipv4Addr;

use multihop_core::{Instant, Notice};

use super::cache::Cache;
use super::outbox::Outbox;

/// What this host's connections know of their paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Peers {
    /// Links to each peer that packets have been sent to, while there is a way.
    hops: BTreeMap<Ipv4Addr, Option<usize>>,
    /// Version of the cache that this is true of.
    version: u32,
}

impl Peers {
    /// A packet for `peer` found a way, or none.
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

    /// Tells what the cache's changes mean for the peers.
    pub(super) fn follow(&mut self, now: Instant, cache: &Cache, out: &mut Outbox) {
        if self.version != cache.version() {
            self.version = cache.version();
            for (&peer, known) in &mut self.hops {
                change(peer, known, cache.find(now, peer).map(|way| way.len()), out);
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
        let hops = u8::try_from(hops).expect("ways are short");
        out.notice(peer, Notice::PathInfo { hops });
    }
}
