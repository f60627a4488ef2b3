//! Forward error correction: how many later segments have a copy of each message with a deadline.

use multihop_core::Duration;

/// Measurements of a path by which the sender judges whether a retransmission arrives before a deadline.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Estimate {
    /// Shortest time in which a segment arrives: half of the shortest round trip.
    pub(in super::super) one_way: Duration,
    /// Smoothed round-trip time, without the time for which the peer held the ACK.
    pub(in super::super) round: Duration,
    /// Share of the segments that did not arrive at their first transmission.
    pub(in super::super) loss: f64,
}

impl Estimate {
    /// Number of copies of a message, so that at most [`MAX_MISSED`] of the messages miss their deadline.
    ///
    /// `interval` is the time between two messages of the channel: the loss of a segment is found by the ACK of a later one.
    pub(super) fn copies(&self, deadline: Duration, interval: Duration) -> u8 {
        let loss = self.loss.min(MAX_LOSS);
        let rest = deadline.saturating_sub(self.one_way);
        // From one departure to the next: a later segment, its ACK, and a quarter of a round trip for reordering.
        let again = interval + self.round + self.round / 4;
        let rounds = if again > Duration::ZERO { rest.whole(again).min(MAX_ROUNDS) } else { MAX_ROUNDS };
        // A retransmission helps if a later segment, its ACK and the retransmission arrive; both ways lose as much.
        let arrives = (1.0 - loss) * (1.0 - loss) * (1.0 - loss);
        let mut missed = (0..rounds).fold(loss, |missed, _| missed * (1.0 - arrives));
        let mut copies = 0;
        while missed > MAX_MISSED && copies < MAX_COPIES {
            missed *= loss;
            copies += 1;
        }
        copies
    }
}

/// Share of the messages that may miss their deadline because of losses.
const MAX_MISSED: f64 = 0.01;
/// Largest number of copies of a message.
pub(super) const MAX_COPIES: u8 = 8;
/// Largest share of lost segments with which the rule computes.
const MAX_LOSS: f64 = 0.95;
/// Retransmissions after which a message has practically arrived.
const MAX_ROUNDS: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn copies(loss: f64, round: u64, deadline: u64) -> u8 {
        let ms = Duration::from_millis;
        Estimate { one_way: ms(round) / 2, round: ms(round), loss }.copies(ms(deadline), ms(20))
    }

    #[test]
    fn copies_begin_where_a_retransmission_would_be_late() {
        assert_eq!([10, 50, 100, 150, 300].map(|round| copies(0.09, round, 200)), [0, 0, 1, 1, 1]);
        assert_eq!([10, 50, 100, 150, 300].map(|round| copies(0.3, round, 200)), [1, 3, 3, 3, 3]);
    }

    #[test]
    fn copies_are_off_without_losses_and_grow_with_them() {
        assert_eq!(
            [0.0, 0.01, 0.02, 0.09, 0.2, 0.4, 0.6, 1.0].map(|loss| copies(loss, 400, 200)),
            [0, 0, 1, 1, 2, 5, 8, 8]
        );
        assert_eq!(copies(0.3, 400, 86_400_000), 0, "there is time for retransmissions");
    }
}
