use core::ops::{BitAnd, BitOr, BitOrAssign, Sub, SubAssign};

use super::MAX_BLOCK;

/// A set of positions in a block.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Bitmap(u16);

impl Bitmap {
    /// A set without positions.
    pub const EMPTY: Self = Self(0);

    /// The set of one position; empty if the position is invalid.
    pub const fn one(position: u8) -> Self {
        if position < MAX_BLOCK { Self(1 << position) } else { Self::EMPTY }
    }

    /// The set of the first `n` positions.
    pub const fn first(n: u8) -> Self {
        if n < MAX_BLOCK { Self((1 << n) - 1) } else { Self(ALL) }
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The number of positions.
    #[expect(clippy::cast_possible_truncation, reason = "at most 12")]
    pub const fn len(self) -> u8 {
        self.0.count_ones() as u8
    }

    /// Whether the set contains `position`.
    pub const fn contains(self, position: u8) -> bool {
        !Self(self.0 & Self::one(position).0).is_empty()
    }

    /// Whether the set contains all positions of `other`.
    pub const fn covers(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// The positions, in order.
    pub fn positions(self) -> impl Iterator<Item = u8> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            let position = u8::try_from(left.trailing_zeros()).ok().filter(|&p| p < MAX_BLOCK)?;
            left &= left - 1;
            Some(position)
        })
    }

    /// Reads a field of 12 bits, the most significant of which is position 0.
    pub(super) const fn from_wire(bits: u16) -> Self {
        Self(bits.reverse_bits() >> 4)
    }

    pub(super) const fn to_wire(self) -> u16 {
        self.0.reverse_bits() >> 4
    }
}

impl BitOr for Bitmap {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Bitmap {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Bitmap {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Sub for Bitmap {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl SubAssign for Bitmap {
    fn sub_assign(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

const ALL: u16 = 0x0fff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_position_is_the_most_significant_bit() {
        assert_eq!(Bitmap::one(0).to_wire(), 0x800);
        assert_eq!(Bitmap::one(11).to_wire(), 0x001);
        assert_eq!(Bitmap::one(12), Bitmap::EMPTY);
        for bits in 0..=ALL {
            assert_eq!(Bitmap::from_wire(bits).to_wire(), bits);
        }
    }

    #[test]
    fn sets() {
        let set = Bitmap::one(3) | Bitmap::one(0) | Bitmap::one(11);
        assert!(set.positions().eq([0, 3, 11]));
        assert_eq!((set.len(), set.contains(3), set.contains(4)), (3, true, false));
        assert!(Bitmap::first(12).covers(set) && !Bitmap::first(11).covers(set));
        assert_eq!(set - Bitmap::first(4), Bitmap::one(11));
        assert_eq!(Bitmap::first(200).len(), 12);
    }
}
