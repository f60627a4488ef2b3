//! Record of data that the receiver has beyond the cumulative ACK (RFC 6675).

use alloc::vec::Vec;

/// Ranges reported by SACK above `una`, sorted and not adjacent.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    sacked: Vec<(u64, u64)>,
    /// Position below which all data has been retransmitted in this recovery, or needs no retransmission.
    resent: u64,
}

impl Scoreboard {
    /// Adds a reported range. Returns whether any part of the range is new.
    pub(super) fn add(&mut self, start: u64, end: u64) -> bool {
        let first = self.sacked.partition_point(|range| range.1 < start);
        let after = self.sacked.partition_point(|range| range.0 <= end);
        if first == after {
            self.sacked.insert(first, (start, end));
            return true;
        }
        let merged = (start.min(self.sacked[first].0), end.max(self.sacked[after - 1].1));
        let news = after - first > 1 || merged != self.sacked[first];
        self.sacked[first] = merged;
        self.sacked.drain(first + 1..after);
        news
    }

    /// Removes everything before `una`, to which the cumulative ACK moved.
    pub(super) fn advance(&mut self, una: u64) {
        let gone = self.sacked.partition_point(|range| range.1 <= una);
        self.sacked.drain(..gone);
        if let Some(first) = self.sacked.first_mut() {
            first.0 = first.0.max(una);
        }
    }

    /// Clears the scoreboard after a timeout, because the receiver may have discarded the reported data (RFC
    /// 2018 §8).
    pub(super) fn clear(&mut self) {
        self.sacked.clear();
        self.resent = 0;
    }

    pub(super) fn start_recovery(&mut self, una: u64) {
        self.resent = una;
    }

    /// Records a retransmission of the bytes `from..to`. Returns whether it was a rescue (RFC 6675 §4,
    /// `NextSeg` rule 4): a repetition, or a segment above all data that SACK has reported. A rescue does not
    /// count as progress (`HighRxt`).
    pub(super) fn on_resent(&mut self, from: u64, to: u64) -> bool {
        let is_rescue = from < self.resent || (from > self.resent && from >= self.highest());
        if !is_rescue {
            self.resent = self.resent.max(to);
        }
        is_rescue
    }

    /// The last bytes below `end` that SACK has not reported, from `una` on.
    pub(super) fn last_hole(&self, una: u64, end: u64) -> Option<(u64, u64)> {
        let above = self.highest().max(una);
        if above < end {
            return Some((above, end));
        }
        self.holes(una).last().map(|(from, to, _)| (from, to))
    }

    /// Whether the data at `position` counts as lost (RFC 6675 §4, `IsLost`).
    pub(super) fn is_lost(&self, position: u64, mss: u32) -> bool {
        let above = self.sacked.partition_point(|range| range.1 <= position);
        self.is_lost_below(above, mss)
    }

    /// Bytes in the network, among those sent from `una` to `next` (RFC 6675 §4, `SetPipe`).
    pub(super) fn pipe(&self, una: u64, next: u64, mss: u32) -> u64 {
        let mut pipe = next.saturating_sub(self.highest().max(una));
        for (from, to, above) in self.holes(una) {
            if !self.is_lost_below(above, mss) {
                pipe += to - from;
            }
            pipe += to.min(self.resent).saturating_sub(from);
        }
        pipe
    }

    /// The first hole not retransmitted yet, if it counts as lost (RFC 6675 §4, `NextSeg` rule 1).
    pub(super) fn next_lost(&self, una: u64, mss: u32) -> Option<(u64, u64)> {
        let (from, to, _) =
            self.holes(una).find(|&(_, to, above)| to > self.resent && self.is_lost_below(above, mss))?;
        Some((from.max(self.resent), to))
    }

    /// The first hole not retransmitted yet (RFC 6675 §4, `NextSeg` rule 3).
    pub(super) fn next_hole(&self, una: u64) -> Option<(u64, u64)> {
        let (from, to, _) = self.holes(una).find(|&(_, to, _)| to > self.resent)?;
        Some((from.max(self.resent), to))
    }

