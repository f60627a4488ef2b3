//! Statistics of connections.

use std::time::Duration;

use multihop_transport::tpa::{Counters, Endpoint};

use crate::transport::TransportName;

/// The state and the statistics of a connection.
#[derive(Clone, Debug)]
pub struct Stats {
    /// What carries the data.
    pub transport: TransportName,
    /// The state of the connection, for example `established`.
    pub state: &'static str,
    /// The phase of the sender: `normal`, `congested` or `freeze`.
    pub phase: &'static str,
    /// Smoothed round-trip time; `None` before the first sample.
    pub rtt: Option<Duration>,
    /// The newest round-trip sample.
    pub latest_rtt: Option<Duration>,
    /// Retransmission timeout, backoff included.
    pub rto: Duration,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Segments that may be in flight: the smaller of congestion window and the peer's window.
    pub window: u8,
    /// Segments in flight.
    pub flight: u8,
    /// Payload of a full segment of the next block.
    pub mss: u32,
    /// Hops to the peer, from the TTL of received datagrams; `None` if not known.
    pub hops: Option<u8>,
    /// Gap between two data segments; `None` without pacing or before the first measurement.
    pub pacing_gap: Option<Duration>,
    /// Bytes queued and not acknowledged.
    pub unacked: u64,
    /// Received bytes that were not read.
    pub unread: u64,
    /// Datagrams sent for this connection.
    pub datagrams_sent: u64,
    /// Datagrams that arrived for this connection.
    pub datagrams_received: u64,
    /// Bytes of the datagrams sent.
    pub bytes_sent: u64,
    /// Bytes of the datagrams received.
    pub bytes_received: u64,
    /// Reports that a datagram of this connection was not delivered; `counters` has those about a segment in
    /// flight.
    pub notices: u64,
    /// How often the keys of what this end sends have been replaced.
    pub key_changes: u64,
    /// The counters of the protocol: notices, retransmissions, timeouts, freezes, ...
    pub counters: Counters,
}

/// Socket traffic of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) datagrams_sent: u64,
    pub(crate) datagrams_received: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) notices: u64,
}

impl Stats {
    /// The statistics of a TPA endpoint.
    pub(crate) fn of(endpoint: &Endpoint) -> Self {
        let rtt = endpoint.rtt();
        Self {
            transport: TransportName::TPA,
            state: endpoint.state().name(),
            phase: endpoint.phase().name(),
            rtt: rtt.srtt().map(Into::into),
            latest_rtt: rtt.latest().map(Into::into),
            rto: rtt.rto().into(),
            cwnd: endpoint.cwnd().into(),
            window: endpoint.window(),
            flight: endpoint.flight(),
            mss: endpoint.mss(),
            hops: None,
            pacing_gap: endpoint.pacer().and_then(|pacer| pacer.gap()).map(Into::into),
            unacked: endpoint.unacked(),
            unread: endpoint.unread(),
            datagrams_sent: 0,
            datagrams_received: 0,
            bytes_sent: 0,
            bytes_received: 0,
            notices: 0,
            key_changes: 0,
            counters: *endpoint.counters(),
        }
    }

    /// Adds the statistics of the hub.
    pub(crate) fn with(self, traffic: Traffic, hops: Option<u8>, key_changes: u64) -> Self {
        Self {
            key_changes,
            hops,
            datagrams_sent: traffic.datagrams_sent,
            datagrams_received: traffic.datagrams_received,
            bytes_sent: traffic.bytes_sent,
            bytes_received: traffic.bytes_received,
            notices: traffic.notices,
            ..self
        }
    }
}
