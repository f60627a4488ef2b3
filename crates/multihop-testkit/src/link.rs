//! One direction of a lossy link, for packets of any type.

use std::collections::BTreeMap;

use multihop_core::{Duration, Instant, Machine, Rng};

/// Faults and delay of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkConfig {
    /// Delay of every packet.
    pub delay: Duration,
    /// Fraction of packets lost.
    pub loss: f64,
    /// Fraction of packets duplicated.
    pub duplication: f64,
    /// Fraction of packets and duplicates that are held back, and thus reordered.
    pub reordering: f64,
    /// The longest time that a packet is held back.
    pub hold: Duration,
}

/// One direction of a path: delays, duplicates and loses packets.
#[derive(Clone, Debug)]
pub struct LossyLink<P> {
    config: LinkConfig,
    rng: Rng,
    launched: u64,
    under_way: BTreeMap<(Instant, u64), P>,
}

impl<P> LossyLink<P> {
    /// Makes a link without packets.
    pub fn new(config: LinkConfig, rng: Rng) -> Self {
        Self { config, rng, launched: 0, under_way: BTreeMap::new() }
    }

    /// The random stream of this link, for additional faults of the caller.
    pub const fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    fn launch(&mut self, sent: Instant, packet: P) -> bool {
        let held_back = self.rng.chance(self.config.reordering);
        let mut at = sent + self.config.delay;
        if held_back {
            at += self.rng.duration_below(self.config.hold);
        }
        self.under_way.insert((at, self.launched), packet);
        self.launched += 1;
        held_back
    }
}

/// The faults of a packet that was not lost.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Fate {
    /// Whether the packet was duplicated.
    pub duplicated: bool,
    /// The number of copies that were held back.
    pub held_back: u64,
}

impl<P: Clone> LossyLink<P> {
    /// Carries a packet without losing it: duplicates, delays and holds it back as configured.
    pub fn carry(&mut self, sent: Instant, packet: P) -> Fate {
        let duplicated = self.rng.chance(self.config.duplication);
        let copy_held_back = duplicated && self.launch(sent, packet.clone());
        let held_back = self.launch(sent, packet);
        Fate { duplicated, held_back: u64::from(copy_held_back) + u64::from(held_back) }
    }
}

impl<P: Clone> Machine for LossyLink<P> {
    type Input = P;
    type Output = P;

    fn handle(&mut self, now: Instant, packet: P) {
        if !self.rng.chance(self.config.loss) {
            self.carry(now, packet);
        }
    }

    /// Does nothing, because `poll_output` returns packets once they are due.
    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_output(&mut self, now: Instant) -> Option<P> {
        let first = self.under_way.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.under_way.first_key_value().map(|(&(at, _), _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(config: LinkConfig) -> Vec<u32> {
        let mut link = LossyLink::new(config, Rng::stream(1, "link", 0));
        for packet in 0..10_000 {
            link.handle(Instant::from_nanos(u64::from(packet) * 10_000), packet);
        }
        std::iter::from_fn(|| link.poll_output(Instant::FAR_FUTURE)).collect()
    }

    #[test]
    fn a_good_link_loses_nothing_and_keeps_the_order() {
        let config = LinkConfig { delay: Duration::from_millis(1), ..LinkConfig::default() };
        assert!(arrivals(config).into_iter().eq(0..10_000));
    }

    #[test]
    fn faults_have_the_configured_frequencies() {
        let lossy = arrivals(LinkConfig { loss: 0.3, ..LinkConfig::default() });
        assert!((6850..7150).contains(&lossy.len()), "{}", lossy.len());
        let doubled = arrivals(LinkConfig { duplication: 0.2, ..LinkConfig::default() });
        assert!((11_850..12_150).contains(&doubled.len()), "{}", doubled.len());
        let config = LinkConfig { reordering: 0.1, hold: Duration::from_millis(1), ..LinkConfig::default() };
        let reordered = arrivals(config);
        assert_eq!(reordered.len(), 10_000);
        let overtaken = reordered.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert!((700..1200).contains(&overtaken), "{overtaken}");
    }
}
