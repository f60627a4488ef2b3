//! Age of information: the age of the newest message at the receiver.

use multihop_core::Instant;

/// Duration for which the newest message had each age, since the first arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct Age {
    /// Sending time of the newest message, and the instant up to which its age has been counted.
    newest: Option<(Instant, Instant)>,
    /// Integral of the age over time, s².
    integral: f64,
    /// Time in s spent at each age; each entry's age is `STEP` times that of the previous entry.
    times: Vec<f64>,
}

impl Age {
    /// Records the arrival of a message sent at `sent`. A message older than the newest one changes nothing.
    pub(super) fn arrived(&mut self, now: Instant, sent: Instant) {
        if self.newest.is_some_and(|(newest, _)| newest >= sent) {
            return;
        }
        self.count(now);
        self.newest = Some((sent, now));
    }

    /// Counts the age up to now.
    fn count(&mut self, now: Instant) {
        let Some((sent, counted)) = &mut self.newest else { return };
        let (from, to) = ((*counted - *sent).as_secs_f64(), (now - *sent).as_secs_f64());
        *counted = now;
        self.integral += (to * to - from * from) / 2.0;
        let mut from = from;
        while from < to {
            let place = place(from);
            let next = bound(place + 1).min(to);
            self.times.resize(self.times.len().max(place + 1), 0.0);
            self.times[place] += next - from;
            from = next;
        }
    }

    /// Restarts the measurement, but keeps the newest message.
    pub(super) fn restart(&mut self, now: Instant) {
        let newest = self.newest.map(|(sent, _)| (sent, now));
        *self = Self { newest, ..Self::default() };
    }

    /// Mean and 99th percentile of the age up to now, ms; `None` before the first message.
    pub(super) fn summary_ms(&self, now: Instant) -> Option<[f64; 2]> {
        let mut age = self.clone();
        age.count(now);
        let total: f64 = age.times.iter().sum();
        if total <= 0.0 {
            return None;
        }
        let mut left = total * 0.99;
        let place = age.times.iter().position(|time| {
            left -= time;
            left <= 0.0
        });
        let p99 = bound(place.unwrap_or(age.times.len() - 1) + 1);
        Some([1e3 * age.integral / total, 1e3 * p99])
    }
}

/// Index in `times` of an age in seconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ages are below 2^64 ns")]
fn place(age: f64) -> usize {
    let mut place = (libm::log(age.max(YOUNGEST) / YOUNGEST) / libm::log(STEP)) as usize;
    // The logarithm may round to the wrong side of a bound.
    while place > 0 && bound(place) > age {
        place -= 1;
    }
    while bound(place + 1) <= age {
        place += 1;
    }
    place
}

/// Lower bound of a place, s.
fn bound(place: usize) -> f64 {
    YOUNGEST * libm::pow(STEP, place as f64)
}

/// Smallest distinguished age, s.
const YOUNGEST: f64 = 1e-4;
/// Ratio of the bounds of a place.
const STEP: f64 = 1.02;

#[cfg(test)]
mod tests {
    use multihop_core::Duration;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn the_age_grows_until_a_newer_message_arrives() {
        let mut age = Age::default();
        assert_eq!(age.summary_ms(at(5)), None);
        // Each message is 20 ms old on arrival, and the next one arrives 100 ms later: the age is between 20 and 120 ms.
        (0..100).for_each(|n| age.arrived(at(100 * n + 20), at(100 * n)));
        age.arrived(at(9930), at(5));
        let [mean, p99] = age.summary_ms(at(10_020)).expect("messages have arrived");
        assert!((mean - 70.0).abs() < 1e-6, "{mean}");
        assert!((118.0..=122.0).contains(&p99), "{p99}");
        age.restart(at(10_020));
        let [mean, _] = age.summary_ms(at(10_040)).expect("the newest message is known");
        assert!((mean - 130.0).abs() < 1e-6, "{mean}");
    }

    #[test]
    fn every_age_has_a_place() {
        for age in [0.0, 1e-4, 1.02e-4, 0.01, 0.5, 3600.0, 1e6] {
            let place = place(age);
            assert!(bound(place + 1) > age && (place == 0 || bound(place) <= age), "{age}");
        }
    }
}
