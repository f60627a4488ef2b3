use multihop_core::Instant;
use multihop_wire::tcp::NetworkState;

use super::control::{Ack, AckKind, Policy};
use super::newreno::NewReno;
use super::start::Start;
use super::window::Window;

/// The congestion control of ADTCP: NewReno, except for losses that the peer attributes to something
/// other than congestion (Fu and others, sections 2.1 and 4). Without reports it is NewReno.
#[derive(Clone, Debug)]
pub(crate) struct Adtcp {
    newreno: NewReno,
    reported: Option<NetworkState>,
    /// The window at the end of the current recovery, if it is not NewReno's.
    held: Option<u32>,
}

impl Adtcp {
    pub(super) fn new(start: &Start) -> Self {
        Self { newreno: NewReno::new(start), reported: None, held: None }
    }

    pub(crate) fn on_report(&mut self, state: NetworkState) {
        self.reported = Some(state);
    }

    pub(crate) fn reported(&self) -> Option<NetworkState> {
        self.reported
    }

    /// The window after a third duplicate ACK; `None` is NewReno's.
    fn window_after_loss(&mut self) -> Option<u32> {
        let state = self.reported?;
        let window = self.newreno.base_mut();
        if state.has(NetworkState::CONGESTION) {
            None
        } else if state.has(NetworkState::ROUTE_CHANGE) || state.has(NetworkState::DISCONNECTION) {
            // A path that was lost for less than a timeout is a route change (section 2.1).
            window.resume();
            Some(window.cwnd())
        } else if state.has(NetworkState::CHANNEL_ERROR) {
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

    fn on_path_back(&mut self) {
        self.base_mut().resume();
        self.held = Some(self.cwnd());
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
