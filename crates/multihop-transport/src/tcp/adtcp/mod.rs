//! ADTCP: the receiver tells why packets are lost, and the sender acts on it (Z. Fu, B. Greenstein,
//! X. Meng, S. Lu, Design and Implementation of a TCP-Friendly Transport Protocol for Ad Hoc
//! Wireless Networks, ICNP 2002).
//!
//! Here is the receiver's side. `Meter` measures four metrics, `Density` says whether a sample is
//! high or low among those before it, and [`Identify`] makes a state of that. What the sender does
//! is `policy::Adtcp`.

mod density;
mod identify;
mod meter;

pub use density::{DensityConfig, Level};
pub use identify::{Identify, Levels};
pub use meter::Values;

use multihop_core::{Duration, Instant};
use multihop_wire::tcp::{NetworkState, Segment, StateOption, Timestamps};

use super::Endpoint;
use super::policy::Congestion;
use super::standby::{Exit, Probe, ProbeInterval, Restore, Standby};
pub(super) use meter::Meter;
use meter::Packet;

/// Settings of ADTCP that are not the window's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AdtcpConfig {
    /// Option kind of the state, one of [`StateOption::KINDS`].
    pub option_kind: u8,
    /// What the receiver compares a sample with.
    pub density: DensityConfig,
    /// Which metrics tell congestion.
    pub identify: Identify,
    /// What the sender does on a timeout that is no congestion.
    pub disconnected: Standby,
}

impl AdtcpConfig {
    /// N is from section 4.1, the shares from 3.1.1. The paper leaves S, the time between probes and
    /// their number open, and the option without a kind.
    pub const PAPER: Self = Self {
        option_kind: 253,
        density: DensityConfig { samples: 100, bins: 8, high: 300, low: 300 },
        identify: Identify::Joint,
        disconnected: Standby {
            interval: ProbeInterval::Fixed(Duration::from_secs(2)),
            at_once: true,
            probe: Probe::FirstBytes(8), // section 4.1
            exit: Exit::New,
            restore: Restore::Threshold, // section 2.1: as after a change of route
            max_probes: Some(15),
        },
    };
}

impl Endpoint {
    /// What ADTCP's receiver side makes of the network now; `None` unless it measures.
    pub fn network_state(&self) -> Option<NetworkState> {
        self.levels().map(|levels| self.config.adtcp.identify.state(levels))
    }

    /// Where the metrics of ADTCP's receiver side lie.
    pub fn levels(&self) -> Option<&Levels> {
        self.meter.as_ref().map(|meter| meter.levels())
    }

    /// The newest samples of these metrics.
    pub fn metrics(&self) -> Option<&Values> {
        self.meter.as_ref().map(|meter| meter.values())
    }

    /// The state that the peer told last; `None` if it never told one, or nobody here listens.
    pub fn told_state(&self) -> Option<NetworkState> {
        let Congestion::Adtcp(policy) = &self.congestion else { return None };
        policy.reported()
    }

    /// How to wait if a retransmission timeout now means that the path is gone: section 3.1.2 takes a
    /// timeout without congestion for a disconnection.
    pub(super) fn disconnection(&self) -> Option<Standby> {
        let state = self.told_state()?;
        (!state.has(NetworkState::CONGESTION)).then_some(self.config.adtcp.disconnected)
    }

    /// Data arrived, and has been dealt with.
    pub(super) fn measure(&mut self, now: Instant, stamps: Option<Timestamps>, is_furthest: bool) {
        let arrived = self.timestamp(now);
        if let (Some(meter), Some(stamps)) = (&mut self.meter, stamps) {
            let (sent, echo) = (stamps.value, stamps.echo);
            let missing = self.recv.queue.missing(self.mss);
            meter.on_packet(now, Packet { arrived, sent, echo, is_furthest, missing });
        }
    }

    /// The option that tells the peer, in a segment with so many bytes of data.
    pub(super) fn state_option(&self, len: u32) -> Option<StateOption> {
        let state = self.network_state().filter(|_| self.counters.data_received > 0)?;
        // DEVIATION adtcp-3: not in full segments, which have no room for it.
        let fits = len + STATE_LEN <= self.mss;
        fits.then_some(StateOption { kind: self.config.adtcp.option_kind, state })
    }

    /// The peer may tell what it sees, in an ACK of everything before `acked`. One that others have
    /// overtaken is no news.
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

/// Three bytes and one of padding.
const STATE_LEN: u32 = 4;
