//! Keys of a TPA.

use multihop_transport::tpa::{AckPolicy, Fill};

use crate::read::table;
use crate::transport::Profile;
use crate::values::{Gain, OrOff, Seconds, Timeout, Whole, words};

table! {
    /// Parameters of a TPA. What is not given comes from the profile.
    TpaTable {
        /// Whose constants hold where nothing else is said: those of the paper's experiments, or
        /// those for real networks.
        profile: Profile = "paper",
        /// Segments in flight while nothing is wrong.
        cwnd_max: Option<Whole<1, 12>>,
        /// What is acknowledged: every other segment (TPA), or every window of cwnd_max (TPA*).
        ack_policy: Option<AckPolicyWord>,
        /// Longest delay of an ACK, s; half of rto_min bounds it as well.
        ack_interval: Option<Timeout>,
        /// Whether the segment that completes a block is acknowledged at once.
        ack_block_end: Option<bool>,
        /// Segments in a block (K).
        block_size: Option<Whole<1, 12>>,
        /// When data fills a block: once there is enough for all of it, or segment by segment.
        fill: Option<FillWord>,
        /// How long data waits for more to fill a segment or a block, s; 0 does not wait.
        block_fill: Option<Seconds>,
        /// Payload of a full segment, bytes.
        mss: Option<Whole<16, 2200>>,
        /// Receive buffer besides the block under way, bytes; room for 64 segments if not given.
        recv_buffer: Option<Whole<1, 1_000_000_000>>,
        /// A segment is lost once so many later transmissions are acknowledged.
        loss_by_txseq: Option<OrOff<Whole<1, 127>>>,
        /// Whether news of failed links reaches the sender: then timeouts alone mean congestion.
        notices: Option<bool>,
        /// Whether news of lost and restored routes does: then a frozen sender is silent between.
        route_notices: Option<bool>,
        /// Timeouts in a row that mean congestion, with notices (th_CONG).
        th_cong: Option<Whole<1, 255>>,
        /// Timeouts in a row that mean a broken route, without notices (th_ROUTE).
        th_route: Option<Whole<1, 255>>,
        /// ACKs in a row that end congestion (th_ACK).
        th_ack: Option<Whole<1, 255>>,
        /// Round trips in a row, all late or all early, that mean another route (th_RC).
        th_rc: Option<Whole<1, 255>>,
        /// Round trips that weigh more after a change of route (n_RC).
        n_rc: Option<Whole<0, 255>>,
        /// Weight of a round trip in their mean.
        g: Option<Gain>,
        /// Weight of its distance from the mean in the deviation.
        h: Option<Gain>,
        /// What g is after a change of route.
        g1: Option<Gain>,
        /// What h is after a change of route.
        h1: Option<Gain>,
        /// Retransmission timeout before the first sample, s.
        rto_initial: Option<Timeout>,
        /// Shortest retransmission timeout, s.
        rto_min: Option<Timeout>,
        /// Longest retransmission timeout, s.
        rto_max: Option<Timeout>,
        /// Longest retransmission timeout while frozen, s.
        freeze_rto_max: Option<OrOff<Timeout>>,
        /// Whether the timeout covers the time that the peer may hold an ACK, which is in no sample.
        rto_covers_hold: Option<bool>,
        /// A frozen sender that waits for news of its route asks after this time all the same, s.
        silence_max: Option<Timeout>,
        /// Wait for the answer to the first SYN, s; it doubles with each try.
        syn_wait: Option<Timeout>,
        /// SYNs sent again before giving up.
        syn_retries: Option<OrOff<Whole<0, 255>>>,
        /// How long a closed connection answers what is late, s.
        linger: Option<Seconds>,
        /// Time after which a silent peer is asked whether it is there, s.
        keepalive: Option<OrOff<Timeout>>,
        /// Time without an answer after which the connection is given up, s.
        user_timeout: Option<OrOff<Timeout>>,
    }
}

words! {
    /// What a receiver acknowledges.
    AckPolicyWord(AckPolicy) {
        "every-2" => AckPolicy::EveryTwo,
        "every-cwnd" => AckPolicy::EveryWindow,
    }

    /// When data fills a block.
    FillWord(Fill) {
        "block" => Fill::Block,
        "segment" => Fill::Segment,
    }
}
