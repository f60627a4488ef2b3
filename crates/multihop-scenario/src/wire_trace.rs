//! Traces of the rate of a wire, in the format of mahimahi.

use crate::document::shorten;

/// The instants at which a wire can deliver bytes, measured or drawn; the trace repeats.
///
/// Each opportunity delivers [`OPPORTUNITY`] bytes at its instant. Opportunities that no packet waits for are lost.
#[derive(Debug, Eq, PartialEq)]
pub struct WireTrace {
    /// Instants of the opportunities, ms, in order. The last one is the length of the trace, more than 0.
    millis: Vec<u32>,
}

/// Bytes that one opportunity delivers: a packet of the largest length.
pub const OPPORTUNITY: u32 = 1500;

impl WireTrace {
    /// Reads a trace: in each line the millisecond of one opportunity, in order.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut millis = Vec::new();
        let mut earlier = 0;
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let read = line.parse().ok().filter(|at| (earlier..=LATEST).contains(at));
            let allowed = || format!("{number}: found {:?}, allowed: {earlier} to {LATEST}", shorten(line));
            earlier = read.ok_or_else(allowed)?;
            if millis.len() == MAX_LINES {
                return Err(format!(
                    "{number}: found more than {MAX_LINES} lines, allowed: up to {MAX_LINES}"
                ));
            }
            millis.push(earlier);
        }
        if earlier == 0 {
            return Err("found no millisecond after 0, allowed: at least one".to_owned());
        }
        Ok(Self { millis })
    }

    /// Instant of the opportunity number `index` since the beginning of the run, ms.
    pub fn at(&self, index: u64) -> u64 {
        let length = self.millis.len() as u64;
        let place = usize::try_from(index % length).expect("less than the length");
        index / length * self.period() + u64::from(self.millis[place])
    }

    /// Number of the first opportunity at or after an instant, ms.
    pub fn first_from(&self, millis: u64) -> u64 {
        let (turn, rest) = (millis / self.period(), millis % self.period());
        if rest == 0 && turn > 0 {
            // The last opportunities of a turn coincide with the beginning of the next one.
            let last = self.millis.partition_point(|at| u64::from(*at) < self.period());
            return (turn - 1) * self.millis.len() as u64 + last as u64;
        }
        turn * self.millis.len() as u64 + self.millis.partition_point(|at| u64::from(*at) < rest) as u64
    }

    /// Length of the trace, ms.
    fn period(&self) -> u64 {
        u64::from(*self.millis.last().expect("a trace has an opportunity"))
    }
}

/// Largest number of lines of a trace: with 4 bytes each they take 4 MB.
const MAX_LINES: usize = 1_000_000;
/// Latest instant of a trace, ms.
const LATEST: u32 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opportunities_repeat_with_the_length_of_the_trace() {
        let trace = WireTrace::read("0\n2\n2\n5\n").unwrap();
        let first: Vec<u64> = (0..9).map(|index| trace.at(index)).collect();
        assert_eq!(first, [0, 2, 2, 5, 5, 7, 7, 10, 10]);
    }

    #[test]
    fn the_first_opportunity_from_an_instant_on_is_the_earliest_that_is_not_before_it() {
        for text in ["0\n2\n2\n5\n", "3\n3\n", "1\n1\n4\n", "7\n"] {
            let trace = WireTrace::read(text).unwrap();
            for millis in 0..40 {
                let expected = (0..).find(|index| trace.at(*index) >= millis);
                assert_eq!(Some(trace.first_from(millis)), expected, "{text:?} {millis}");
            }
        }
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, message) in [
            ("", "found no millisecond after 0"),
            ("0\n0\n", "found no millisecond after 0"),
            ("1\nfast\n", "2: found \"fast\", allowed: 1 to 1000000000"),
            ("5\n4\n", "2: found \"4\", allowed: 5 to 1000000000"),
            ("1\n\n-4\n", "3: found \"-4\""),
            ("1000000001\n", "1: found"),
        ] {
            let found = WireTrace::read(text).unwrap_err();
            assert!(found.starts_with(message), "{found}");
        }
    }
}
