//! Judges trains by their round trips. Trains pay where most of a round trip is their own time in the air. Where most of it
//! passes on a wire, trains are bursts that wait at the first radio, and segments that leave one by one fill the path better.

use multihop_core::Duration;

/// Decides whether segments in trains pay on a path, by the round trips of trains and of single segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Worth {
    /// Shortest round trip of a segment that left alone.
    single: Option<Duration>,
    /// Sum of the round trips of the newest trains, fewer than [`TRAINS`].
    sum: Duration,
    /// Shortest round trip in the sum.
    shortest: Duration,
    /// Number of trains in the sum.
    count: u32,
    /// Mean round trip of the last [`TRAINS`] trains that were counted.
    trains: Option<Duration>,
    /// Whether these round trips were alike, so that nothing else was on the path.
    are_alike: bool,
}

impl Worth {
    /// Whether trains pay, as far as is known.
    pub(super) fn is_given(&self) -> bool {
        self.is_longer(3, 2).unwrap_or(true)
    }

    /// Whether one train fills the path: almost all of its round trip is the airtime of the train itself.
    pub(super) fn is_whole_path(&self) -> bool {
        self.is_longer(4, 1).unwrap_or(false)
    }

    /// Time from the departure of a train to its arrival, and its round trip; `None` if other traffic was on the path, or
    /// if that is unknown.
    pub(super) fn alone(&self) -> Option<(Duration, Duration)> {
        let round_trip = self.trains.filter(|_| self.are_alike)?;
        Some((round_trip.saturating_sub(self.single? / 2), round_trip))
    }

    /// Whether the round trip of trains is at least `times` / `of` times that of single segments; `None` if either is unknown.
    fn is_longer(&self, times: u64, of: u64) -> Option<bool> {
        Some(self.trains? * of >= self.single? * times)
    }

    /// Takes the round trip of a segment that left alone.
    pub(super) fn on_single(&mut self, round_trip: Duration) {
        self.single = Some(self.single.map_or(round_trip, |lowest| lowest.min(round_trip)));
        (self.sum, self.count) = (Duration::ZERO, 0);
    }

    /// Takes the round trip of a train.
    pub(super) fn on_train(&mut self, round_trip: Duration) {
        self.shortest = if self.count == 0 { round_trip } else { self.shortest.min(round_trip) };
        self.sum += round_trip;
        self.count += 1;
        if self.count == TRAINS {
            let mean = self.sum / u64::from(TRAINS);
            self.are_alike = mean * ALIKE < self.shortest * (ALIKE + 1);
            self.trains = Some(mean);
            (self.sum, self.count) = (Duration::ZERO, 0);
        }
    }
}

/// Number of trains whose mean round trip decides.
const TRAINS: u32 = 16;
/// Round trips are alike if the mean exceeds the shortest one by less than the reciprocal of this number.
const ALIKE: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn after(single: Duration, trains: Duration) -> Worth {
        let mut worth = Worth::default();
        worth.on_single(single);
        (0..TRAINS).for_each(|_| worth.on_train(trains));
        worth
    }

    #[test]
    fn trains_pay_where_their_round_trip_is_one_and_a_half_times_that_of_a_segment() {
        let chain = after(ms(2), ms(20));
        assert!(chain.is_given() && chain.is_whole_path(), "four hops of 802.11n");
        let half = after(ms(80), ms(120));
        assert!(
            half.is_given() && !half.is_whole_path(),
            "another train is needed while the first one is on the wire"
        );
        assert!(!after(ms(80), ms(119)).is_given(), "a wire of 40 ms each way");
    }

    #[test]
    fn round_trips_of_different_lengths_show_other_traffic() {
        let mut worth = after(ms(4), ms(38));
        assert_eq!(worth.alone(), Some((ms(36), ms(38))));
        (1..TRAINS).for_each(|_| worth.on_train(ms(38)));
        worth.on_train(ms(150));
        assert_eq!(worth.alone(), None);
        (0..TRAINS).for_each(|_| worth.on_train(ms(76)));
        assert_eq!(worth.alone(), Some((ms(74), ms(76))), "the path is slower, and idle again");
    }

    #[test]
    fn fewer_trains_decide_nothing() {
        let mut worth = Worth::default();
        worth.on_single(ms(80));
        (1..TRAINS).for_each(|_| worth.on_train(ms(85)));
        assert!(worth.is_given());
        worth.on_train(ms(85));
        assert!(!worth.is_given());
    }

    /// The first segments may have waited for a route, or behind the traffic of others.
    #[test]
    fn a_shorter_round_trip_of_a_segment_makes_good_for_trains() {
        let mut worth = after(ms(10), ms(12));
        assert!(!worth.is_given());
        worth.on_single(ms(9));
        assert!(!worth.is_given());
        worth.on_single(ms(8));
        assert!(worth.is_given());
    }
}
