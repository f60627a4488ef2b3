//! Explicit link failure notification (Holland and Vaidya, "Analysis of TCP performance over mobile
//! ad hoc networks", section 6): a notice of a failed link puts the connection on stand-by.
//!
//! ELFN is not a congestion control and works with any of them.

use multihop_core::{Instant, LostSegment, SegmentId};
use multihop_wire::tcp::SeqNumber;

use super::TcpEnd;
use super::sequence::position;

impl TcpEnd {
    /// Puts the sender on stand-by after the loss of a segment at a failed link. Notices about other
    /// connections or acknowledged segments have no effect.
    pub(super) fn on_link_failed(&mut self, now: Instant, lost: LostSegment) {
        let Some(plan) = self.config.elfn else { return };
        if let Some(position) = self.outstanding(lost) {
            self.stand_by(now, plan, Some(position));
        }
    }

    /// Position of a lost segment, if this end sent it and it is not acknowledged.
    fn outstanding(&self, lost: LostSegment) -> Option<u64> {
        let SegmentId::Tcp(number) = lost.segment else { return None };
        if !self.ports.have_sent(lost) || !self.state.sends() {
            return None;
        }
        let at = position(self.send.iss, self.send.una, SeqNumber(number))?;
        (self.send.una..self.send.max).contains(&at).then_some(at)
    }
}
