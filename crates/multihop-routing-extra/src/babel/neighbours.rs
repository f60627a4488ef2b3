//! Neighbours, and the costs of the links to them (RFC 8966, 3.4; RFC 9616, 3 and 4).

use alloc::vec::Vec;
use core::net::IpAddr;

use multihop_core::{Duration, Instant, Interface};

use super::config::{Config, LinkCost, RttCost};
use super::history::History;
use super::time;
use super::wire::{Echo, Hello, INFINITY, Ihu};

/// Neighbours, sorted by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbours {
    list: Vec<Neighbour>,
}

#[derive(Clone, Debug)]
pub(super) struct Neighbour {
    pub(super) address: IpAddr,
    /// Interface of this node that reaches the neighbour.
    pub(super) interface: Interface,
    /// Rule by which the cost of the link is computed.
    kind: LinkCost,
    /// History of multicast Hellos.
    history: History,
    /// History of unicast Hellos to this node; `None` if the neighbour sends none.
    unicast: Option<History>,
    /// Instant at which the latest Hello arrived.
    pub(super) heard_at: Instant,
    /// Neighbour's cost of receiving from this node, and the instant until which the cost holds.
    txcost: Option<(u16, Instant)>,
    /// Timestamp of the neighbour's latest Hello, and its arrival time.
    pub(super) heard: Option<Echo>,
    /// The average round-trip time, us.
    rtt: Option<u32>,
    /// Cost of the link when it was last computed.
    cost: u16,
}

/// How the links over an interface are sensed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sensing {
    /// Rule by which the cost of a link is computed.
    pub(super) cost: LinkCost,
    /// Whether the first Hello of a neighbour suffices to use the link.
    pub(super) presumes_link: bool,
}

/// Effect of a Hello on its neighbour's link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum HelloOutcome {
    /// The Hello came from a new neighbour.
    New,
    /// The Hello came from a known neighbour.
    Known,
    /// The Hello is ignored, because there are too many neighbours.
    Ignored,
}

impl Neighbours {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Neighbour> {
        self.list.iter()
    }

    pub(super) fn get(&self, address: IpAddr) -> Option<&Neighbour> {
        let at = self.list.binary_search_by_key(&address, |neighbour| neighbour.address).ok()?;
        Some(&self.list[at])
    }

    pub(super) fn get_mut(&mut self, address: IpAddr) -> Option<&mut Neighbour> {
        let at = self.list.binary_search_by_key(&address, |neighbour| neighbour.address).ok()?;
        Some(&mut self.list[at])
    }

    /// The cost of the link to a neighbour.
    pub(super) fn cost(&self, address: IpAddr) -> Option<u16> {
        self.get(address).map(|neighbour| neighbour.cost)
    }

    /// Records a multicast Hello, by the interface over which it arrived and its sender.
    pub(super) fn record_hello(
        &mut self,
        now: Instant,
        (interface, from): (Interface, IpAddr),
        hello: &Hello,
        sensing: Sensing,
    ) -> HelloOutcome {
        let heard = hello.timestamp.map(|origin| Echo { origin, receive: clock(now) });
        match self.list.binary_search_by_key(&from, |neighbour| neighbour.address) {
            Ok(at) => {
                let neighbour = &mut self.list[at];
                neighbour.record_hello(now, hello, sensing);
                (neighbour.heard, neighbour.interface) = (heard, interface);
                (neighbour.heard_at, neighbour.kind) = (now, sensing.cost);
                HelloOutcome::Known
            }
            Err(_) if self.list.len() >= MAX_NEIGHBOURS => HelloOutcome::Ignored,
            Err(at) => {
                let mut neighbour = Neighbour {
                    address: from,
                    interface,
                    kind: sensing.cost,
                    history: History::silent(now, hello, sensing.presumes_link),
                    unicast: None,
                    heard_at: now,
                    txcost: None,
                    heard,
                    rtt: None,
                    cost: INFINITY,
                };
                neighbour.record_hello(now, hello, sensing);
                self.list.insert(at, neighbour);
                HelloOutcome::New
            }
        }
    }

