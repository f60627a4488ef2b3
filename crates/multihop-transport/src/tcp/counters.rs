/// Event counters of an endpoint.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Segments of any kind sent.
    pub segments_sent: u64,
    /// Segments with data sent, retransmissions included.
    pub data_sent: u64,
    /// Retransmitted segments with data or FIN.
    pub retransmitted: u64,
    /// Number of segments sent without data.
    pub acks_sent: u64,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Number of times that the sender entered stand-by.
    pub standbys: u64,
    /// Number of probes sent on stand-by.
    pub probes: u64,
    /// Number of fast retransmits.
    pub fast_retransmits: u64,
    /// Number of reductions of the window that were undone.
    pub undone: u64,
    /// Bytes that the peer acknowledged.
    pub bytes_acked: u64,
    /// Number of duplicate ACKs received.
    pub dup_acks: u64,
    /// Number of segments received with data.
    pub data_received: u64,
    /// Segments with new data received: each counts once, even if it was retransmitted.
    pub delivered: u64,
    /// Bytes received in order.
    pub bytes_delivered: u64,
    /// Segments with data that arrived while earlier data was missing.
    pub out_of_order: u64,
    /// Segments with data none of which was new.
    pub duplicates: u64,
    /// Segments dropped because they were invalid.
    pub dropped: u64,
}
