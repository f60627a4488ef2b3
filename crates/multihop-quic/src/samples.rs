//! Delivery rates of a QUIC connection (draft-cheng-iccrg-delivery-rate-estimation), from what controllers of quinn
//! and noq are told: departures of datagrams, and departure and length of each acknowledged packet.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use multihop_transport::congestion::{LostFlight, RateSample};

/// Datagrams in flight, and the state from which rate samples are computed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    /// Departures, oldest first.
    sent: VecDeque<Departure>,
    /// Bytes delivered since the connection began, and the time of the last delivery.
    delivered: u64,
    delivered_at: Option<Instant>,
    /// Departure of the newest delivered datagram.
    first_sent: Option<Instant>,
    /// Bytes lost since the connection began.
    lost: u64,
    newly_lost: u64,
    last_lost: Option<LostFlight>,
    ack: Delivery,
}

/// The state of the connection when datagrams left.
#[derive(Clone, Copy, Debug)]
struct Departure {
    at: Instant,
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    lost: u64,
    /// Bytes in flight, these datagrams included.
    in_flight: u64,
}

/// Measurement of the delivery rate at the current ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Delivery {
    rate: Option<u64>,
    interval_delivered: u64,
    prior_delivered: Option<u64>,
    newly_delivered: u64,
    sent_in_flight: u64,
    is_app_limited: bool,
    flights: [u64; 2],
}

impl Samples {
    /// Records datagrams of `bytes` bytes that leave while `flight` bytes are outstanding.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u64, flight: u64) {
        if flight == 0 {
            (self.first_sent, self.delivered_at) = (Some(now), Some(now));
        }
        if let Some(last) = self.sent.back_mut().filter(|last| last.at == now) {
            last.in_flight += bytes;
            return;
        }
        if self.sent.len() == MAX_DEPARTURES {
            self.sent.pop_front();
        }
        self.sent.push_back(Departure {
            at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at.unwrap_or(now),
            first_sent: self.first_sent.unwrap_or(now),
            lost: self.lost,
            in_flight: flight + bytes,
        });
    }

    /// Records that `bytes` bytes were delivered, the newest of them sent at `newest`. `flights` are the bytes in flight
    /// before and after the ACK.
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        newest: Instant,
        bytes: u64,
        flights: [u64; 2],
        is_app_limited: bool,
        min_rtt: Option<Duration>,
    ) {
        self.delivered += bytes;
        self.delivered_at = Some(now);
        self.ack = Delivery { newly_delivered: bytes, is_app_limited, flights, ..Delivery::default() };
        let Some(departure) = self.departure(newest) else { return };
        self.ack.prior_delivered = Some(departure.delivered);
        self.ack.interval_delivered = self.delivered - departure.delivered;
        self.ack.sent_in_flight = departure.in_flight;
        self.first_sent = Some(newest);
        let sending = newest.saturating_duration_since(departure.first_sent);
        let interval = sending.max(now.saturating_duration_since(departure.delivered_at));
        // A shorter interval than a round trip is one in which ACKs were compressed.
        if interval > Duration::ZERO && min_rtt.is_none_or(|least| interval >= least) {
            let nanos = interval.as_nanos();
            let rate = u128::from(self.ack.interval_delivered) * 1_000_000_000 / nanos;
            self.ack.rate = Some(u64::try_from(rate).unwrap_or(u64::MAX));
        }
        // Older datagrams may still arrive within a few round trips; the bound on the list removes them.
    }

    /// Records the loss of `bytes` bytes, the newest of them sent at `newest`.
    pub(crate) fn on_lost(&mut self, newest: Instant, bytes: u64) {
        self.lost += bytes;
        self.newly_lost += bytes;
        self.last_lost = self
            .departure(newest)
            .map(|departure| LostFlight { in_flight: departure.in_flight, lost: self.lost - departure.lost });
    }

    /// The sample of the latest ACK, and of the losses since the sample before it.
    pub(crate) fn take(&mut self, round_trip: multihop_core::Duration, is_recovering: bool) -> RateSample {
        let ack = self.ack;
        RateSample {
            rate: ack.rate,
            interval_delivered: ack.interval_delivered,
            is_app_limited: ack.is_app_limited,
            delivered: self.delivered,
            prior_delivered: ack.prior_delivered,
            newly_delivered: ack.newly_delivered,
            newly_lost: std::mem::take(&mut self.newly_lost),
            last_lost: self.last_lost.take(),
            prior_in_flight: ack.flights[0],
            in_flight: ack.flights[1],
            sent_in_flight: ack.sent_in_flight,
            round_trip: Some(round_trip),
            is_recovering,
        }
    }

    fn departure(&self, at: Instant) -> Option<Departure> {
        let index = self.sent.binary_search_by_key(&at, |departure| departure.at).ok()?;
        Some(self.sent[index])
    }
}

/// Largest number of departures that are kept: more than are in flight on a path of 1 Gb/s and 100 ms.
const MAX_DEPARTURES: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_what_arrived_between_a_departure_and_its_ack() {
        let start = Instant::now();
        let ms = |n| start + Duration::from_millis(n);
        let mut samples = Samples::default();
        // Ten datagrams of 1000 bytes, 10 ms apart, each acknowledged 100 ms later: 100 kB/s.
        for n in 0..30 {
            let flight = 1000 * n.min(10);
            if n >= 10 {
                samples.on_ack(ms(10 * n), ms(10 * n - 100), 1000, [10_000, 9000], false, None);
            }
            samples.on_sent(ms(10 * n), 1000, flight.min(9000));
        }
        let sample = samples.take(multihop_core::Duration::from_millis(100), false);
        assert_eq!((sample.rate, sample.delivered, sample.newly_delivered), (Some(100_000), 20_000, 1000));
        assert_eq!(sample.sent_in_flight, 10_000);
    }

    #[test]
    fn losses_are_reported_once_with_the_flight_at_the_departure() {
        let start = Instant::now();
        let mut samples = Samples::default();
        samples.on_sent(start, 1000, 0);
        samples.on_sent(start, 1000, 1000);
        samples.on_lost(start, 1000);
        let mut losses = || {
            let sample = samples.take(multihop_core::Duration::ZERO, true);
            (sample.newly_lost, sample.last_lost)
        };
        assert_eq!(losses(), (1000, Some(LostFlight { in_flight: 2000, lost: 1000 })));
        assert_eq!(losses(), (0, None));
    }
}
