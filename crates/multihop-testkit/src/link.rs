//! One direction of a lossy link, for packets of any type.

use std::collections::BTreeMap;

use multihop_core::{Duration, Instant, Machine, Rng};

/// The faults of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkConfig {
    /// Delay of every packet.
    pub delay: Duration,
    /// Share of packets lost.
    pub loss: f64,
    /// Share of packets duplicated.
    pub duplication: f64,
    /// Share of packets and duplicates that are held back, and so reordered.
    pub reordering: f64,
    /// The longest time that a packet is held back.
    pub hold: Duration,
}

/// One direction of a path: packets come out later, duplicated, or not at all.
#[derive(Clone, Debug)]
pub struct Link<P> {
    config: LinkConfig,
    rng: Rng,
    sent: u64,
    under_way: BTreeMap<(Instant, u64), P>,
}

impl<P> Link<P> {
    /// An empty link.
    pub fn new(config: LinkConfig, rng: Rng) -> Self {
        Self { config, rng, sent: 0, under_way: BTreeMap::new() }
    }

    fn put(&mut self, now: Instant, packet: P) {
        let mut at = now + self.config.delay;
        if self.rng.chance(self.config.reordering) {
            at += self.rng.duration_below(self.config.hold);
        }
        self.under_way.insert((at, self.sent), packet);
        self.sent += 1;
    }
}

impl<P: Clone> Machine for Link<P> {
    type Input = P;
    type Output = P;

    fn handle(&mut self, now: Instant, packet: P) {
        if self.rng.chance(self.config.loss) {
            return;
        }
        if self.rng.chance(self.config.duplication) {
            self.put(now, packet.clone());
        }
        self.put(now, packet);
    }

    /// Nothing to do: `poll_output` returns packets once they are due.
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
        let mut link = Link::new(config, Rng::stream(1, "link", 0));
        for packet in 0..10_000 {
            link.handle(Instant::from_nanos(u64::from(packet) * 10_000), packet);
        }
        std::iter::from_fn(|| link.poll_output(Instant::FAR_FUTURE)).collect()
    }

    #[test]
    fn a_good_link_keeps_everything_in_order() {
        let config = LinkConfig { delay: Duration::from_millis(1), ..LinkConfig::default() };
        assert!(arrivals(config).into_iter().eq(0..10_000));
    }

    #[test]
    fn faults_have_the_configured_shares() {
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
