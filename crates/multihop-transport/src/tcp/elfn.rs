//! Explicit link failure notification (Holland and Vaidya, "Analysis of TCP performance over mobile
//! ad hoc networks", section 6): a notice of a failed link puts the connection on stand-by.
//!
//! It is no congestion control: any policy may run beneath it.

use multihop_core::{Instant, Quoted};
use multihop_wire::tcp::{PROTOCOL, SeqNumber};

use super::Endpoint;
use super::handshake::position;

impl Endpoint {
    /// A packet met a broken link. Somebody else's, or one that is acknowledged by now, is no news.
    pub(super) fn on_link_failed(&mut self, now: Instant, quoted: &Quoted) {
        let Some(plan) = self.config.elfn else { return };
        if let Some(lost) = self.outstanding(quoted) {
            self.stand_by(now, plan, Some(lost));
        }
    }

    /// The position of a quoted segment, if it is ours and not acknowledged.
    fn outstanding(&self, quoted: &Quoted) -> Option<u64> {
        let ports = (quoted.from().port(), quoted.to().port());
        if quoted.protocol != PROTOCOL
            || ports != (self.ports.local, self.ports.remote)
            || !self.state.sends()
        {
            return None;
        }
        let [_, _, _, _, number @ .., _, _, _, _, _, _, _, _, _, _, _, _] = quoted.transport;
        let at = position(self.send.iss, self.send.una, SeqNumber(u32::from_be_bytes(number)))?;
        (self.send.una..self.send.max).contains(&at).then_some(at)
    }
}
