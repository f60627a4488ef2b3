//! Numbers on the wire, which wrap, and inside, which do not.

use multihop_core::Instant;

/// The number near `near` whose lower half is `wire`.
pub(super) fn widen(wire: u32, near: u64) -> Option<u64> {
    let distance = wire.wrapping_sub(low(near)).cast_signed();
    near.checked_add_signed(distance.into())
}

/// Lower 32 bits of a number, as transmitted in segments.
#[expect(clippy::cast_possible_truncation, reason = "numbers on the wire wrap")]
pub(super) const fn low(number: u64) -> u32 {
    number as u32
}

/// The time in microseconds, which wraps after 71 minutes.
pub(super) const fn micros(at: Instant) -> u32 {
    low(at.as_nanos() / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_widened_to_the_nearest() {
        let wrap = 1 << 32;
        assert_eq!(widen(5, 0), Some(5));
        assert_eq!(widen(u32::MAX, 0), None, "below the first number");
        assert_eq!(widen(2, wrap - 3), Some(wrap + 2));
        assert_eq!(widen(u32::MAX - 1, wrap + 4), Some(wrap - 2));
    }
}
