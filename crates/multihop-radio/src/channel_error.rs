//! Artificial losses on top of the radio model: independent, or in bursts.

use std::collections::BTreeMap;
use std::sync::Arc;

use multihop_core::{Instant, NodeId, Rng};

use crate::measured::{LinkTraces, Quantity};
use crate::params::{Burst, Model, RadioParams};

/// Decides which frames and packets a link loses.
///
/// Each direction of each link has its own random streams: whether the n-th frame on a link is lost does not depend
/// on other links.
#[derive(Clone, Debug)]
pub struct ChannelError {
    seed: u64,
    packet_loss: Chance,
    frame_loss: Chance,
    /// Whether any link may damage frames. Stored, because every received frame needs the answer.
    damages: bool,
    burst: Option<Burst>,
    /// Traces of measured losses; `None` without measured links.
    measured: Option<Arc<LinkTraces>>,
    frames: PerLink<Rng>,
    packets: PerLink<Rng>,
    bursts: PerLink<Bursts>,
    losses: PerLink<Rng>,
}

/// Probability of a loss on each link.
#[derive(Clone, Debug)]
struct Chance {
    /// Loss probability of links without their own value.
    of_all: f64,
    /// Loss probabilities of single links, by sender and receiver.
    of_links: BTreeMap<(NodeId, NodeId), f64>,
}

/// Object that a loss destroys.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lost {
    /// A frame is lost, and its sender gets no acknowledgement.
    Frame,
    /// A packet is lost after the MAC has delivered and acknowledged it.
    Packet,
}

impl ChannelError {
    /// Creates the error state of a run, before any frame was sent.
    pub fn new(params: &RadioParams, seed: u64) -> Self {
        let mut errors = Self {
            seed,
            packet_loss: Chance::everywhere(params.loss),
            frame_loss: Chance::everywhere(params.frame_loss),
            damages: false,
            burst: params.burst,
            measured: measured_losses(&params.model),
            frames: PerLink::default(),
            packets: PerLink::default(),
            bursts: PerLink::default(),
            losses: PerLink::default(),
        };
        errors.update();
        errors
    }

    /// Sets the loss probability of all links, and removes the values of single links.
    pub fn set_loss(&mut self, lost: Lost, chance: f64) {
        *self.chance(lost) = Chance::everywhere(chance);
        self.update();
    }

    /// Sets the probability of a loss from one node to another.
    pub fn set_loss_of(&mut self, lost: Lost, from: NodeId, to: NodeId, chance: f64) {
        self.chance(lost).of_links.insert((from, to), chance);
        self.update();
    }

    /// Determines anew whether any link may damage frames.
    fn update(&mut self) {
        self.damages = self.frame_loss.is_possible() || self.burst.is_some() || self.measured.is_some();
    }

    fn chance(&mut self, lost: Lost) -> &mut Chance {
        match lost {
            Lost::Frame => &mut self.frame_loss,
            Lost::Packet => &mut self.packet_loss,
        }
    }

    /// Whether an otherwise correctly received frame is damaged. Call once per frame.
    #[inline]
    pub fn damages_frame(&mut self, now: Instant, from: NodeId, to: NodeId) -> bool {
        self.damages && self.link_damages_frame(now, from, to)
    }

    fn link_damages_frame(&mut self, now: Instant, from: NodeId, to: NodeId) -> bool {
        let (seed, loss) = (self.seed, self.frame_loss.of(from, to));
        let at_random = loss > 0.0 && self.frames.draws(seed, "radio/frame-loss", from, to).chance(loss);
        let in_burst = self.burst.is_some_and(|burst| {
            self.bursts.of(from, to, |link| Bursts::new(seed, link, &burst)).damages(&burst)
        });
        let loss = self.measured.as_ref().and_then(|traces| traces.value(from, to, now));
        let as_measured =
            loss.is_some_and(|loss| self.losses.draws(seed, "radio/measured-loss", from, to).chance(loss));
        at_random || in_burst || as_measured
    }

    /// Whether a packet is lost after the MAC has delivered it. Must be called once per packet.
    pub fn loses_packet(&mut self, from: NodeId, to: NodeId) -> bool {
        if !self.packet_loss.is_possible() {
            return false;
        }
        let loss = self.packet_loss.of(from, to);
        loss > 0.0 && self.packets.draws(self.seed, "radio/loss", from, to).chance(loss)
    }
}

impl Chance {
    const fn everywhere(chance: f64) -> Self {
        Self { of_all: chance, of_links: BTreeMap::new() }
    }