    /// Returns `position`, or the end of the received range in which it lies.
    pub(super) fn skip(&self, position: u64) -> u64 {
        match self.sacked.iter().find(|range| range.1 > position) {
            Some(&(start, end)) if start <= position => end,
            _ => position,
        }
    }

    /// The start of the first range after `position`.
    pub(super) fn next_start(&self, position: u64) -> Option<u64> {
        self.sacked.iter().map(|range| range.0).find(|&start| start > position)
    }

    fn highest(&self) -> u64 {
        self.sacked.last().map_or(0, |range| range.1)
    }

    /// Missing ranges from `una` on, each with the index of the first received range above it.
    fn holes(&self, una: u64) -> impl Iterator<Item = (u64, u64, usize)> {
        let starts = core::iter::once(una).chain(self.sacked.iter().map(|range| range.1));
        starts
            .zip(&self.sacked)
            .enumerate()
            .map(|(above, (from, range))| (from, range.0, above))
            .filter(|(from, to, _)| from < to)
    }

    /// Whether the received ranges from index `above` on prove that the data below them is lost.
    fn is_lost_below(&self, above: usize, mss: u32) -> bool {
        let ranges = &self.sacked[above..];
        let bytes: u64 = ranges.iter().map(|range| range.1 - range.0).sum();
        ranges.len() >= DUP_THRESHOLD || bytes > (DUP_THRESHOLD as u64 - 1) * u64::from(mss)
    }
}

/// Number of reported segments after a hole that prove its loss (RFC 6675 §2).
const DUP_THRESHOLD: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn board(ranges: &[(u64, u64)]) -> Scoreboard {
        let mut board = Scoreboard::default();
        for &(start, end) in ranges {
            board.add(start, end);
        }
        board
    }

    #[test]
    fn ranges_merge_and_only_new_data_counts() {
        let mut board = board(&[(30, 40), (10, 20)]);
        assert!(!board.add(12, 18) && !board.add(30, 40));
        assert!(board.add(20, 30));
        assert_eq!(board.sacked, [(10, 40)]);
        board.advance(25);
        assert_eq!(board.sacked, [(25, 40)]);
        assert_eq!((board.skip(30), board.skip(40), board.next_start(3)), (40, 40, Some(25)));
    }

    #[test]
    fn lost_with_more_than_two_segments_or_three_ranges_above() {
        assert!(!board(&[(20, 40)]).is_lost(10, 10));
        assert!(board(&[(20, 41)]).is_lost(10, 10));
        assert!(board(&[(20, 21), (30, 31), (40, 41)]).is_lost(10, 10));
        assert!(!board(&[(20, 21), (30, 31), (40, 41)]).is_lost(25, 10));
    }

    #[test]
    fn pipe_by_hand() {
        // Positions 10 to 100 were sent in tens; 20..30 and 40..70 arrived. 10..20 and 30..40 are lost, 70..
        // is not.
        let mut board = board(&[(20, 30), (40, 70)]);
        board.start_recovery(10);
        assert_eq!(board.pipe(10, 100, 10), 30);
        assert_eq!(board.next_lost(10, 10), Some((10, 20)));
        board.on_resent(10, 20);
        assert_eq!(board.pipe(10, 100, 10), 40);
        assert_eq!(board.next_lost(10, 10), Some((30, 40)));
        board.on_resent(30, 40);
        assert_eq!((board.pipe(10, 100, 10), board.next_lost(10, 10)), (50, None));
    }

    #[test]
    fn a_rescue_leaves_the_holes_below_it_to_be_retransmitted() {
        let mut board = board(&[(20, 50)]);
        board.start_recovery(10);
        assert!(!board.on_resent(10, 20));
        assert_eq!(board.last_hole(10, 100), Some((50, 100)));
        assert!(board.on_resent(90, 100));
        board.add(60, 90);
        assert_eq!(board.next_lost(10, 10), Some((50, 60)));
        assert!(!board.on_resent(50, 60));
        // All data is either reported or retransmitted, so that another retransmission is a rescue, too.
        board.add(90, 100);
        assert_eq!(board.last_hole(10, 100), Some((50, 60)));
        assert!(board.on_resent(50, 60));
    }
}