    pub(super) fn remove(&mut self, address: IpAddr) {
        self.list.retain(|neighbour| neighbour.address != address);
    }

    /// Counts Hellos that are overdue as lost. Returns the neighbours whose links changed, and those that are lost.
    pub(super) fn expire(&mut self, now: Instant, config: &Config) -> (Vec<IpAddr>, Vec<IpAddr>) {
        let (mut changed, mut lost) = (Vec::new(), Vec::new());
        for neighbour in &mut self.list {
            if neighbour.due() <= now {
                neighbour.history.expire(now);
                if let Some(unicast) = &mut neighbour.unicast {
                    unicast.expire(now);
                }
                neighbour.txcost = neighbour.txcost.filter(|&(_, until)| until > now);
                let list = if neighbour.is_silent() { &mut lost } else { &mut changed };
                list.push(neighbour.address);
                neighbour.review(config);
            }
        }
        self.list.retain(|neighbour| !neighbour.is_silent());
        (changed, lost)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.list.iter().map(Neighbour::due).min()
    }
}

impl Neighbour {
    fn due(&self) -> Instant {
        let of = |history: &History| (!history.is_silent()).then(|| history.due());
        let hellos = of(&self.history).into_iter().chain(self.unicast.as_ref().and_then(of));
        let until = self.txcost.map(|(_, until)| until);
        hellos.chain(until).min().unwrap_or(self.heard_at)
    }

    /// Records a Hello of the neighbour. Multicast and unicast Hellos have separate sequence numbers.
    fn record_hello(&mut self, now: Instant, hello: &Hello, sensing: Sensing) {
        if hello.unicast {
            let silent = || History::silent(now, hello, sensing.presumes_link);
            self.unicast.get_or_insert_with(silent).record(now, hello);
        } else {
            self.history.record(now, hello);
        }
    }

    /// Whether the neighbour sends no Hellos any longer.
    fn is_silent(&self) -> bool {
        self.history.is_silent() && self.unicast.as_ref().is_none_or(History::is_silent)
    }

    /// Whether enough Hellos arrive for the link to be used.
    pub(super) fn is_heard(&self) -> bool {
        self.rxcost() < INFINITY
    }

    /// Whether both ends hear each other.
    pub(super) const fn is_used(&self) -> bool {
        self.cost < INFINITY
    }

    /// Share of the latest Hellos that arrived.
    pub(super) fn received(&self) -> f64 {
        let unicast = self.unicast.as_ref().map_or(0.0, History::share);
        self.history.share().max(unicast)
    }

    /// Records the neighbour's report on the opposite direction.
    pub(super) fn learn(&mut self, now: Instant, ihu: &Ihu) {
        // The hold time is that of RFC 8966, appendix B.
        self.txcost = Some((ihu.rxcost, now + time(ihu.interval) * 7 / 2));
    }

    /// Records a round trip: the timestamp returned in a packet that left the neighbour at `sent` by the
    /// neighbour's clock.
    pub(super) fn round_trip(&mut self, now: Instant, echo: Echo, sent: u32, config: &RttCost) {
        let whole = clock(now).wrapping_sub(echo.origin);
        let held = sent.wrapping_sub(echo.receive);
        if whole > LONGEST || held > whole {
            return;
        }
        let sample = u64::from(whole - held);
        let old = self.rtt.map_or(sample, u64::from);
        let smoothing = u64::from(config.smoothing);
        let average = (smoothing * old + (MILLION - smoothing) * sample) / MILLION;
        self.rtt = u32::try_from(average).ok();
    }

    /// The cost of receiving from the neighbour.
    pub(super) fn rxcost(&self) -> u16 {
        let unicast = self.unicast.as_ref().map_or(INFINITY, |unicast| unicast.rxcost(self.kind));
        self.history.rxcost(self.kind).min(unicast)
    }

