//! Trains: segments that leave together, so that radios that aggregate carry them from hop to hop in one frame.

use multihop_core::{Duration, Instant};

use super::several::{Alone, Several};
use super::worth::Worth;

/// Size of trains: segments that leave together, so that a radio can aggregate them in one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trains {
    /// Segments of a train; 1 on paths that do not aggregate.
    size: f64,
    /// Largest size so far on this path.
    largest: f64,
    /// Number of segments of the current train that have not left.
    left: u32,
    frames: Longest,
    probes: Probes,
    worth: Worth,
    several: Several,
    /// Whether the number of trains that have begun is odd.
    is_odd: bool,
}

/// The most segments that arrived in one frame, by the newest ACKs.
#[derive(Clone, Copy, Debug, Default)]
struct Longest {
    acks: u32,
    now: u32,
    before: u32,
}

impl Longest {
    fn add(&mut self, segments: u32) {
        if self.acks == PERIOD {
            (self.before, self.now, self.acks) = (self.now, 0, 0);
        }
        self.acks += 1;
        self.now = self.now.max(segments);
    }

    fn get(&self) -> u32 {
        self.now.max(self.before)
    }
}

/// Schedule of probes for aggregation: short trains on a path that seems not to aggregate, because single segments
/// cannot show that it does.
#[derive(Clone, Copy, Debug)]
struct Probes {
    is_due: bool,
    /// ACKs until the next probe.
    left: u32,
    /// ACKs between the newest probe and the next one.
    interval: u32,
}

impl Probes {
    const fn new() -> Self {
        Self { is_due: false, left: FIRST_PROBE, interval: FIRST_PROBE }
    }

    fn on_ack(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.interval = self.interval.saturating_mul(4);
            (self.is_due, self.left) = (true, self.interval);
        }
    }
}

impl Trains {
    pub(super) fn new() -> Self {
        Self {
            size: 1.0,
            largest: 1.0,
            left: 0,
            frames: Longest::default(),
            probes: Probes::new(),
            worth: Worth::default(),
            several: Several::new(0),
            is_odd: false,
        }
    }

    /// Number of segments in a train.
    pub(super) const fn size(&self) -> f64 {
        self.size
    }

    /// Whether the path aggregates, so that trains have several segments.
    pub(super) fn have_several(&self) -> bool {
        self.size >= 2.0
    }

    /// Whether a second train would only wait for the first one.
    pub(super) fn fill_the_path(&self) -> bool {
        self.worth.is_whole_path()
    }

    /// Time between the departures of two trains where several are under way; `None` if a train waits for the ACK of the
    /// last one.
    pub(super) fn spacing(&self) -> Option<Duration> {
        self.several.spacing().filter(|_| self.have_several())
    }

    /// Whether the newest train and the next one have one ACK. ACKs meet trains in the middle of the path.
    pub(super) fn shares_ack(&self) -> bool {
        self.is_odd && self.spacing().is_some()
    }

    /// Segments of the next train.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most MAX_SIZE")]
    pub(super) const fn next(&self) -> u32 {
        if self.probes.is_due { PROBE } else { self.size as u32 }
    }

    /// Whether a train is leaving.
    pub(super) const fn is_leaving(&self) -> bool {
        self.left > 0
    }

    /// Records that a segment leaves. Returns the size of a train that begins with the segment.
    pub(super) fn leave(&mut self) -> Option<u32> {
        let begins = (self.left == 0).then(|| self.next());
        self.is_odd ^= begins.is_some();
        self.probes.is_due = false;
        self.left = begins.unwrap_or(self.left) - 1;
        begins
    }

    /// Ends the train: nothing more can leave now.
    pub(super) const fn end(&mut self) {
        self.left = 0;
    }

    /// Records a round trip that an ACK for so many new segments ended. One for less than half of a train is of a
    /// repeated segment, or of the rest of a train.
    pub(super) fn on_round_trip(&mut self, now: Instant, round_trip: Duration, arrived: u64) {
        if !self.have_several() {
            self.several.restart();
            return self.worth.on_single(round_trip);
        }
        if arrived as f64 >= self.size / 2.0 {
            if self.spacing().is_none() {
                self.worth.on_train(round_trip);
            }
            self.several.on_ack(now, arrived, self.alone());
        }
        if !self.worth.is_given() {
            self.size = 1.0;
        }
    }

