//! Changes of this host's routes, reported to the connections that use the routes.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

use multihop_core::{Instant, Notice};

use super::Hub;
use crate::datagram::RouteChange;

impl Hub {
    /// Handles changes of this host's routes: notifies connections to peers that have a new route, or none,
    /// so that they need not wait for their timers. Returns the number of route lookups, at most one per
    /// peer.
    pub fn on_route_changes(&mut self, now: Instant, changes: &[RouteChange]) -> usize {
        let mut notices: BTreeMap<IpAddr, Option<Notice>> = BTreeMap::new();
        let (mut lookups, mut told) = (0, Vec::new());
        for (id, connection) in self.connections.iter_mut() {
            let peer = connection.peer();
            let notice = *notices.entry(peer.ip()).or_insert_with(|| {
                let mut concerning = changes.iter().filter(|change| change.concerns(peer.ip())).peekable();
                concerning.peek()?;
                lookups += 1;
                let is_new = concerning.any(|change| change.is_there);
                match (self.local_address)(peer) {
                    Some(_) if is_new => Some(Notice::RouteRestored),
                    Some(_) => None,
                    None => Some(Notice::RouteLost),
                }
            });
            if let Some(notice) = notice {
                connection.end.notice(now, notice);
                told.push(id);
            }
        }
        for id in told {
            self.wake(id);
        }
        lookups
    }
}
