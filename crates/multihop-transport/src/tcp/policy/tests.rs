//! What the tests of policies start from: segments of 1000 bytes, the RFCs.

use multihop_core::{Duration, Instant};

use super::newreno::NewReno;
use super::{Ack, AckKind, Window};
use crate::tcp::config::Config;

pub(super) fn newreno(window_max: u16) -> NewReno {
    let config = Config { window_max, ..Config::rfc() };
    NewReno::new(Window::new(&config, 1000, 1), config.newreno)
}

pub(super) fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

/// Outside of recovery. `round_trip` in ms.
pub(super) fn ack(acked: u32, flight: u32, round_trip: Option<u64>) -> Ack {
    let round_trip = round_trip.map(Duration::from_millis);
    Ack { acked, flight, kind: AckKind::Normal, round_trip, srtt: None }
}
