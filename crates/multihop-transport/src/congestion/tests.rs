//! Initial values for tests of congestion controls: segments of 1000 bytes, and the values of the RFCs.

use multihop_core::{Duration, Instant};

use super::{Ack, AckKind, Start};
use crate::tcp::Config;

pub(super) fn start(window_max: u16) -> Start {
    Config { window_max, ..Config::rfc() }.start(1000, 1)
}

pub(super) fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

/// An ACK outside of recovery. `round_trip` is in ms.
pub(super) fn ack(acked: u32, flight: u32, round_trip: Option<u64>) -> Ack {
    let round_trip = round_trip.map(Duration::from_millis);
    Ack { acked, counted: acked, flight, kind: AckKind::Normal, round_trip, srtt: None }
}
