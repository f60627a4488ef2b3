//! Segments that arrive in one frame of a radio that aggregates.

use multihop_core::{Duration, Instant};

/// The receiver's count of segments that arrive together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames {
    latest: Option<Instant>,
    /// Number of segments in the newest run.
    run: u32,
    /// Whether the run of segments followed a pause long enough to separate two frames of a radio.
    is_frame: bool,
    /// Number of segments in the longest run since the value was last reported.
    longest: u32,
}

impl Frames {
    pub(super) const fn new() -> Self {
        Self { latest: None, run: 0, is_frame: false, longest: 0 }
    }

    /// Counts a segment that arrives at `now`, as part of the run if it arrives at once after the last one.
    pub(super) fn add(&mut self, now: Instant) {
        let gap = self.latest.map_or(Duration::MAX, |latest| now.saturating_since(latest));
        self.latest = Some(now);
        if gap > AT_ONCE {
            (self.run, self.is_frame) = (0, gap >= BETWEEN_FRAMES);
        }
        self.run += 1;
        if self.is_frame {
            self.longest = self.longest.max(self.run);
        }
    }

    /// Segments beyond the first one in the longest run since the last call.
    pub(super) fn take_together(&mut self) -> u8 {
        let longest = core::mem::take(&mut self.longest);
        u8::try_from(longest.saturating_sub(1)).unwrap_or(u8::MAX)
    }
}

/// Longest time between two segments of one frame: a host hands them on one after the other.
const AT_ONCE: Duration = Duration::from_micros(50);
/// Shortest time between two frames of a radio: interframe space, preamble, block ACK and the data itself. Segments on a
/// fast wire follow each other without such pauses, and do not count.
const BETWEEN_FRAMES: Duration = Duration::from_micros(200);

#[cfg(test)]
mod tests {
    use super::*;

    fn together(arrivals: &[u64]) -> u8 {
        let mut frames = Frames::new();
        arrivals.iter().for_each(|&micros| frames.add(Instant::ZERO + Duration::from_micros(micros)));
        frames.take_together()
    }

    #[test]
    fn segments_of_one_frame_count_and_those_of_a_fast_wire_do_not() {
        assert_eq!(together(&[0, 1000, 2000]), 0, "each arrives alone");
        assert_eq!(together(&[0, 1000, 1005, 1010]), 2, "a frame of three");
        assert_eq!(together(&[0, 1000, 1000, 3000, 3000, 3000, 3000]), 3, "the longest of two frames");
        assert_eq!(
            together(&[0, 100, 110, 200, 210]),
            0,
            "pauses of 90 us are too short to be between frames"
        );
    }

    #[test]
    fn a_frame_that_an_ack_divides_is_reported_whole_by_the_next_one() {
        let mut frames = Frames::new();
        let at = Instant::ZERO + Duration::from_millis(1);
        (0..4).for_each(|_| frames.add(at));
        assert_eq!(frames.take_together(), 3);
        (0..4).for_each(|_| frames.add(at));
        assert_eq!(frames.take_together(), 7);
        assert_eq!(frames.take_together(), 0);
    }
}
