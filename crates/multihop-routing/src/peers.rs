//! Notices of on-demand protocols for this host's connections about the routes to their peers.

use alloc::collections::BTreeMap;
use core::net::Ipv4Addr;

use multihop_core::Notice;

/// The last notices about the destinations of this host's packets.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    peers: BTreeMap<Ipv4Addr, Notified>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Notified {
    lost: bool,
    hops: Option<u8>,
}

impl Peers {
    /// Reports the route to a destination from now on.
    pub fn watch(&mut self, peer: Ipv4Addr) {
        self.peers.entry(peer).or_default();
    }

    /// Notices that are due for a peer whose route now has this many links.
    pub fn found(&mut self, peer: Ipv4Addr, hops: u8) -> impl Iterator<Item = Notice> + use<> {
        let (mut restored, mut path) = (None, None);
        if let Some(notified) = self.peers.get_mut(&peer) {
            restored = core::mem::take(&mut notified.lost).then_some(Notice::RouteRestored);
            let changed = notified.hops.replace(hops) != Some(hops);
            path = changed.then_some(Notice::PathInfo { hops });
        }
        restored.into_iter().chain(path)
    }

    /// Records that the route to a peer broke or was not found.
    pub fn lost(&mut self, peer: Ipv4Addr) -> Option<Notice> {
        let notified = self.peers.get_mut(&peer).filter(|notified| !notified.lost)?;
        *notified = Notified { lost: true, hops: None };
        Some(Notice::RouteLost)
    }
}
