//! Loss detection, and the choice of segments to retransmit.

use super::prr::Prr;
use super::scoreboard::Scoreboard;

/// State of loss recovery: which segments are lost, and which of them to retransmit.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    pub(super) board: Scoreboard,
    /// Number of duplicate ACKs in a row.
    pub(super) dup_acks: u32,
    /// Whether fast recovery is in progress.
    pub(super) active: bool,
    /// Whether the first unacknowledged segment must be retransmitted.
    pub(super) resend: bool,
    /// New segments sent since the last ACK.
    pub(super) burst: u16,
    /// Sequence number at which fast recovery ends (RFC 6582). The next recovery can begin only beyond it.
    pub(super) recover: u64,
    pub(super) partial_acks: u32,
    /// Whether this recovery has used its rescue retransmission (RFC 6675 §4, `RescueRxt`).
    pub(super) rescued: bool,
    /// Proportional reduction of the window; `None` if the window is reduced at once.
    pub(super) prr: Option<Prr>,
    /// First unacknowledged byte at the last expiry of the timer.
    pub(super) timeout_at: Option<u64>,
}

impl Recovery {
    /// Records an expiry of the retransmission timer. Returns whether the timer had already expired for the same
    /// data.
    pub(super) fn on_timeout(&mut self, una: u64, max: u64) -> bool {
        let again = self.timeout_at.replace(una) == Some(una);
        // RFC 6582 §3.2 step 4
        self.recover = max;
        self.leave();
        self.board.clear();
        again
    }

    /// Records a retransmission of the bytes `from..to` during fast recovery.
    pub(super) fn on_resent(&mut self, from: u64, to: u64) {
        self.rescued |= self.board.on_resent(from, to);
    }

    /// Starts recovery of everything sent up to `max`, as in fast recovery, because the path is restored.
    pub(super) fn resume(&mut self, max: u64) {
        self.leave();
        self.active = true;
        self.resend = true;
        self.recover = max;
    }

    pub(super) fn leave(&mut self) {
        self.active = false;
        self.resend = false;
        self.dup_acks = 0;
        self.partial_acks = 0;
        self.rescued = false;
        self.prr = None;
    }
}
