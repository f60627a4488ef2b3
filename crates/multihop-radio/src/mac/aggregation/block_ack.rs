//! Sequence numbers, and the block ACK that reports 64 of them (IEEE 802.11n-2009 §9.10.7).

/// How many numbers one block ACK reports, and the longest window.
pub(super) const WINDOW: u16 = 64;

/// Numbers have 12 bits.
const NUMBERS: u16 = 1 << 12;

/// What a station has received from another.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct BlockAck {
    /// The first number that it reports.
    pub start: u16,
    /// Bit n: whether `start` + n was received.
    pub received: u64,
}

impl BlockAck {
    /// Whether this MPDU was received.
    pub fn contains(&self, sequence: u16) -> bool {
        let place = ahead(self.start, sequence);
        place < WINDOW && self.received >> place & 1 == 1
    }

    /// Notes that an MPDU was received. A newer one than the report has room for moves its start.
    pub(super) fn note(&mut self, sequence: u16) {
        if is_older(sequence, self.start) {
            return;
        }
        if ahead(self.start, sequence) >= WINDOW {
            self.move_to(back(sequence, WINDOW - 1));
        }
        self.received |= 1 << ahead(self.start, sequence);
    }

    /// Forgets what is older than `start`.
    pub(super) fn move_to(&mut self, start: u16) {
        let by = ahead(self.start, start);
        self.received = self.received.checked_shr(u32::from(by)).unwrap_or(0);
        self.start = start;
    }
}

/// The number after this one.
pub(super) fn after(sequence: u16) -> u16 {
    (sequence + 1) % NUMBERS
}

/// The number `by` before this one.
pub(super) fn back(sequence: u16, by: u16) -> u16 {
    (sequence + NUMBERS - by) % NUMBERS
}

/// How far `sequence` is ahead of `start`.
pub(super) fn ahead(start: u16, sequence: u16) -> u16 {
    back(sequence, start)
}

/// Whether a number is nearer behind the other than ahead of it.
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
    fn a_report_covers_the_latest_64_numbers() {
        let mut report = BlockAck { start: 4090, received: 0 };
        for sequence in [4090, 4092, 3] {
            report.note(sequence);
        }
        assert_eq!(report, BlockAck { start: 4090, received: 0b101 | 1 << 9 });
        report.note(57); // the 64th from 4090 on
        assert_eq!(report.start, 4090);
        report.note(58);
        assert_eq!(report.start, 4091);
        let known = |sequence| report.contains(sequence);
        assert_eq!([4090, 4092, 3, 57, 58].map(known), [false, true, true, true, true]);
        report.note(1000);
        assert_eq!(report, BlockAck { start: 937, received: 1 << 63 });
        report.note(900);
        assert_eq!(report.received, 1 << 63, "too old to be reported");
    }
}
