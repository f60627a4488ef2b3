//! Local repair (RFC 3561, section 6.12).

use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};

use super::error::Origin;
use super::table::Broken;
use super::{Agent, LocalRepair};
use crate::agent::{Output, Routable};

/// A route under repair.
#[derive(Clone, Debug)]
pub(super) struct Repair {
    /// Hop count before the failure.
    hops: u8,
    /// Instant at which an ns-2 repair is abandoned; `None` under other rules.
    until: Option<Instant>,
}

impl Agent {
    pub(super) fn can_repair(&self, next_hop: Ipv4Addr, packet: &Routable) -> bool {
        let route = self.table.valid(packet.destination).filter(|route| route.next_hop == next_hop);
        route.is_some_and(|route| match self.config.local_repair {
            LocalRepair::Off => false,
            LocalRepair::Rfc => packet.previous_hop.is_some() && route.hops <= self.config.max_repair_ttl,
            LocalRepair::Ns2 => packet.hops > route.hops,
        })
    }

    pub(super) fn repair(&mut self, now: Instant, next_hop: Ipv4Addr, packet: Routable) {
        let (source, destination) = (packet.source, packet.destination);
        let hops = self.table.last_hops(destination).unwrap_or(0);
        self.table.start_repair(destination);
        self.wait(now, packet);
        let until = match self.config.local_repair {
            LocalRepair::Ns2 => {
                self.seek(now, destination);
                // ns-2 uses the instant at which the wait ends as a duration.
                self.search_ends(destination).map(|end| now + Duration::from_nanos(end.as_nanos()))
            }
            LocalRepair::Rfc | LocalRepair::Off => {
                let back = self.table.last_hops(source).unwrap_or(0);
                let ttl = hops.max(back / 2).saturating_add(LOCAL_ADD_TTL);
                self.ask(now, destination, ttl, 0, true);
                // DEVIATION aodv-10: At a failed link, routes that are not under repair are reported (RFC 3561,
                // 6.12). AODV-UU marks all routes over the link for repair. By default there is no difference.
                self.out.push_back(Output::Purge { next_hop });
                self.break_link(now, next_hop);
                None
            }
        };
        self.repairs.insert(destination, Repair { hops, until });
    }

    /// Ends a local repair: the route is valid again.
    pub(super) fn repaired(&mut self, now: Instant, destination: Ipv4Addr) {
        let Some(repair) = self.repairs.remove(&destination) else { return };
        let Some(route) = self.table.valid(destination).filter(|route| route.hops > repair.hops) else {
            return;
        };
        // ns-2 sends no route error.
        if self.config.local_repair == LocalRepair::Rfc {
            let (sequence, precursors) = (route.sequence.unwrap_or_default(), route.precursors.clone());
            let longer = Broken { destination, sequence, precursors };
            self.report(now, alloc::vec![longer], Origin::Here, true);
        }
    }

    /// Ends a local repair without success.
    pub(super) fn repair_failed(&mut self, now: Instant, destination: Ipv4Addr) {
        if self.config.local_repair == LocalRepair::Rfc && self.repairs.remove(&destination).is_some() {
            let broken = self.table.retire(now, destination);
            self.report(now, broken.into_iter().collect(), Origin::Here, false);
        }
    }

    pub(super) fn expire_repairs(&mut self, now: Instant) {
        let table = &mut self.table;
        self.repairs.retain(|&destination, repair| {
            let ends = repair.until.is_some_and(|until| until <= now);
            if ends {
                // DEVIATION aodv-2: A node raises the sequence number of a route whose repair fails, which prevents
                // loops. ns-2 keeps the number.
                table.invalidate(now, destination, None);
            }
            !ends
        });
    }

    pub(super) fn next_repair_end(&self) -> Option<Instant> {
        self.repairs.values().filter_map(|repair| repair.until).min()
    }
}

/// TTL added to the last known distance in a local repair (RFC 3561, section 10).
const LOCAL_ADD_TTL: u8 = 2;
