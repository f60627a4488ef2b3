use alloc::collections::VecDeque;

use multihop_core::{Duration, Instant};

/// The transmissions of the current block that an ACK can name: the last 128, half of the
/// eight-bit numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Transmissions {
    list: VecDeque<Transmission>,
    /// Number of the next transmission, counted over the whole connection.
    next: u64,
    /// Number of the first transmission of this block: its `TxSeq` is 0.
    base: u64,
}

/// One transmission of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    /// Position of the segment in its block.
    pub(super) position: u8,
    pub(super) sent: Instant,
    /// Time at which the transmission's timer expires.
    pub(super) due: Instant,
    /// Time for which the ACK of the transmission may wait.
    pub(super) hold: Duration,
    /// Whether the transmission was sent in the normal state.
    pub(super) calm: bool,
    /// Whether an ACK has named the transmission.
    pub(super) named: bool,
}

impl Transmissions {
    /// Number of the next transmission, counted over the whole connection.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Begins the next block, with an empty list.
    pub(super) fn start_block(&mut self) {
        self.list.clear();
        self.base = self.next;
    }

    /// Records a transmission; returns its number and its `TxSeq`.
    pub(super) fn push(&mut self, transmission: Transmission) -> (u64, u8) {
        if self.list.len() == KEPT {
            self.list.pop_front();
        }
        self.list.push_back(transmission);
        let number = self.next;
        self.next += 1;
        (number, self.tx_seq(number))
    }

    /// Newest transmission with this `TxSeq`, and its transmission number.
    pub(super) fn find(&mut self, tx_seq: u8) -> Option<(u64, &mut Transmission)> {
        let newest = self.next.checked_sub(1)?;
        let back = usize::from(self.tx_seq(newest).wrapping_sub(tx_seq));
        let index = self.list.len().checked_sub(back + 1)?;
        let number = newest - back as u64;
        Some((number, self.list.get_mut(index)?))
    }

    /// Whether transmission `number` was sent in the normal state.
    pub(super) fn was_calm(&self, number: u64) -> bool {
        let index =
            usize::try_from(self.next - number).ok().and_then(|back| self.list.len().checked_sub(back));
        index.and_then(|index| self.list.get(index)).is_some_and(|transmission| transmission.calm)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the number wraps")]
    fn tx_seq(&self, number: u64) -> u8 {
        number.wrapping_sub(self.base) as u8
    }
}

const KEPT: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn send(transmissions: &mut Transmissions, ms: u64) -> (u64, u8) {
        let sent = Instant::ZERO + Duration::from_millis(ms);
        transmissions.push(Transmission {
            position: 0,
            sent,
            due: sent,
            hold: Duration::ZERO,
            calm: ms.is_multiple_of(2),
            named: false,
        })
    }

    fn sent(transmissions: &mut Transmissions, tx_seq: u8) -> Option<(u64, u64)> {
        let (number, found) = transmissions.find(tx_seq)?;
        Some((number, found.sent.as_nanos() / 1_000_000))
    }

    #[test]
    fn a_number_names_the_newest_of_the_last_128_transmissions_that_have_it() {
        let mut all = Transmissions::default();
        assert_eq!(sent(&mut all, 0), None);
        for ms in 0..300 {
            assert_eq!(send(&mut all, ms), (ms, u8::try_from(ms % 256).unwrap()));
        }
        // Number 44 was used by two transmissions: 44 and 300 - 256.
        assert_eq!(sent(&mut all, 43), Some((299, 299)));
        assert_eq!(sent(&mut all, 255), Some((255, 255)));
        assert_eq!(sent(&mut all, 172), Some((172, 172)));
        assert_eq!(sent(&mut all, 171), None);
        assert_eq!(sent(&mut all, 44), None);
        assert!(all.was_calm(298) && !all.was_calm(299) && !all.was_calm(0));
    }

    #[test]
    fn numbers_begin_anew_with_each_block() {
        let mut all = Transmissions::default();
        send(&mut all, 1);
        send(&mut all, 2);
        all.start_block();
        assert_eq!(sent(&mut all, 0), None);
        assert_eq!(send(&mut all, 3), (2, 0));
        assert_eq!(sent(&mut all, 0), Some((2, 3)));
        assert_eq!(sent(&mut all, 1), None);
    }
}
