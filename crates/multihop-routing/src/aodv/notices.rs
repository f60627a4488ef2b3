//! Notices for this host's connections about the routes to their peers.

use alloc::collections::BTreeMap;
use core::net::Ipv4Addr;

use multihop_core::Notice;

use super::Agent;
use crate::agent::Output;

/// The last notices about the destinations of this host's packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Peers {
    peers: BTreeMap<Ipv4Addr, Notified>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Notified {
    lost: bool,
    hops: Option<u8>,
}

impl Agent {
    /// Reports the route to a destination, now and whenever it changes.
    pub(super) fn watch(&mut self, peer: Ipv4Addr) {
        self.peers.peers.entry(peer).or_default();
        self.notify(peer);
    }

    /// Reports what has changed about the route to a peer.
    pub(super) fn notify(&mut self, peer: Ipv4Addr) {
        let Some(notified) = self.peers.peers.get_mut(&peer) else { return };
        let Some(hops) = self.table.valid(peer).map(|route| route.hops) else { return };
        if core::mem::take(&mut notified.lost) {
            self.out.push_back(Output::Notice { peer, notice: Notice::RouteRestored });
        }
        if notified.hops.replace(hops) != Some(hops) {
            self.out.push_back(Output::Notice { peer, notice: Notice::PathInfo { hops } });
        }
    }

    /// Reports that the route to a peer broke or was not found.
    pub(super) fn notify_lost(&mut self, peer: Ipv4Addr) {
        if let Some(notified) = self.peers.peers.get_mut(&peer)
            && !notified.lost
        {
            *notified = Notified { lost: true, hops: None };
            self.out.push_back(Output::Notice { peer, notice: Notice::RouteLost });
        }
    }
}
