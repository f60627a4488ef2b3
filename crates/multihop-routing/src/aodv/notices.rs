use alloc::collections::BTreeMap;
use core::net::Ipv4Addr;

use multihop_core::Notice;

use super::Agent;
use crate::agent::Output;

/// What this host was told about the destinations of its own packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Peers {
    peers: BTreeMap<Ipv4Addr, Told>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Told {
    lost: bool,
    hops: Option<u8>,
}

impl Agent {
    /// Says what changes with a route, from now on also to this destination.
    pub(super) fn watch(&mut self, peer: Ipv4Addr) {
        self.peers.peers.entry(peer).or_default();
        self.tell(peer);
    }

    /// Says what is new about the route to a peer.
    pub(super) fn tell(&mut self, peer: Ipv4Addr) {
        let Some(told) = self.peers.peers.get_mut(&peer) else { return };
        let Some(hops) = self.table.valid(peer).map(|route| route.hops) else { return };
        if core::mem::take(&mut told.lost) {
            self.out.push_back(Output::Notice { peer, notice: Notice::RouteRestored });
        }
        if told.hops.replace(hops) != Some(hops) {
            self.out.push_back(Output::Notice { peer, notice: Notice::PathInfo { hops } });
        }
    }

    /// Says that the route to a peer broke, or could not be found.
    pub(super) fn tell_lost(&mut self, peer: Ipv4Addr) {
        if let Some(told) = self.peers.peers.get_mut(&peer)
            && !told.lost
        {
            *told = Told { lost: true, hops: None };
            self.out.push_back(Output::Notice { peer, notice: Notice::RouteLost });
        }
    }
}
