/// The counters of an end.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Segments with data sent, retransmissions included.
    pub sent: u64,
    /// Number of segments retransmitted.
    pub retransmitted: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Times that the sender froze.
    pub freezes: u64,
    /// Link-failure notices that concerned a segment in flight.
    pub notices: u64,
    /// Number of probes sent.
    pub probes: u64,
    /// Segments of channels that left without room in the window, or over a frozen path.
    pub trickles: u64,
    /// Number of ACKs sent.
    pub acks: u64,
    /// Segments with new data received.
    pub delivered: u64,
    /// Segments with data that arrived behind a gap.
    pub out_of_order: u64,
    /// Number of segments discarded: duplicates, and data without room in the buffer.
    pub unwanted: u64,
}
