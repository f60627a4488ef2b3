//! Bitmaps with a bit for each MPDU of an aggregate or of a block ACK.

/// The largest number of MPDUs in an aggregate, and of sequence numbers in a block ACK.
pub const MAX_MPDUS: usize = 64 * WORDS;

const WORDS: usize = 4;

/// Set of up to 256 bits, one for each MPDU that a block ACK can report.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Bitmap(pub [u64; WORDS]);

impl Bitmap {
    /// Bitmap without set bits.
    pub const NONE: Self = Self([0; WORDS]);
    /// Bitmap with all bits set.
    pub const ALL: Self = Self([u64::MAX; WORDS]);

    /// Bitmap whose first `count` bits are set.
    #[must_use]
    pub fn first(count: usize) -> Self {
        let bits_of = |word: usize| {
            let bits = count.saturating_sub(64 * word).min(64);
            if bits == 64 { u64::MAX } else { (1 << bits) - 1 }
        };
        Self(core::array::from_fn(bits_of))
    }

    /// Whether a bit is set. Bits from [`MAX_MPDUS`] on are not.
    #[inline]
    #[must_use]
    pub fn contains(&self, bit: usize) -> bool {
        self.0.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// Sets a bit, or clears it.
    ///
    /// # Panics
    ///
    /// If the bit is not below [`MAX_MPDUS`].
    #[inline]
    pub fn set(&mut self, bit: usize, value: bool) {
        let word = &mut self.0[bit / 64];
        *word = *word & !(1 << (bit % 64)) | u64::from(value) << (bit % 64);
    }

    /// Whether no bit is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Number of set bits.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Intersection of both bitmaps.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(core::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    /// Shifts the bitmap: bit n of the result is bit n + `by`.
    #[must_use]
    pub(super) fn moved(self, by: usize) -> Self {
        let (words, bits) = (by / 64, by % 64);
        let word = |n: usize| self.0.get(n).copied().unwrap_or(0);
        let moved = |n: usize| {
            let above = if bits > 0 { word(n + words + 1) << (64 - bits) } else { 0 };
            word(n + words) >> bits | above
        };
        Self(core::array::from_fn(moved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bits: &[usize]) -> Bitmap {
        let mut bitmap = Bitmap::NONE;
        bits.iter().for_each(|&bit| bitmap.set(bit, true));
        bitmap
    }

    #[test]
    fn bits_of_all_words_are_set_and_counted() {
        let bitmap = of(&[0, 63, 64, 255]);
        let set = (0..300).filter(|&bit| bitmap.contains(bit)).collect::<Vec<_>>();
        assert_eq!((set, bitmap.count()), (vec![0, 63, 64, 255], 4));
        let mut other = bitmap;
        other.set(64, false);
        other.set(64, false);
        assert_eq!(other, of(&[0, 63, 255]));
        assert_eq!(bitmap.and(of(&[63, 65, 255])), of(&[63, 255]));
        assert!(bitmap.and(of(&[1])).is_empty() && !bitmap.is_empty());
    }

    #[test]
    fn the_first_bits_end_within_a_word_or_between_two() {
        for count in [0, 1, 63, 64, 65, 128, 255, 256, 300] {
            let first = Bitmap::first(count);
            assert!((0..MAX_MPDUS).all(|bit| first.contains(bit) == (bit < count)), "{count}");
        }
    }

    #[test]
    fn bits_move_across_words() {
        let bitmap = of(&[0, 70, 130, 255]);
        for by in [0, 1, 64, 65, 70, 128, 200, 255, 256, 4000] {
            let expected: Vec<_> =
                [0, 70, 130, 255].iter().filter(|&&bit| bit >= by).map(|&bit| bit - by).collect();
            assert_eq!(bitmap.moved(by), of(&expected), "{by}");
        }
    }
}
