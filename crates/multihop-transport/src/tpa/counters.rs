/// The counters of an endpoint.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Segments of any kind sent.
    pub segments_sent: u64,
    /// Segments with data sent, retransmissions included.
    pub data_sent: u64,
    /// Retransmitted segments with data or FIN.
    pub retransmitted: u64,
    /// Segments sent with neither data nor FIN.
    pub acks_sent: u64,
    /// Number of ACKs that the interval timer caused.
    pub acks_held: u64,
    /// Number of expired timers of segments.
    pub timeouts: u64,
    /// Segments counted as lost by the numbers of later transmissions.
    pub lost_by_txseq: u64,
    /// Number of times that the congested state was entered.
    pub congested: u64,
    /// Number of times that the freeze state was entered.
    pub freezes: u64,
    /// Link-failure notices that concerned a segment in flight.
    pub notices: u64,
    /// Number of route changes detected by round-trip times.
    pub route_changes: u64,
    /// Number of probes sent.
    pub probes: u64,
    /// Bytes that the peer acknowledged.
    pub bytes_acked: u64,
    /// Number of ACKs of earlier blocks.
    pub late_acks: u64,
    /// Segments with data or FIN received.
    pub data_received: u64,
    /// Segments with new data received: each counts once, even if it was retransmitted.
    pub delivered: u64,
    /// Bytes received in order.
    pub bytes_delivered: u64,
    /// Segments with data that arrived while earlier data was missing.
    pub out_of_order: u64,
    /// Segments with data or FIN that had arrived before.
    pub duplicates: u64,
    /// Segments of blocks before the previous one.
    pub stale: u64,
    /// Segments dropped because they were invalid, or because the buffer was full.
    pub dropped: u64,
}
