//! Two machines joined by lossy links.

use multihop_core::{Instant, Machine, Rng, earliest};

use crate::{LinkConfig, LossyLink};

/// Two machines and the links between them, in virtual time.
pub struct Pair<M: Machine, P> {
    /// State machines of the two ends.
    pub ends: [M; 2],
    /// The outputs of each machine that are not packets; a test may take them.
    pub events: [Vec<M::Output>; 2],
    /// Links between the machines; `links[0]` leads from the first machine to the second.
    links: [LossyLink<P>; 2],
    port: Port<M, P>,
    now: Instant,
    rounds: u32,
}

/// Connects the inputs and outputs of a machine to packets.
pub struct Port<M: Machine, P> {
    /// The packet in an output; other outputs are returned unchanged.
    pub take: fn(M::Output) -> Result<P, M::Output>,
    /// A packet as input.
    pub give: fn(P) -> M::Input,
}

impl<M: Machine, P: Clone> Pair<M, P> {
    /// Joins two machines; `seed` decides the faults of the links.
    pub fn new(ends: [M; 2], port: Port<M, P>, link: LinkConfig, seed: u64) -> Self {
        let links = [0, 1].map(|index| LossyLink::new(link, Rng::stream(seed, "pair/link", index)));
        let mut pair =
            Self { ends, events: [Vec::new(), Vec::new()], links, port, now: Instant::ZERO, rounds: 0 };
        pair.drain();
        pair
    }

    /// Current virtual time of the pair.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Advances to the next event; false if there is none.
    pub fn step(&mut self) -> bool {
        let ends = earliest(self.ends[0].poll_timeout(), self.ends[1].poll_timeout());
        let links = earliest(self.links[0].poll_timeout(), self.links[1].poll_timeout());
        let Some(at) = earliest(ends, links) else { return false };
        self.rounds = if at > self.now { 0 } else { self.rounds + 1 };
        assert!(self.rounds < 10_000, "no progress in time at {}", self.now);
        self.now = self.now.max(at);
        for side in 0..2 {
            while let Some(packet) = self.links[side].poll_output(self.now) {
                self.ends[1 - side].handle(self.now, (self.port.give)(packet));
                self.drain();
            }
        }
        for side in 0..2 {
            if self.ends[side].poll_timeout().is_some_and(|due| due <= self.now) {
                self.ends[side].handle_timeout(self.now);
                self.drain();
                let next = self.ends[side].poll_timeout();
                assert!(next.is_none_or(|due| due > self.now), "a timer due at {:?} again", self.now);
            }
        }
        true
    }

    /// Calls an application method of one end.
    pub fn call<R>(&mut self, side: usize, action: impl FnOnce(&mut M) -> R) -> R {
        let result = action(&mut self.ends[side]);
        self.drain();
        result
    }

    /// Steps until `done`; false if there are no more events, or `limit` is reached first.
    pub fn drive(&mut self, limit: Instant, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        loop {
            if done(self) {
                return true;
            }
            if self.now > limit || !self.step() {
                return false;
            }
        }
    }

    fn drain(&mut self) {
        for side in 0..2 {
            while let Some(output) = self.ends[side].poll_output(self.now) {
                match (self.port.take)(output) {
                    Ok(packet) => self.links[side].handle(self.now, packet),
                    Err(event) => self.events[side].push(event),
                }
            }
        }
    }
}
