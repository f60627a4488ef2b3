//! TCs: the announcements of this node to the network (RFC 3626 §9.3, §15.1).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::olsr::{Body, Tc};

use super::Agent;
use super::config::Advertised;
use super::timers::Timer;

/// Contents of this node's last TC.
#[derive(Clone, Debug, Default)]
pub(super) struct Advertisement {
    /// TC with its neighbours sorted by address.
    tc: Arc<Tc>,
    /// Instant at which the last non-empty TC expires at the other nodes.
    forgotten_at: Instant,
}

impl Advertisement {
    /// The number of the TC before the first.
    pub(super) fn begin(&mut self, sequence: u16) {
        self.tc = Arc::new(Tc { sequence, neighbours: Vec::new() });
    }

    /// The neighbours that the last TC listed, sorted by address.
    pub(super) fn neighbours(&self) -> &[Ipv4Addr] {
        &self.tc.neighbours
    }
}

impl Agent {
    /// Sends a TC together with a host's other announcements. An empty TC is sent only if `may_be_empty`.
    // DEVIATION olsr-3: After a failed link the TC leaves at its regular time unless `triggered`. In RFC 3626 (9.3)
    // an early TC leaves, up to 5 s sooner.
    pub(super) fn send_tc(&mut self, now: Instant, may_be_empty: bool) {
        self.repeat(now, Timer::Tc, self.config.tc_interval);
        let announced = self.put_announced();
        if self.put_tc(now, may_be_empty) || announced {
            self.send_own(now);
            if let Some(early) = &mut self.early {
                early.on_tc(now);
            }
        }
    }

    /// Queues a TC; returns false if it would be empty and may not be.
    fn put_tc(&mut self, now: Instant, may_be_empty: bool) -> bool {
        let neighbours = self.advertised();
        let may_be_empty = may_be_empty || (self.config.empty_tcs && now < self.advertisement.forgotten_at);
        if neighbours.is_empty() && !may_be_empty {
            return false;
        }
        if !neighbours.is_empty() {
            self.advertisement.forgotten_at = now + self.config.topology_hold;
        }
        if neighbours != self.advertisement.tc.neighbours {
            let sequence = self.advertisement.tc.sequence.wrapping_add(1);
            self.advertisement.tc = Arc::new(Tc { sequence, neighbours });
        }
        self.counters.tcs += 1;
        let tc = self.advertisement.tc.clone();
        let costs = self.costs_of(&tc);
        for body in [Some(Body::Tc(tc)), costs].into_iter().flatten() {
            self.put_own(body, u8::MAX, self.config.topology_hold);
        }
        true
    }

    pub(super) fn advertised(&mut self) -> Vec<Ipv4Addr> {
        match self.config.advertised {
            Advertised::Selectors => self.selectors.keys().to_vec(),
            Advertised::SelectorsAndMprs => {
                self.elect();
                let mut both = self.selectors.keys().to_vec();
                both.extend_from_slice(&self.mprs);
                both.sort_unstable();
                both.dedup();
                both
            }
            Advertised::Neighbours => self.neighbours.symmetric().collect(),
        }
    }
}
