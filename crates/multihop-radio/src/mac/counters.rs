//! Counters of a station's MAC: frames, failures, packets and airtime.

use multihop_core::Duration;

/// Counters since the start, or since the last reset of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Number of RTS frames sent.
    pub rts: u64,
    /// Number of CTS frames sent.
    pub cts: u64,
    /// Number of acknowledgements sent.
    pub ack: u64,
    /// Number of unicast data frames sent, retries included.
    pub data: u64,
    /// Number of broadcast frames sent.
    pub broadcast: u64,
    /// RTS frames without a CTS.
    pub rts_failures: u64,
    /// Number of MPDUs with data, and of block ACK requests, that were not acknowledged.
    pub data_failures: u64,
    /// Packets dropped at the retry limit.
    pub retry_drops: u64,
    /// Number of failures after which the packet was dropped instead of retried.
    pub last_failures: u64,
    /// Number of frames with several MPDUs sent. Each of these MPDUs also counts in [`Self::data`].
    pub aggregates: u64,
    /// Number of block ACKs sent.
    pub block_acks: u64,
    /// Requests for a block ACK sent.
    pub block_ack_requests: u64,
    /// Number of duplicate data frames received.
    pub duplicates: u64,
    /// Total airtime of all frames that the station sent.
    pub transmitting: Duration,
}

impl Counters {
    /// Number of retries: attempts that followed a failure.
    pub fn retries(&self) -> u64 {
        self.rts_failures + self.data_failures - self.last_failures
    }

    /// Adds another station's counts.
    pub fn add(&mut self, other: &Self) {
        self.rts += other.rts;
        self.cts += other.cts;
        self.ack += other.ack;
        self.data += other.data;
        self.broadcast += other.broadcast;
        self.rts_failures += other.rts_failures;
        self.data_failures += other.data_failures;
        self.retry_drops += other.retry_drops;
        self.last_failures += other.last_failures;
        self.aggregates += other.aggregates;
        self.block_acks += other.block_acks;
        self.block_ack_requests += other.block_ack_requests;
        self.duplicates += other.duplicates;
        self.transmitting += other.transmitting;
    }
}
