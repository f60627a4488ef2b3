//! Notices for this host's connections about the routes to their peers.

use core::net::Ipv4Addr;

use super::Agent;
use crate::agent::Output;

impl Agent {
    /// Starts reporting the route to a destination, now and at each change.
    pub(super) fn watch(&mut self, peer: Ipv4Addr) {
        self.peers.watch(peer);
        self.notify(peer);
    }

    /// Reports changes of the route to a peer.
    pub(super) fn notify(&mut self, peer: Ipv4Addr) {
        let Some(hops) = self.table.valid(peer).map(|route| route.hops) else { return };
        let notices = self.peers.found(peer, hops);
        self.out.extend(notices.map(|notice| Output::Notice { peer, notice }));
    }

    /// Reports that the route to a peer broke or was not found.
    pub(super) fn notify_lost(&mut self, peer: Ipv4Addr) {
        let notice = self.peers.lost(peer);
        self.out.extend(notice.map(|notice| Output::Notice { peer, notice }));
    }
}
