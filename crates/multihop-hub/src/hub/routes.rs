//! Changes of this host's routes, for the connections whose datagrams take them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

use multihop_core::{Instant, Notice};

use super::Hub;
use crate::datagram::RouteChange;

impl Hub {
    /// Routes of this host have changed: connections to peers for which there is another route, or none, are told. They
    /// need not wait for their timers. Returns how many routes were looked up, at most one for each peer.
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
