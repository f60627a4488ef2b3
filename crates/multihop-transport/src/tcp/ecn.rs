//! ECN (RFC 3168): marks instead of losses. With L4S (RFC 9331), a small reaction to each mark.

use multihop_core::Instant;
use multihop_wire::tcp::{Ecn, Segment};

use super::{Output, TcpEnd};

/// State of explicit congestion notification (ECN) at one end of a connection, as sender and as receiver.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    /// Whether this end wants to use ECN; after the peer's SYN, whether both ends do.
    pub(super) on: bool,
    /// Whether this end's ACKs echo a congestion mark.
    pub(super) echo: bool,
    /// Whether the next new segment must set CWR, since the window was reduced after an echo.
    reduced: bool,
    /// Sequence number up to which echoed marks have no further effect, because the window was already
    /// reduced for them.
    answered: u64,
}

impl Marks {
    pub(super) fn new(on: bool) -> Self {
        Self { on, ..Self::default() }
    }
}

impl TcpEnd {
    /// Whether the congestion control counts marked segments (as in DCTCP) instead of reacting once per round trip.
    fn counts_marks(&self) -> bool {
        self.config.congestion.signals().marks
    }

    /// Sets the ECN fields of a new data segment. RFC 3168 §6.1.5: retransmissions must not be marked.
    pub(super) fn allow_marks(&mut self, segment: &mut Segment) {
        if self.marks.on {
            segment.ecn = if self.counts_marks() { Ecn::Ect1 } else { Ecn::Ect0 };
            segment.cwr = core::mem::take(&mut self.marks.reduced);
        }
    }

    /// Records the ECN mark of a data segment. Classic ECN: ACKs echo the mark until the peer has reduced its window
    /// (RFC 3168 §6.1.3). Scalable: each ACK echoes whether its segments were marked, and a change is reported at
    /// once (RFC 8257 §3.2).
    pub(super) fn note_mark(&mut self, now: Instant, segment: &Segment) {
        if !self.marks.on {
            return;
        }
        let marked = segment.ecn == Ecn::Ce;
        if self.counts_marks() {
            // DEVIATION prague-1: TCP Prague uses the ECN feedback of DCTCP (RFC 8257) in place of AccECN (RFC 9331,
            // 4.3). A lost ACK can hide marks.
            if marked != self.marks.echo && self.ack.is_pending() {
                let ack = self.bare_ack(now);
                self.out.push_back(Output::Segment(ack));
            }
            self.marks.echo = marked;
        } else {
            self.marks.echo = marked || (self.marks.echo && !segment.cwr);
        }
    }

    /// Processes the ECN echo in an ACK of all data before `acked`.
    pub(super) fn take_echo(&mut self, now: Instant, segment: &Segment, acked: u64) {
        if !self.marks.on || acked < self.send.una {
            return;
        }
        if self.counts_marks() {
            let newly = u32::try_from(acked - self.send.una).unwrap_or(u32::MAX);
            let flight = self.flight().saturating_sub(newly);
            self.congestion.control_mut().on_marks(now, newly, segment.ece, flight);
        } else if segment.ece
            && acked >= self.marks.answered
            && acked >= self.recovery.recover
            && !self.recovery.active
        {
            // RFC 3168 §6.1.2: the window is reduced at most once per window of data.
            self.marks.answered = self.send.max;
            self.marks.reduced = true;
            let flight = self.flight().min(self.congestion.control().window().total());
            self.undo = None;
            self.congestion.control_mut().on_congestion(now, flight);
        }
    }
}