    /// Recomputes the cost of the link.
    pub(super) fn review(&mut self, config: &Config) {
        let rxcost = self.rxcost();
        let (nominal, txcost) = (self.kind.nominal(), self.txcost.map_or(INFINITY, |(cost, _)| cost));
        self.cost = if rxcost == INFINITY || txcost == INFINITY {
            INFINITY
        } else {
            // RFC 8966, A.2.2: the inverse of the product of both directions' delivery ratios.
            let both = u32::from(txcost.max(nominal)) * u32::from(rxcost) / u32::from(nominal);
            let penalty = config.rtt.zip(self.rtt).map_or(0, |(cost, rtt)| cost.penalty(rtt));
            u16::try_from(both + u32::from(penalty)).unwrap_or(INFINITY)
        };
    }

    /// The average round-trip time.
    pub(super) fn rtt(&self) -> Option<Duration> {
        self.rtt.map(|rtt| Duration::from_micros(rtt.into()))
    }
}

impl RttCost {
    /// RFC 9616, 4.2: no cost up to `min`, the full cost from `max` on, and linear between them.
    fn penalty(&self, rtt: u32) -> u16 {
        let (min, max) = (self.min.as_micros(), self.max.as_micros());
        let above = u64::from(rtt).saturating_sub(min).min(max - min);
        u16::try_from(u64::from(self.penalty) * above / (max - min).max(1)).expect("at most the penalty")
    }
}

/// This node's clock for timestamps, us.
pub(super) fn clock(now: Instant) -> u32 {
    u32::try_from((now.as_nanos() / 1000) & u64::from(u32::MAX)).expect("32 bits")
}

/// Largest number of neighbours. It exceeds the number that a radio hears, and limits the memory.
const MAX_NEIGHBOURS: usize = 1024;
/// Longest plausible round trip, us; longer ones result from wrong clocks.
const LONGEST: u32 = 600_000_000;
const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::babel::wire::{Centis, Seqno};

    fn neighbour() -> Neighbour {
        let hello = Hello { unicast: false, seqno: Seqno(0), interval: Centis(400), timestamp: None };
        let mut all = Neighbours::default();
        let sensing = Sensing { cost: LinkCost::Etx, presumes_link: false };
        let place = (Interface(0), IpAddr::from([127, 0, 0, 1]));
        assert_eq!(all.record_hello(Instant::ZERO, place, &hello, sensing), HelloOutcome::New);
        all.list.remove(0)
    }

    #[test]
    fn round_trips_are_smoothed_and_wrong_clocks_ignored() {
        let mut neighbour = neighbour();
        let config = RttCost::default();
        let mut trip = |now_ms: u64, origin_ms: u32, receive: u32, sent: u32| {
            let (now, origin) = (Instant::ZERO + Duration::from_millis(now_ms), origin_ms * 1000);
            neighbour.round_trip(now, Echo { origin, receive }, sent, &config);
            neighbour.rtt.map(|rtt| rtt / 1000)
        };
        // The neighbour's clock wraps around while the neighbour holds the stamp for 100 ms.
        assert_eq!(trip(5_000, 4_880, u32::MAX - 50_000, 49_999), Some(20));
        assert_eq!(trip(6_000, 5_800, 0, 80_000), Some(36), "0.836 * 20 ms + 0.164 * 120 ms");
        assert_eq!(trip(7_000, 6_900, 0, 200_000), Some(36), "held for longer than the whole");
        assert_eq!(trip(8_000, 9_000, 0, 0), Some(36), "a stamp of the future");
    }

    #[test]
    fn penalties_grow_between_two_round_trip_times() {
        let cost = RttCost::default();
        let penalties = [0, 10, 65, 120, 5000].map(|ms| cost.penalty(ms * 1000));
        assert_eq!(penalties, [0, 0, 75, 150, 150]);
    }
}