    /// One train at a time, if nothing else was on a path that the train fills.
    fn alone(&self) -> Option<Alone> {
        let (crossing, round_trip) = self.worth.alone().filter(|_| self.fill_the_path())?;
        Some(Alone { crossing, rate: self.size / round_trip.as_secs_f64() })
    }

    /// Forgets measurements, since the path to the peer has changed and now has so many hops.
    pub(super) fn on_new_path(&mut self, hops: u8) {
        self.worth = Worth::default();
        self.several = Several::new(hops);
        self.largest = 1.0;
    }

    /// Counts the segments beyond the first one that arrived in one frame, as an ACK reports.
    pub(super) fn on_ack(&mut self, together: u8) {
        if !self.worth.is_given() {
            return;
        }
        let frame = u32::from(together) + 1;
        self.frames.add(frame);
        let longest = self.frames.get();
        if longest < 2 && !self.have_several() {
            return self.probes.on_ack();
        }
        // A station that finds the medium idle transmits the first segment before it has the others.
        let (least, most) = if longest < 2 { (1.0, 1.0) } else { (MIN_SIZE, f64::from(longest + 1)) };
        let size = if most >= self.size { self.size + GROWTH } else { most.max(self.size - 1.0) };
        self.size = size.clamp(least, MAX_SIZE);
        if self.size > self.largest {
            self.largest = self.size;
            self.several.restart();
        }
    }
}

/// Smallest train on a path that aggregates, segments. Frames may be shorter than trains where stations contend; the
/// next station then finds several in its queue.
const MIN_SIZE: f64 = 12.0;
/// Largest train, segments: at 65 Mb/s its segments take 4.4 ms, and a frame of 802.11n at most 5.5.
const MAX_SIZE: f64 = 24.0;
/// Growth of a train with each ACK, segments, as long as frames are as long as trains.
const GROWTH: f64 = 0.5;
/// Number of ACKs in a period; the longest frame of the last one to two periods counts.
const PERIOD: u32 = 64;
/// Number of segments in a probe for aggregation. More than two, because the first one may be transmitted before the
/// radio has the others.
const PROBE: u32 = 3;
/// Number of ACKs until the first probe. Each further probe comes after four times as many.
const FIRST_PROBE: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trains_are_as_long_as_frames_within_bounds() {
        let mut trains = Trains::new();
        trains.on_ack(0);
        assert_eq!(trains.next(), 1, "each segment arrives alone");
        trains.on_ack(1);
        assert_eq!(trains.next(), 12, "frames of two show that the path aggregates");
        (0..100).for_each(|_| trains.on_ack(15));
        assert_eq!(trains.next(), 17, "one more than frames have");
        (0..100).for_each(|_| trains.on_ack(63));
        assert_eq!(trains.next(), 24);
        (0..200).for_each(|_| trains.on_ack(3));
        assert_eq!(trains.next(), 12);
        (0..200).for_each(|_| trains.on_ack(0));
        assert!(!trains.have_several(), "the path aggregates no longer");
    }

    #[test]
    fn segments_leave_alone_where_trains_take_hardly_longer() {
        let mut trains = Trains::new();
        let ms = Duration::from_millis;
        trains.on_round_trip(Instant::ZERO, ms(80), 1);
        trains.on_ack(3);
        assert_eq!(trains.next(), 12);
        for _ in 0..16 {
            trains.on_round_trip(Instant::ZERO, ms(300), 5);
            trains.on_round_trip(Instant::ZERO, ms(90), 12);
        }
        assert_eq!(trains.next(), 1, "ACKs for less than half of a train do not count");
        trains.on_ack(3);
        assert_eq!(trains.next(), 1);
        trains.on_new_path(1);
        trains.on_ack(3);
        assert_eq!(trains.next(), 12);
    }

    #[test]
    fn segments_of_a_train_are_counted_down() {
        let mut trains = Trains::new();
        trains.on_ack(5);
        assert_eq!(trains.leave(), Some(12));
        (1..12).for_each(|_| assert!(trains.is_leaving() && trains.leave().is_none()));
        assert!(!trains.is_leaving());
        trains.leave();
        trains.end();
        assert_eq!(trains.leave(), Some(12));
    }

    #[test]
    fn probes_become_rare() {
        let mut trains = Trains::new();
        let mut probes = Vec::new();
        for ack in 1..=400 {
            trains.on_ack(0);
            while trains.leave() != Some(1) {
                probes.push(ack);
                trains.end();
            }
        }
        assert_eq!(probes, [4, 20, 84, 340]);
    }
}
