//! TCs: what this node tells the network (RFC 3626 §9.3, §15.1).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::olsr::{Body, Tc};

use super::Agent;
use super::config::Advertised;
use super::timers::Timer;

/// What this node's last TC said.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// With neighbours in the order of addresses.
    tc: Arc<Tc>,
    /// When everybody has forgotten the neighbours that were told of last.
    forgotten_at: Instant,
}

impl Agent {
    /// Sends a TC if there is anything to say.
    // DEVIATION olsr-3: no TC before its time after a link has failed.
    pub(super) fn send_tc(&mut self, now: Instant) {
        self.repeat(now, Timer::Tc, self.config.tc_interval);
        let neighbours = self.advertised();
        if neighbours.is_empty() && !(self.config.empty_tcs && now < self.told.forgotten_at) {
            return;
        }
        if !neighbours.is_empty() {
            self.told.forgotten_at = now + self.config.topology_hold;
        }
        if neighbours != self.told.tc.neighbours {
            let sequence = self.told.tc.sequence.wrapping_add(1);
            self.told.tc = Arc::new(Tc { sequence, neighbours });
        }
        self.counters.tcs += 1;
        let tc = self.told.tc.clone();
        let costs = self.costs_of(&tc);
        for body in [Some(Body::Tc(tc)), costs].into_iter().flatten() {
            self.put_own(body, u8::MAX, self.config.topology_hold);
        }
        self.send_own(now);
    }

    fn advertised(&mut self) -> Vec<Ipv4Addr> {
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
