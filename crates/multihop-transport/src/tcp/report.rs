//! ADTCP in an endpoint: measurements and reports of the receiver, and their effect on the sender.

use multihop_core::Instant;
use multihop_wire::tcp::{NetworkState, Segment, StateOption, Timestamps};

use super::TcpEnd;
use super::adtcp::{Levels, Packet, Values};
use super::outage::Standby;
use crate::congestion::Congestion;

impl TcpEnd {
    /// The state of the network that ADTCP's receiver infers; `None` unless this end measures.
    pub fn network_state(&self) -> Option<NetworkState> {
        self.levels().map(|levels| self.config.adtcp.identify.state(levels))
    }

    /// The ranks of the metrics of ADTCP's receiver.
    pub fn levels(&self) -> Option<&Levels> {
        self.meter.as_ref().map(|meter| meter.levels())
    }

    /// The newest samples of the metrics of ADTCP's receiver.
    pub fn metrics(&self) -> Option<&Values> {
        self.meter.as_ref().map(|meter| meter.values())
    }

    /// The network state in the peer's last report; `None` without reports or ADTCP.
    pub fn peer_state(&self) -> Option<NetworkState> {
        let Congestion::Adtcp(policy) = &self.congestion else { return None };
        policy.reported()
    }

    /// Parameters of stand-by if a retransmission timeout now means that the path is lost: by section 3.1.2,
    /// a timeout without congestion is a disconnection.
    pub(super) fn disconnection(&self) -> Option<Standby> {
        let state = self.peer_state()?;
        (!state.has(NetworkState::CONGESTION)).then_some(self.config.adtcp.disconnected)
    }

    /// Updates the measurements of ADTCP's receiver after data has been processed.
    pub(super) fn measure(&mut self, now: Instant, stamps: Option<Timestamps>, is_furthest: bool) {
        let arrived = self.timestamp(now);
        if let (Some(meter), Some(stamps)) = (&mut self.meter, stamps) {
            let (sent, echo) = (stamps.value, stamps.echo);
            let missing = self.recv.queue.missing(self.mss);
            meter.on_packet(now, Packet { arrived, sent, echo, is_furthest, missing });
        }
    }

    /// The option with the report to the peer, for a segment with `len` bytes of data.
    pub(super) fn state_option(&self, len: u32) -> Option<StateOption> {
        let state = self.network_state().filter(|_| self.counters.data_received > 0)?;
        // DEVIATION adtcp-3: Full data segments have no state. In ADTCP (4.1) every ACK has the state. The difference
        // has no effect if data flows one way.
        let fits = len + STATE_LEN <= self.mss;
        fits.then_some(StateOption { kind: self.config.adtcp.option_kind, state })
    }

    /// Takes the report in an ACK of everything before `acked`. A report that a newer segment has
    /// overtaken is ignored.
    pub(super) fn take_state(&mut self, segment: &Segment, acked: u64) {
        let is_newest = acked > self.send.una || (acked == self.send.una && !self.is_overtaken(segment));
        if let Some(option) = segment.options.state
            && option.kind == self.config.adtcp.option_kind
            && is_newest
            && let Congestion::Adtcp(policy) = &mut self.congestion
        {
            policy.on_report(option.state);
        }
    }
}

/// Length of the option in a segment, bytes: three, and one of padding.
const STATE_LEN: u32 = 4;
