//! Every pattern of losses among the first segments of a connection, in virtual time.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant, earliest};
use multihop_transport::Output;
use multihop_transport::connection::{Event, State};

/// One-way delay of every segment.
const DELAY: Duration = Duration::from_millis(30);

/// An end of a connection, as [`LossyRun`] drives it.
pub(crate) trait LossyEnd {
    type Segment;

    fn poll_output(&mut self, now: Instant) -> Option<Output<Self::Segment>>;
    fn receive(&mut self, now: Instant, segment: Self::Segment);
    fn handle_timeout(&mut self, now: Instant);
    fn poll_timeout(&self) -> Option<Instant>;
    fn close(&mut self, now: Instant);
    fn state(&self) -> State;

    /// Reads the data that has arrived, for ends that keep it.
    fn read(&mut self) {}
}

/// Two ends, each of which closes once its peer has; some of the first segments are lost.
pub(crate) struct LossyRun<E: LossyEnd> {
    pub(crate) ends: [E; 2],
    pub(crate) now: Instant,
    /// Bytes that have arrived in order.
    pub(crate) delivered: u64,
    /// Whether a connection was reset or has timed out.
    pub(crate) failed: bool,
    /// Set of lost segments as bits, the first segment lowest.
    lost: u32,
    sent: u32,
    under_way: VecDeque<(Instant, usize, E::Segment)>,
}

impl<E: LossyEnd> LossyRun<E> {
    pub(crate) fn new(ends: [E; 2], lost: u32) -> Self {
        let (now, under_way) = (Instant::ZERO, VecDeque::new());
        Self { ends, now, delivered: 0, failed: false, lost, sent: 0, under_way }
    }

    /// Takes the outputs of both ends.
    pub(crate) fn drain(&mut self) {
        for side in 0..2 {
            while let Some(output) = self.ends[side].poll_output(self.now) {
                match output {
                    Output::Segment(segment) => self.transmit(side, segment),
                    Output::Event(Event::Delivered(bytes)) => {
                        self.delivered += bytes;
                        self.ends[side].read();
                    }
                    Output::Event(Event::PeerClosed) => self.ends[side].close(self.now),
                    Output::Event(event) => self.failed |= matches!(event, Event::Reset | Event::TimedOut),
                }
            }
        }
    }

    fn transmit(&mut self, side: usize, segment: E::Segment) {
        let is_lost = self.lost.checked_shr(self.sent).unwrap_or(0) & 1 == 1;
        self.sent += 1;
        if !is_lost {
            self.under_way.push_back((self.now + DELAY, 1 - side, segment));
        }
    }

    /// Runs until both ends linger; false if this does not happen within the limit.
    pub(crate) fn finish(&mut self, limit: Duration) -> bool {
        let limit = Instant::ZERO + limit;
        while self.ends.iter().any(|end| end.state() != State::Linger) {
            let ends = earliest(self.ends[0].poll_timeout(), self.ends[1].poll_timeout());
            let next = earliest(ends, self.under_way.front().map(|&(at, ..)| at));
            let Some(at) = next.filter(|&at| at < limit) else { return false };
            self.now = at;
            while let Some((_, side, segment)) = self.under_way.pop_front_if(|(at, ..)| *at == self.now) {
                self.ends[side].receive(self.now, segment);
                self.drain();
            }
            for side in 0..2 {
                self.ends[side].handle_timeout(self.now);
                self.drain();
                assert!(self.ends[side].poll_timeout().is_none_or(|due| due > self.now));
            }
        }
        true
    }
}
