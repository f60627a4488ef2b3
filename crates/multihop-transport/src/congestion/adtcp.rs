use multihop_core::Instant;
use multihop_wire::tcp::NetworkState;

use super::control::CongestionControl;
use super::signals::{Ack, AckKind};
use super::start::Start;
use super::window::{Share, Window};

/// The congestion control of ADTCP: NewReno, except for losses that the peer attributes to something
/// other than congestion (Fu and others, sections 2.1 and 4). Without reports it is NewReno.
#[derive(Clone, Debug)]
pub(crate) struct Adtcp {
    window: Window,
    reported: Option<NetworkState>,
    /// Congestion window at the end of the current recovery; `None` if NewReno's rule determines it.
    held: Option<u32>,
}

impl Adtcp {
    pub(super) fn new(start: &Start) -> Self {
        Self { window: Window::new(start), reported: None, held: None }
    }

    pub(crate) fn on_report(&mut self, state: NetworkState) {
        self.reported = Some(state);
    }

    pub(crate) fn reported(&self) -> Option<NetworkState> {
        self.reported
    }

    /// The window after a third duplicate ACK; `None` for NewReno's window.
    fn window_after_loss(&mut self) -> Option<u32> {
        let state = self.reported?;
        let window = &mut self.window;
        if state.has(NetworkState::CONGESTION) {
            None
        } else if state.has(NetworkState::ROUTE_CHANGE) || state.has(NetworkState::DISCONNECTION) {
            // Section 2.1: a path that was lost for less than a timeout was a route change.
            window.resume();
            Some(window.cwnd())
        } else if state.has(NetworkState::CHANNEL_ERROR) {
            Some(window.cwnd())
        } else {
            None
        }
    }
}

impl CongestionControl for Adtcp {
    fn on_ack(&mut self, _now: Instant, ack: &Ack) {
        match (ack.kind, self.held) {
            (AckKind::Full, Some(cwnd)) => self.window.release(cwnd),
            _ => self.window.on_ack(ack),
        }
    }

    fn on_loss(&mut self, _now: Instant, flight: u32) {
        self.held = self.window_after_loss();
        match self.held {
            Some(cwnd) => self.window.hold(cwnd),
            None => self.window.reduce(flight, Share::HALF),
        }
    }

    fn on_path_restored(&mut self, _now: Instant) {
        self.held = Some(self.window.cwnd());
    }

    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }
}