    #[inline]
    fn is_possible(&self) -> bool {
        self.of_all > 0.0 || !self.of_links.is_empty()
    }

    fn of(&self, from: NodeId, to: NodeId) -> f64 {
        self.of_links.get(&(from, to)).copied().unwrap_or(self.of_all)
    }
}

/// The traces of a radio whose measured links have loss traces.
fn measured_losses(model: &Model) -> Option<Arc<LinkTraces>> {
    let Model::Sinr(sinr) = model else { return None };
    let traces = &sinr.measured.as_ref()?.traces;
    (traces.quantity() == Quantity::Loss).then(|| Arc::clone(traces))
}

/// One value per direction of each link, created at first use. Values are grouped by sender and sorted by
/// receiver, because a moving node may eventually have links to nearly all others.
#[derive(Clone, Debug)]
struct PerLink<T> {
    by_sender: Vec<Vec<(NodeId, T)>>,
}

impl<T> Default for PerLink<T> {
    fn default() -> Self {
        Self { by_sender: Vec::new() }
    }
}

impl<T> PerLink<T> {
    /// The value of a link. `new` creates it at first use, from the number of the link.
    fn of(&mut self, from: NodeId, to: NodeId, new: impl FnOnce(u64) -> T) -> &mut T {
        if from.index() >= self.by_sender.len() {
            self.by_sender.resize_with(from.index() + 1, Vec::new);
        }
        let links = &mut self.by_sender[from.index()];
        let at = links.binary_search_by_key(&to, |link| link.0).unwrap_or_else(|at| {
            if links.len() == links.capacity() {
                links.reserve_exact(MORE_LINKS);
            }
            links.insert(at, (to, new(u64::from(from.0) << 32 | u64::from(to.0))));
            at
        });
        &mut links[at].1
    }
}

impl PerLink<Rng> {
    fn draws(&mut self, seed: u64, purpose: &str, from: NodeId, to: NodeId) -> &mut Rng {
        self.of(from, to, |link| Rng::stream(seed, purpose, link))
    }
}

/// Space for the links of a node is allocated in blocks of this many.
const MORE_LINKS: usize = 8;

/// The two-state Markov chain of one link (Gilbert-Elliott).
#[derive(Clone, Debug)]
struct Bursts {
    rng: Rng,
    bad: bool,
}

impl Bursts {
    fn new(seed: u64, link: u64, burst: &Burst) -> Self {
        let mut rng = Rng::stream(seed, "radio/burst", link);
        // The first state is drawn from the steady state; a link that never changes state starts good.
        let bad = rng.unit() * (burst.p + burst.r) < burst.p;
        Self { rng, bad }
    }

