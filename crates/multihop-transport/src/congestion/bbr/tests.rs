use multihop_core::Duration;

use crate::congestion::control::Sample;

/// An ACK of a segment after a round trip of 400 ms.
pub(super) fn sample() -> Sample {
    Sample {
        rate: Some(25_000),
        over: 10_000,
        limited: false,
        delivered: 10_000,
        prior_delivered: Some(0),
        newly: 1000,
        newly_lost: 0,
        last_lost: None,
        prior_in_flight: 10_000,
        in_flight: 9000,
        sent_in_flight: 10_000,
        round_trip: Some(Duration::from_millis(400)),
        recovers: false,
    }
}
