//! Sequence numbers, and the block ACK that reports a window of 64 or 256 of them (IEEE 802.11n-2009 §9.10.7, 802.11ax-2021
//! §9.3.1.8).

use super::bitmap::Bitmap;

/// Number of different sequence numbers, which have 12 bits (IEEE 802.11).
const NUMBERS: u16 = 1 << 12;

/// Report of the MPDUs that a station has received from a neighbour.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct BlockAck {
    /// First sequence number of the report.
    pub start: u16,
    /// Bitmap of received MPDUs: bit n is set if the MPDU with number `start` + n was received.
    pub received: Bitmap,
}

impl BlockAck {
    /// Whether the MPDU with this sequence number was received.
    pub fn contains(&self, sequence: u16) -> bool {
        self.received.contains(ahead(self.start, sequence).into())
    }

    /// Records the reception of an MPDU. A number beyond the window of `window` numbers moves the window's start
    /// forward.
    pub(super) fn note(&mut self, sequence: u16, window: u16) {
        if is_older(sequence, self.start) {
            return;
        }
        if ahead(self.start, sequence) >= window {
            self.move_to(back(sequence, window - 1));
        }
        self.received.set(ahead(self.start, sequence).into(), true);
    }

    /// Moves the window's start forward to `start`, and discards older numbers.
    pub(super) fn move_to(&mut self, start: u16) {
        self.received = self.received.moved(ahead(self.start, start).into());
        self.start = start;
    }
}

/// The sequence number after this one.
pub(super) fn after(sequence: u16) -> u16 {
    (sequence + 1) % NUMBERS
}

/// The sequence number `by` before this one.
pub(super) fn back(sequence: u16, by: u16) -> u16 {
    (sequence + NUMBERS - by) % NUMBERS
}

/// Distance from `start` forward to `sequence`, modulo 4096.
pub(super) fn ahead(start: u16, sequence: u16) -> u16 {
    back(sequence, start)
}

/// Whether a sequence number lies less than half of the number space before `than`.
pub(super) fn is_older(sequence: u16, than: u16) -> bool {
    ahead(than, sequence) >= NUMBERS / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_at_4096() {
        assert_eq!([after(4095), back(3, 5), ahead(4090, 4)], [0, 4094, 10]);
        assert!(is_older(4090, 4) && !is_older(4, 4090) && !is_older(7, 7));
    }

    #[test]
    fn a_report_covers_the_latest_numbers_of_its_window() {
        for window in [64, 256] {
            let mut report = BlockAck { start: 4090, ..BlockAck::default() };
            for sequence in [4090, 4092, 3] {
                report.note(sequence, window);
            }
            let last = (4090 + window - 1) % NUMBERS;
            report.note(last, window);
            assert_eq!(report.start, 4090);
            report.note(after(last), window);
            assert_eq!(report.start, 4091);
            let known = |sequence| report.contains(sequence);
            assert_eq!(
                [4090, 4092, 3, last, last + 1].map(known),
                [false, true, true, true, true],
                "{window}"
            );
            assert_eq!(report.received.count(), 4);
            report.note(1000, window);
            assert_eq!((report.start, report.received.count()), (1001 - window, 1));
            assert!(report.received.contains(usize::from(window) - 1));
            report.note(1000 - window, window);
            assert_eq!(report.received.count(), 1, "too old to be reported");
        }
    }
}
