use core::fmt;

use crate::time::Duration;

/// A bit rate, in bits per second.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct BitRate(pub u64);

impl BitRate {
    /// Transmission time of `bytes`, rounded to the nearest nanosecond.
    pub const fn time_for(self, bytes: u32) -> Duration {
        Duration::from_nanos((bytes as u64 * 8_000_000_000 + self.0 / 2) / self.0)
    }

    /// Bits per second as a floating-point number: exact up to 9 Pb/s.
    #[expect(clippy::cast_precision_loss, reason = "no rate has more than 53 bits")]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mb/s", self.as_f64() / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_times_are_rounded() {
        assert_eq!(BitRate(2_000_000).time_for(1528), Duration::from_micros(6112));
        assert_eq!(BitRate(11_000_000).time_for(14), Duration::from_nanos(10_182));
    }
}
