use std::time::Duration;

use multihop_transport::tpa::{Counters, Endpoint};

/// What a connection has seen and done, and where it is.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Where the connection is: `established`, say.
    pub state: &'static str,
    /// What the sender takes the network to be like: `normal`, `congested` or `freeze`.
    pub phase: &'static str,
    /// Smoothed round-trip time; `None` before the first sample.
    pub rtt: Option<Duration>,
    /// The newest sample of it.
    pub latest_rtt: Option<Duration>,
    /// Retransmission timeout, back-off included.
    pub rto: Duration,
    /// Congestion window in segments.
    pub cwnd: u8,
    /// What may be in flight: the least of congestion window and the peer's.
    pub window: u8,
    /// Segments in flight.
    pub flight: u8,
    /// Payload of a full segment of the next block.
    pub mss: u32,
    /// Links between here and the peer, by the TTL of what arrives; `None` if it is not known.
    pub hops: Option<u8>,
    /// Time that pacing puts between two data segments; `None` without pacing, or before it knows.
    pub pacing_gap: Option<Duration>,
    /// Bytes queued and not acknowledged.
    pub unacked: u64,
    /// Bytes that wait to be read.
    pub unread: u64,
    /// Datagrams sent for this connection.
    pub datagrams_sent: u64,
    /// Datagrams that arrived for this connection.
    pub datagrams_received: u64,
    /// Bytes in them.
    pub bytes_sent: u64,
    /// Bytes in those.
    pub bytes_received: u64,
    /// Notices that something sent for this connection did not get through; the protocol counts those that
    /// concern a segment in flight.
    pub notices: u64,
    /// Everything that the protocol counts: notices, retransmissions, time-outs, freezes, ...
    pub counters: Counters,
}

/// What goes over the socket for one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) datagrams_sent: u64,
    pub(crate) datagrams_received: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) notices: u64,
}

impl Stats {
    pub(crate) fn of(endpoint: &Endpoint, traffic: Traffic, hops: Option<u8>) -> Self {
        let rtt = endpoint.rtt();
        Self {
            state: endpoint.state().name(),
            phase: endpoint.phase().name(),
            rtt: rtt.srtt().map(Into::into),
            latest_rtt: rtt.latest().map(Into::into),
            rto: rtt.rto().into(),
            cwnd: endpoint.cwnd(),
            window: endpoint.window(),
            flight: endpoint.flight(),
            mss: endpoint.mss(),
            hops,
            pacing_gap: endpoint.pacer().and_then(|pacer| pacer.gap()).map(Into::into),
            unacked: endpoint.unacked(),
            unread: endpoint.unread(),
            datagrams_sent: traffic.datagrams_sent,
            datagrams_received: traffic.datagrams_received,
            bytes_sent: traffic.bytes_sent,
            bytes_received: traffic.bytes_received,
            notices: traffic.notices,
            counters: *endpoint.counters(),
        }
    }
}
