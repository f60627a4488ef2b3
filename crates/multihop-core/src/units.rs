use core::fmt;

use crate::time::Duration;

/// Bits per second.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct BitRate(pub u32);

impl BitRate {
    /// Transmission time of `bytes`, rounded to the nearest nanosecond.
    pub const fn time_for(self, bytes: u32) -> Duration {
        let rate = self.0 as u64;
        Duration::from_nanos((bytes as u64 * 8_000_000_000 + rate / 2) / rate)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mb/s", f64::from(self.0) / 1e6)
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
