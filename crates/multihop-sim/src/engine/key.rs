//! Order of events: instant, then rank, then node, then slot.

use multihop_core::{Duration, Instant, NodeId};
use multihop_scenario::{MAX_HOSTS, MAX_NODES};

/// The order of simultaneous events. Two stations whose backoff ends in the same slot must both transmit and
/// collide, so timers precede the starts of signals. A frame that starts at the end of another frame does not
/// disturb it, so ends come first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Rank {
    SignalEnd = 0,
    Timer = 1,
    SignalStart = 2,
    Application = 3,
}

/// A key in the total order of events: instant, rank, node, time of flight (the longest first), slot. All are
/// packed into one number, because the queue mostly compares keys. From the most significant bit: 64 bits of
/// nanoseconds, 2 of rank, 20 of node, 12 of time of flight, 30 of slot.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Key(u128);

const SLOT_BITS: u32 = 30;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// Number of bits by which times of flight are distinguished: up to 4095 ns, which is 1.2 km.
const FLIGHT_BITS: u32 = 12;
const LONGEST_FLIGHT: u64 = (1 << FLIGHT_BITS) - 1;
const NODE_SHIFT: u32 = SLOT_BITS + FLIGHT_BITS;
const NODE_MASK: u32 = (1 << (62 - NODE_SHIFT)) - 1;
const _: () =
    assert!(MAX_NODES + MAX_HOSTS <= NODE_MASK as usize + 1, "a key has room for every node number");

impl Key {
    /// Key that sorts after the keys of all events.
    pub(crate) const NEVER: Self = Self(u128::MAX);

    /// Key that sorts before the keys of all events at an instant or later.
    pub(crate) fn earliest(at: Instant) -> Self {
        Self(u128::from(at.as_nanos()) << 64)
    }

    pub(crate) fn new(at: Instant, rank: Rank, node: NodeId, slot: u32) -> Self {
        debug_assert!(slot <= SLOT_MASK && node.0 <= NODE_MASK);
        let order = (rank as u64) << 62 | u64::from(node.0) << NODE_SHIFT | u64::from(slot);
        Self(u128::from(at.as_nanos()) << 64 | u128::from(order))
    }

    /// Key of a bit's arrival at a node. If two bits arrive at the same instant, the bit transmitted earlier
    /// is handled first.
    pub(crate) fn of_arrival(at: Instant, rank: Rank, node: NodeId, flight: Duration, slot: u32) -> Self {
        let remaining = LONGEST_FLIGHT - flight.as_nanos().min(LONGEST_FLIGHT);
        Self(Self::new(at, rank, node, slot).0 | u128::from(remaining << SLOT_BITS))
    }

    #[inline]
    pub(crate) fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the node is in the lowest bits after the shift")]
    pub(crate) fn node(self) -> NodeId {
        NodeId((self.0 >> NODE_SHIFT) as u32 & NODE_MASK)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the slot is in the lowest bits")]
    pub(crate) fn slot(self) -> u32 {
        self.0 as u32 & SLOT_MASK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_arrivals_at_one_instant_the_one_that_left_first_comes_first() {
        let arrival = |flight, slot| {
            let at = Instant::from_nanos(7);
            Key::of_arrival(at, Rank::SignalStart, NodeId(3), Duration::from_nanos(flight), slot)
        };
        assert!(arrival(1334, 9) < arrival(667, 8));
        assert!(arrival(667, 8) < arrival(667, 9));
        assert!(arrival(5000, 8) < arrival(6000, 9), "above 1.2 km the slot decides");
        assert!(arrival(6000, 8) < arrival(5000, 9), "above 1.2 km the slot decides");
        assert!(Key::new(Instant::from_nanos(7), Rank::SignalStart, NodeId(2), 0) < arrival(1334, 0));
        assert_eq!((arrival(1334, 9).node(), arrival(1334, 9).slot()), (NodeId(3), 9));
    }
}
