/// What an endpoint has seen and done.
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
    /// Of these, the ones that the interval timer made.
    pub acks_held: u64,
    /// Timers of segments that expired.
    pub timeouts: u64,
    /// Segments counted as lost by the numbers of later transmissions.
    pub lost_by_txseq: u64,
    /// Times that the congested state was entered.
    pub congested: u64,
    /// Times that the freeze state was entered.
    pub freezes: u64,
    /// Link-failure notices that concerned a segment in flight.
    pub notices: u64,
    /// Route changes detected by round-trip times.
    pub route_changes: u64,
    /// Segments sent that only ask for an answer.
    pub probes: u64,
    /// Bytes that the peer acknowledged.
    pub bytes_acked: u64,
    /// ACKs of blocks that were over.
    pub late_acks: u64,
    /// Segments with data or FIN received.
    pub data_received: u64,
    /// Segments with new data received: each counts once, however often it was sent.
    pub delivered: u64,
    /// Bytes received in order.
    pub bytes_delivered: u64,
    /// Segments with data that arrived while something before them was missing.
    pub out_of_order: u64,
    /// Segments with data or FIN that had arrived before.
    pub duplicates: u64,
    /// Segments of blocks long over.
    pub stale: u64,
    /// Segments dropped because they made no sense, or because there was no room.
    pub dropped: u64,
}