    /// Whether the frame is damaged in the current state; afterwards the state may change.
    fn damages(&mut self, burst: &Burst) -> bool {
        let (damage, turn) = if self.bad { (burst.bad, burst.r) } else { (burst.good, burst.p) };
        let damaged = self.rng.chance(damage);
        self.bad ^= self.rng.chance(turn);
        damaged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NodeId = NodeId(0);
    const B: NodeId = NodeId(1);

    fn channel(change: impl FnOnce(&mut RadioParams)) -> ChannelError {
        let mut params = RadioParams::default();
        change(&mut params);
        ChannelError::new(&params, 3)
    }

    fn fates(channel: &mut ChannelError, n: usize) -> Vec<bool> {
        (0..n).map(|_| channel.damages_frame(Instant::ZERO, A, B)).collect()
    }

    #[test]
    fn a_perfect_channel_loses_nothing_and_stores_nothing() {
        let mut perfect = channel(|_| ());
        assert!(!fates(&mut perfect, 1000).contains(&true));
        assert!(!perfect.loses_packet(A, B));
        assert!(perfect.frames.by_sender.is_empty() && perfect.packets.by_sender.is_empty());
    }

    #[test]
    fn a_link_creates_only_the_streams_that_it_uses() {
        let mut lossy = channel(|p| p.frame_loss = 0.1);
        for n in (1..21).map(NodeId) {
            lossy.damages_frame(Instant::ZERO, A, n);
            lossy.loses_packet(A, n);
        }
        let links = &lossy.frames.by_sender[A.index()];
        assert!(links.len() == 20 && links.capacity() < 20 + MORE_LINKS);
        assert!(lossy.packets.by_sender.is_empty() && lossy.bursts.by_sender.is_empty());
    }

    #[test]
    fn frames_and_packets_are_lost_at_their_rates() {
        let mut lossy = channel(|p| {
            p.frame_loss = 0.1;
            p.loss = 0.02;
        });
        let n = 100_000;
        let frames = fates(&mut lossy, n).iter().filter(|&&lost| lost).count() as f64;
        let packets = (0..n).filter(|_| lossy.loses_packet(A, B)).count() as f64;
        // The tolerance is four standard errors.
        assert!((frames - 10_000.0).abs() < 4.0 * 94.9, "{frames}");
        assert!((packets - 2_000.0).abs() < 4.0 * 44.3, "{packets}");
    }

    #[test]
    fn losses_change_during_a_run_on_all_links_or_on_one() {
        let mut changed = channel(|_| ());
        changed.set_loss_of(Lost::Frame, A, B, 1.0);
        changed.set_loss_of(Lost::Packet, B, A, 1.0);
        assert_eq!(fates(&mut changed, 3), [true; 3]);
        assert!(!changed.damages_frame(Instant::ZERO, B, A));
        assert!(changed.loses_packet(B, A) && !changed.loses_packet(A, B));
        changed.set_loss(Lost::Frame, 0.0);
        assert_eq!(fates(&mut changed, 3), [false; 3]);
        changed.set_loss(Lost::Packet, 1.0);
        changed.set_loss_of(Lost::Packet, B, A, 0.0);
        assert!(changed.loses_packet(A, B) && !changed.loses_packet(B, A));
    }

    #[test]
    fn bursts_have_the_mean_loss_and_length_of_gilbert_and_elliott() {
        let (p, r) = (0.01, 0.1);
        let mut bursty = channel(|params| params.burst = Some(Burst { good: 0.0, bad: 1.0, p, r }));
        let n = 400_000;
        let fates = fates(&mut bursty, n);
        let lost = fates.iter().filter(|&&lost| lost).count() as f64;
        let bursts = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let (rate, mean) = (lost / n as f64, p / (p + r));
        // The losses of neighbouring frames have a correlation of 1 - p - r, which increases the variance by
        // this factor.
        let widening = (2.0 - p - r) / (p + r);
        let error = (mean * (1.0 - mean) * widening / n as f64).sqrt();
        assert!((rate - mean).abs() < 4.0 * error, "loss {rate} instead of {mean}");
        // A geometric length with mean 1/r has a standard deviation of sqrt(1 - r)/r.
        let length = lost / bursts;
        assert!((length - 1.0 / r).abs() < 4.0 * (1.0 - r).sqrt() / r / bursts.sqrt(), "length {length}");
    }

    #[test]
    fn loss_rates_of_good_and_bad_state_add_up() {
        let burst = Burst { good: 0.02, bad: 0.5, p: 0.05, r: 0.2 };
        let mut bursty = channel(|params| params.burst = Some(burst));
        let n = 200_000;
        let lost = fates(&mut bursty, n).iter().filter(|&&lost| lost).count() as f64 / n as f64;
        let mean = (0.2 * 0.02 + 0.05 * 0.5) / 0.25;
        assert!((lost / mean - 1.0).abs() < 0.04, "{lost} instead of {mean}");
    }

    #[test]
    fn links_start_in_the_steady_state() {
        let mut bursty = channel(|p| p.burst = Some(Burst { good: 0.0, bad: 1.0, p: 0.1, r: 0.1 }));
        let bad = (0..10_000).filter(|&n| bursty.damages_frame(Instant::ZERO, NodeId(n), B)).count();
        assert!(bad.abs_diff(5_000) < 200, "{bad} of 10000");
        let mut stuck = channel(|p| p.burst = Some(Burst { good: 0.0, bad: 1.0, p: 0.0, r: 0.0 }));
        assert!(!fates(&mut stuck, 100).contains(&true));
    }

    #[test]
    fn traffic_on_other_links_does_not_change_the_losses_of_a_link() {
        let world = || {
            channel(|p| {
                p.frame_loss = 0.3;
                p.burst = Some(Burst { good: 0.1, bad: 0.9, p: 0.1, r: 0.2 });
            })
        };
        let alone = fates(&mut world(), 500);
        let mut shared = world();
        let among_others: Vec<bool> = (0..500)
            .map(|_| {
                shared.damages_frame(Instant::ZERO, B, A);
                shared.loses_packet(A, B);
                shared.damages_frame(Instant::ZERO, A, B)
            })
            .collect();
        assert_eq!(alone, among_others);
    }
}
