use multihop_core::Duration;

use crate::congestion::signals::RateSample;

/// An ACK of a segment whose round trip took 400 ms.
pub(super) fn sample() -> RateSample {
    RateSample {
        rate: Some(25_000),
        interval_delivered: 10_000,
        is_app_limited: false,
        delivered: 10_000,
        prior_delivered: Some(0),
        newly_delivered: 1000,
        newly_lost: 0,
        last_lost: None,
        prior_in_flight: 10_000,
        in_flight: 9000,
        sent_in_flight: 10_000,
        round_trip: Some(Duration::from_millis(400)),
        is_recovering: false,
    }
}
