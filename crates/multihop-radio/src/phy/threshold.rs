//! ns-2's receiver: fixed ranges, pairwise capture, one frame at a time.

use multihop_core::Instant;

use super::Verdict;

/// Receiver of one station under ns-2's model of fixed ranges.
#[derive(Clone, Debug, Default)]
pub struct ThresholdReceiver {
    current: Option<Current>,
    /// Instant at which this station's own transmission ends.
    transmitting_until: Instant,
}

/// The frame that occupies the receiver.
#[derive(Clone, Copy, Debug)]
struct Current {
    id: u64,
    power: f64,
    end: Instant,
    state: State,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Good,
    /// The frame is too weak to decode.
    Weak,
    /// The station was transmitting when the signal began, or began to transmit while receiving it.
    Missed,
    /// The frame is lost, because another frame was too strong.
    Collided,
    /// Another frame was too strong, but the station transmitted and would have missed the frame anyway.
    CollidedAndMissed,
}

impl State {
    /// The state after a collision.
    fn collided(self) -> Self {
        if matches!(self, Self::Missed | Self::CollidedAndMissed) {
            Self::CollidedAndMissed
        } else {
            Self::Collided
        }
    }
}

/// A frame that arrives at a station.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Number of the transmission.
    pub id: u64,
    /// Received power, in any linear unit.
    pub power: f64,
    /// Whether the transmitter is within decode range.
    pub decodable: bool,
    /// Instant at which the last bit of the signal arrives.
    pub end: Instant,
}

/// The effect of the start of a frame on a receiver.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    /// The signal occupies the idle receiver.
    Occupied,
    /// The signal is too weak to disturb the frame being received.
    TooWeakToDisturb,
    /// The signal and the frame being received are both lost.
    Collided,
}

impl ThresholdReceiver {
    /// Processes the first bit of a frame. `capture` is the power ratio from which the frame being received
    /// survives another signal.
    pub fn signal_starts(&mut self, now: Instant, arrival: &Arrival, capture: f64) -> Effect {
        if self.current.as_ref().is_some_and(|current| current.power >= capture * arrival.power) {
            return Effect::TooWeakToDisturb;
        }
        let state = match (now < self.transmitting_until, arrival.decodable) {
            (true, _) => State::Missed,
            (false, true) => State::Good,
            (false, false) => State::Weak,
        };
        let arriving = Current { id: arrival.id, power: arrival.power, end: arrival.end, state };
        let Some(current) = &mut self.current else {
            self.current = Some(arriving);
            return Effect::Occupied;
        };
        // A stronger second frame is not captured either, because ns-2 has no late capture. The frame that
        // ends later occupies the receiver.
        if arrival.end > current.end {
            *current = arriving;
        }
        current.state = current.state.collided();
        Effect::Collided
    }

    /// Processes the last bit of a frame.
    pub fn signal_ends(&mut self, now: Instant, id: u64) -> Verdict {
        let Some(current) = self.current.take_if(|c| c.id == id) else { return Verdict::Ignored };
        if now < self.transmitting_until {
            return Verdict::Deaf;
        }
        match current.state {
            State::Good => Verdict::Good,
            State::Weak => Verdict::Error,
            State::Missed => Verdict::Missed,
            State::Collided => Verdict::Collision,
            State::CollidedAndMissed => Verdict::MissedCollision,
        }
    }

    /// Starts this station's own transmission; a reception in progress is lost.
    pub fn transmit(&mut self, until: Instant) {
        self.transmitting_until = until;
        if let Some(current) = &mut self.current {
            current.state = match current.state {
                State::Good | State::Weak | State::Missed => State::Missed,
                State::Collided | State::CollidedAndMissed => State::CollidedAndMissed,
            };
        }
    }

    /// Whether a frame occupies the receiver.
    pub fn is_busy(&self) -> bool {
        self.current.is_some()
    }
}

#[cfg(test)]
mod tests {
    use multihop_core::Duration;

    use super::*;

    const CAPTURE: f64 = 10.0;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn arrival(id: u64, metres: f64, end: u64) -> Arrival {
        Arrival {
            id,
            power: 1.0 / (metres * metres * metres * metres),
            decodable: metres <= 250.0,
            end: at(end),
        }
    }

