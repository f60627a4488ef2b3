//! Statistics of a connection for programs and logs.

use alloc::collections::BTreeMap;
use core::time::Duration;

use multihop_transport::connection::{Connection, StreamCounters};
use multihop_transport::observe::Value;

use crate::transport::TransportName;

/// The state and the statistics of a connection.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Name of the transport that both ends use.
    pub transport: TransportName,
    /// State of the connection as text, for example `established`.
    pub state: &'static str,
    /// Phase of the sender as text: `normal`, `congested` or `freeze`.
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
    pub window: u32,
    /// Number of segments in flight.
    pub flight: u32,
    /// Payload of a full segment of the next block.
    pub mss: u32,
    /// Number of hops to the peer, from the TTL of received datagrams; `None` if unknown.
    pub hops: Option<u8>,
    /// Gap between two data segments; `None` without pacing or before the first measurement.
    pub pacing_gap: Option<Duration>,
    /// Bytes queued and not acknowledged.
    pub unacked: u64,
    /// Received bytes that were not read.
    pub unread: u64,
    /// Number of datagrams sent for this connection.
    pub datagrams_sent: u64,
    /// Number of datagrams that arrived for this connection.
    pub datagrams_received: u64,
    /// Bytes of the datagrams sent.
    pub bytes_sent: u64,
    /// Bytes of the datagrams received.
    pub bytes_received: u64,
    /// Number of reports that a datagram of this connection was not delivered; `counters` counts only reports
    /// about segments in flight.
    pub notices: u64,
    /// Number of times that the keys of outgoing datagrams were replaced.
    pub key_changes: u64,
    /// Counters of the protocol: notices, retransmissions, timeouts, freezes, ...
    pub counters: StreamCounters,
    /// The counters that the transport declares, by name.
    pub declared: DeclaredCounters,
}

/// The counters that a transport declares, by name.
pub type DeclaredCounters = BTreeMap<&'static str, u64>;

/// Socket traffic of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) datagrams_sent: u64,
    pub(crate) datagrams_received: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) notices: u64,
    /// Number of bytes that the application has written.
    pub(crate) bytes_written: u64,
    pub(crate) bytes_read: u64,
}

/// The part of a connection's statistics that the hub contributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HubStats {
    pub(crate) transport: TransportName,
    pub(crate) traffic: Traffic,
    pub(crate) hops: Option<u8>,
    pub(crate) key_changes: u64,
}

impl Stats {
    /// Statistics of a connection with the transport end `end`.
    pub(crate) fn of(end: &dyn Connection, hub: HubStats) -> Self {
        let summary = end.summary();
        let HubStats { transport, traffic, hops, key_changes } = hub;
        Self {
            transport,
            state: end.state().name(),
            phase: summary.phase,
            rtt: summary.smoothed_rtt.map(Into::into),
            latest_rtt: summary.latest_rtt.map(Into::into),
            rto: summary.rto.into(),
            cwnd: summary.cwnd,
            window: summary.window,
            flight: summary.flight,
            mss: summary.mss,
            hops,
            pacing_gap: summary.pacing_gap.map(Into::into),
            unacked: end.unacked(),
            unread: end.unread(),
            datagrams_sent: traffic.datagrams_sent,
            datagrams_received: traffic.datagrams_received,
            bytes_sent: traffic.bytes_sent,
            bytes_received: traffic.bytes_received,
            notices: traffic.notices,
            key_changes,
            counters: StreamCounters {
                bytes_acked: traffic.bytes_written.saturating_sub(end.unacked()),
                bytes_delivered: traffic.bytes_read.saturating_add(end.unread()),
                ..summary.counters
            },
            declared: declared(end),
        }
    }
}

fn declared(end: &dyn Connection) -> DeclaredCounters {
    let rows = (0..).map_while(|index| Some((end.quantity(index)?.name, end.value(index))));
    rows.filter_map(|(name, value)| match value {
        Some(Value::Count(count)) => Some((name, count)),
        _ => None,
    })
    .collect()
}
