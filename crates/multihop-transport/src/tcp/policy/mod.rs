//! What TCP variants may change: how much may be in flight.

use multihop_core::{Duration, Instant, Notice};

use multihop_wire::tcp::NetworkState;

use super::config::{Config, Variant};
use super::standby::Standby;

mod adtcp;
mod cubic;
mod newreno;
mod reno;
mod vegas;
mod westwood;
mod window;

use adtcp::Adtcp;
use cubic::Cubic;
use newreno::NewReno;
use reno::Reno;
use vegas::Vegas;
use westwood::Westwood;
use window::Window;

/// Congestion control of one connection. Everything else belongs to the endpoint.
pub(super) trait Policy {
    /// New data was acknowledged.
    fn on_ack(&mut self, now: Instant, ack: &Ack);

    /// The arithmetic of windows, on which a variant builds.
    fn base(&self) -> &Window;

    /// See [`base`](Self::base).
    fn base_mut(&mut self) -> &mut Window;

    /// One more duplicate ACK arrived during fast recovery without SACK.
    fn on_dup_ack(&mut self) {
        self.base_mut().inflate();
    }

    /// Fast retransmit: the third duplicate ACK arrived with `flight` bytes outstanding.
    fn on_triple_dup_ack(&mut self, _now: Instant, flight: u32) {
        self.base_mut().halve(flight);
    }

    /// The retransmission timer expired with `flight` bytes outstanding; `again` if it did so
    /// before for the same segment.
    fn on_rto(&mut self, _now: Instant, flight: u32, again: bool) {
        self.base_mut().collapse(flight, again);
    }

    /// Whether a retransmission timeout at this moment means that the path is gone: then the
    /// connection goes on stand-by, and [`on_rto`](Self::on_rto) is not called.
    fn stands_by(&self) -> Option<Standby> {
        None
    }

    /// Nothing has been sent for one retransmission timeout.
    fn on_idle(&mut self) {
        self.base_mut().restart();
    }

    /// The peer tells what it makes of the network (ADTCP).
    fn on_state(&mut self, _state: NetworkState) {}

    /// What it told last.
    fn told(&self) -> Option<NetworkState> {
        None
    }

    /// News from the layers below.
    fn on_notice(&mut self, _now: Instant, _notice: &Notice) {}

    /// Bytes that may be in flight, without what duplicate ACKs have added.
    fn cwnd(&self) -> u32 {
        self.base().cwnd()
    }

    /// Bytes that may be in flight.
    fn window(&self) -> u32 {
        self.base().total()
    }

    /// Where slow start ends, in bytes.
    fn ssthresh(&self) -> u32 {
        self.base().ssthresh()
    }

    /// Whether fast recovery goes on until everything sent before it is acknowledged.
    fn outlasts_partial_acks(&self) -> bool;
}

/// An ACK of new data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    /// Bytes newly acknowledged.
    pub(super) acked: u32,
    /// Bytes still outstanding.
    pub(super) flight: u32,
    pub(super) kind: AckKind,
    /// The round trip that it ends, if that was being timed: one segment for each round trip, or
    /// every ACK with timestamps.
    pub(super) round_trip: Option<Duration>,
    /// The smoothed round trip.
    pub(super) srtt: Option<Duration>,
}

/// What an ACK of new data means to fast recovery.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum AckKind {
    /// There is no recovery.
    Normal,
    /// More of what was outstanding at the loss is missing.
    Partial,
    /// Recovery is over.
    Full,
}

/// The policy in use.
#[derive(Debug)]
pub(super) enum Congestion {
    Reno(Reno),
    NewReno(NewReno),
    Adtcp(Adtcp),
    Cubic(Cubic),
    Vegas(Vegas),
    Westwood(Westwood),
    #[cfg(test)]
    Fake(fake::Fake),
}

impl Congestion {
    /// The variant that `config` asks for; `mss` is what a segment carries once options are known.
    pub(super) fn new(config: &Config, mss: u32, initial_window: u16) -> Self {
        let window = Window::new(config, mss, initial_window);
        let newreno = NewReno::new(window.clone(), config.newreno);
        match config.variant {
            Variant::Reno => Self::Reno(Reno::new(window)),
            Variant::NewReno => Self::NewReno(newreno),
            Variant::Adtcp => Self::Adtcp(Adtcp::new(newreno, config.adtcp.disconnected)),
            Variant::Cubic => Self::Cubic(Cubic::new(newreno)),
            Variant::Vegas => Self::Vegas(Vegas::new(newreno)),
            Variant::Westwood => Self::Westwood(Westwood::new(newreno)),
        }
    }

    pub(super) fn policy(&self) -> &dyn Policy {
        match self {
            Self::Reno(policy) => policy,
            Self::NewReno(policy) => policy,
            Self::Adtcp(policy) => policy,
            Self::Cubic(policy) => policy,
            Self::Vegas(policy) => policy,
            Self::Westwood(policy) => policy,
            #[cfg(test)]
            Self::Fake(policy) => policy,
        }
    }

    pub(super) fn policy_mut(&mut self) -> &mut dyn Policy {
        match self {
            Self::Reno(policy) => policy,
            Self::NewReno(policy) => policy,
            Self::Adtcp(policy) => policy,
            Self::Cubic(policy) => policy,
            Self::Vegas(policy) => policy,
            Self::Westwood(policy) => policy,
            #[cfg(test)]
            Self::Fake(policy) => policy,
        }
    }
}

#[cfg(test)]
pub(super) mod fake;

#[cfg(test)]
mod tests;
