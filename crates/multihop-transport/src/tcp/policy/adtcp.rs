use multihop_core::Instant;
use multihop_wire::tcp::NetworkState;

use super::newreno::NewReno;
use super::{Ack, AckKind, Policy, Standby, Window};

/// ADTCP's sender: NewReno, but for what a loss does if the peer says that it was no congestion
/// (Fu and others, sections 2.1 and 4). A peer that tells nothing leaves NewReno.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct Adtcp {
    newreno: NewReno,
    disconnected: Standby,
    told: Option<NetworkState>,
    /// The window at the end of the recovery under way, if that is not NewReno's.
    held: Option<u32>,
}

impl Adtcp {
    pub(super) fn new(newreno: NewReno, disconnected: Standby) -> Self {
        Self { newreno, disconnected, told: None, held: None }
    }

    /// The window with which to go on after a third duplicate ACK; `None` is NewReno's.
    fn window_after_loss(&self) -> Option<u32> {
        let told = self.told?;
        let window = self.newreno.base();
        if told.has(NetworkState::CONGESTION) {
            None
        } else if told.has(NetworkState::ROUTE_CHANGE) || told.has(NetworkState::DISCONNECTION) {
            // A path that was gone for less than a timeout is a route change (section 2.1).
            Some(window.ssthresh())
        } else if told.has(NetworkState::CHANNEL_ERROR) {
            Some(window.cwnd())
        } else {
            None
        }
    }
}

impl Policy for Adtcp {
    fn on_ack(&mut self, now: Instant, ack: &Ack) {
        match (ack.kind, self.held) {
            (AckKind::Full, Some(cwnd)) => self.base_mut().release(cwnd),
            _ => self.newreno.on_ack(now, ack),
        }
    }

    fn on_triple_dup_ack(&mut self, now: Instant, flight: u32) {
        self.held = self.window_after_loss();
        match self.held {
            Some(cwnd) => self.base_mut().hold(cwnd),
            None => self.newreno.on_triple_dup_ack(now, flight),
        }
    }

    fn stands_by(&self) -> Option<Standby> {
        // Section 3.1.2: a timeout without congestion is a disconnection.
        self.told.filter(|told| !told.has(NetworkState::CONGESTION)).map(|_| self.disconnected)
    }

    fn on_state(&mut self, state: NetworkState) {
        self.told = Some(state);
    }

    fn told(&self) -> Option<NetworkState> {
        self.told
    }

    fn base(&self) -> &Window {
        self.newreno.base()
    }

    fn base_mut(&mut self) -> &mut Window {
        self.newreno.base_mut()
    }

    fn outlasts_partial_acks(&self) -> bool {
        self.newreno.outlasts_partial_acks()
    }
}
