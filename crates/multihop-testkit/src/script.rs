//! Packet scripts for one machine.

use core::fmt::Debug;

use multihop_core::{Duration, Instant, Machine};

/// A packet script: inputs of one machine and the exact outputs that must follow.
///
/// An output without an `expect` fails the test.
///
/// ```ignore
/// let mut s = established(Config::rfc());
/// s.at_ms(0).app(|tcp| tcp.send(Data::Virtual(4 * 1000))).expect([data(1), data(2)]);
/// s.at_ms(90).gets([ack(3)]).expect([data(3), data(4)]);
/// ```
pub struct Script<M: Machine, T> {
    /// The machine under test.
    pub machine: M,
    now: Instant,
    give: fn(T) -> M::Input,
    /// The part of an output that the test compares.
    view: fn(M::Output) -> Option<T>,
    seen: Vec<T>,
}

impl<M: Machine, T: Debug + PartialEq> Script<M, T> {
    /// A script that starts at time 0.
    pub fn new(machine: M, give: fn(T) -> M::Input, view: fn(M::Output) -> Option<T>) -> Self {
        let mut script = Self { machine, now: Instant::ZERO, give, view, seen: Vec::new() };
        script.drain();
        script
    }

    /// Advances to `ms` milliseconds after the start and handles the timers due then. Fails on any earlier output.
    #[track_caller]
    pub fn at_ms(&mut self, ms: u64) -> &mut Self {
        self.none_left();
        let target = Instant::ZERO + Duration::from_millis(ms);
        assert!(target >= self.now, "{ms} ms lies before {}", self.now);
        while let Some(due) = self.machine.poll_timeout().filter(|&due| due <= target) {
            self.none_left();
            self.now = self.now.max(due);
            self.machine.handle_timeout(self.now);
            self.drain();
            let next = self.machine.poll_timeout();
            assert!(next.is_none_or(|next| next > self.now), "a timer is due again at {}", self.now);
        }
        if self.now < target {
            self.none_left();
        }
        self.now = target;
        self
    }

    /// Performs an application call on the machine, and returns its result.
    pub fn app<R>(&mut self, call: impl FnOnce(&mut M) -> R) -> &mut Self {
        call(&mut self.machine);
        self.drain();
        self
    }

    /// Passes packets to the machine, in this order.
    pub fn gets(&mut self, packets: impl IntoIterator<Item = T>) -> &mut Self {
        for packet in packets {
            self.machine.handle(self.now, (self.give)(packet));
            self.drain();
        }
        self
    }

    /// Compares the outputs since the last `expect`.
    #[track_caller]
    pub fn expect(&mut self, expected: impl IntoIterator<Item = T>) -> &mut Self {
        let expected: Vec<T> = expected.into_iter().collect();
        assert_eq!(self.seen, expected, "at {}: seen (left), expected (right)", self.now);
        self.seen.clear();
        self
    }

    /// Compares anything else about the machine.
    #[track_caller]
    pub fn check<R: Debug + PartialEq>(&mut self, look: impl FnOnce(&M) -> R, expected: R) -> &mut Self {
        assert_eq!(look(&self.machine), expected, "at {}", self.now);
        self
    }

    #[track_caller]
    fn none_left(&self) {
        assert!(self.seen.is_empty(), "unexpected at {}: {:?}", self.now, self.seen);
    }

    fn drain(&mut self) {
        while let Some(output) = self.machine.poll_output(self.now) {
            self.seen.extend((self.view)(output));
        }
    }
}

impl<M: Machine, T> Drop for Script<M, T> {
    fn drop(&mut self) {
        assert!(std::thread::panicking() || self.seen.is_empty(), "outputs were not expected at the end");
    }
}