    #[test]
    fn a_lone_frame_is_received() {
        let mut r = ThresholdReceiver::default();
        assert_eq!(r.signal_starts(at(0), &arrival(1, 200.0, 100), CAPTURE), Effect::Occupied);
        assert!(r.is_busy());
        assert_eq!(r.signal_ends(at(100), 1), Verdict::Good);
        assert!(!r.is_busy());
    }

    #[test]
    fn a_frame_from_beyond_the_decode_range_occupies_the_receiver() {
        let mut r = ThresholdReceiver::default();
        r.signal_starts(at(0), &arrival(1, 400.0, 100), CAPTURE);
        assert!(r.is_busy());
        assert_eq!(r.signal_ends(at(100), 1), Verdict::Error);
    }

    #[test]
    fn the_first_frame_survives_an_interferer_beyond_1_778_times_its_distance() {
        let mut r = ThresholdReceiver::default();
        r.signal_starts(at(0), &arrival(1, 200.0, 100), CAPTURE);
        let far = arrival(2, 356.0, 150);
        assert_eq!(r.signal_starts(at(50), &far, CAPTURE), Effect::TooWeakToDisturb);
        assert_eq!(r.signal_ends(at(100), 1), Verdict::Good);
        assert_eq!(r.signal_ends(at(150), 2), Verdict::Ignored);
    }

    #[test]
    fn a_nearer_interferer_destroys_both_frames() {
        for metres in [355.0, 20.0] {
            let mut r = ThresholdReceiver::default();
            r.signal_starts(at(0), &arrival(1, 200.0, 100), CAPTURE);
            assert_eq!(r.signal_starts(at(50), &arrival(2, metres, 150), CAPTURE), Effect::Collided);
            assert_eq!(r.signal_ends(at(100), 1), Verdict::Ignored);
            assert!(r.is_busy(), "the later frame still occupies it");
            assert_eq!(r.signal_ends(at(150), 2), Verdict::Collision);
        }
    }

    #[test]
    fn the_longer_of_two_colliding_frames_occupies_the_receiver() {
        let mut r = ThresholdReceiver::default();
        r.signal_starts(at(0), &arrival(1, 200.0, 300), CAPTURE);
        r.signal_starts(at(50), &arrival(2, 200.0, 150), CAPTURE);
        assert_eq!(r.signal_ends(at(150), 2), Verdict::Ignored);
        assert_eq!(r.signal_ends(at(300), 1), Verdict::Collision);
    }

    #[test]
    fn a_transmitting_station_receives_nothing() {
        let mut r = ThresholdReceiver::default();
        r.transmit(at(100));
        r.signal_starts(at(50), &arrival(1, 200.0, 150), CAPTURE);
        assert_eq!(r.signal_ends(at(150), 1), Verdict::Missed, "the station transmitted when it began");
        r.signal_starts(at(200), &arrival(2, 200.0, 300), CAPTURE);
        r.transmit(at(250));
        assert_eq!(r.signal_ends(at(300), 2), Verdict::Missed, "the station transmitted meanwhile");
        r.signal_starts(at(400), &arrival(3, 200.0, 500), CAPTURE);
        r.transmit(at(600));
        assert_eq!(r.signal_ends(at(500), 3), Verdict::Deaf, "still sending");
    }

    #[test]
    fn a_transmitting_station_misses_frames_that_collide() {
        let mut r = ThresholdReceiver::default();
        r.transmit(at(100));
        r.signal_starts(at(1), &arrival(1, 200.0, 150), CAPTURE);
        r.signal_starts(at(2), &arrival(2, 200.0, 160), CAPTURE);
        assert_eq!(r.signal_ends(at(160), 2), Verdict::MissedCollision, "both began meanwhile");
        r.signal_starts(at(200), &arrival(3, 200.0, 300), CAPTURE);
        r.signal_starts(at(201), &arrival(4, 200.0, 300), CAPTURE);
        r.transmit(at(250));
        assert_eq!(r.signal_ends(at(300), 3), Verdict::MissedCollision, "the station gave up receiving");
        r.transmit(at(450));
        r.signal_starts(at(440), &arrival(5, 200.0, 500), CAPTURE);
        r.signal_starts(at(460), &arrival(6, 200.0, 600), CAPTURE);
        assert_eq!(r.signal_ends(at(600), 6), Verdict::Collision, "the later frame began afterwards");
    }
}
