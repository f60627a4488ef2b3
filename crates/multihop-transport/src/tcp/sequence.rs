//! Positions in a stream, counted in 64 bits from its SYN, and the corresponding 32-bit numbers in segments.

use multihop_wire::tcp::SeqNumber;

/// The number of `position` in a stream whose SYN is `start`.
#[expect(clippy::cast_possible_truncation, reason = "sequence numbers wrap")]
pub(super) fn at(start: SeqNumber, position: u64) -> SeqNumber {
    start + position as u32
}

/// Position nearest to `near` whose sequence number is `number`; `None` if it lies before the SYN.
pub(super) fn position(start: SeqNumber, near: u64, number: SeqNumber) -> Option<u64> {
    let offset = number.since(at(start, near)).cast_signed();
    near.checked_add_signed(i64::from(offset))
}
