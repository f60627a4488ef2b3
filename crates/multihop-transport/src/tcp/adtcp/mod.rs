//! ADTCP: the receiver reports why packets are lost, and the sender reacts (Z. Fu, B. Greenstein,
//! X. Meng, S. Lu, Design and Implementation of a TCP-Friendly Transport Protocol for Ad Hoc
//! Wireless Networks, ICNP 2002).
//!
//! This module is the receiver's side. `Meter` measures four metrics, `Density` ranks a sample among earlier
//! samples, and [`Identify`] derives the state of the network. The sender's reaction is in
//! `congestion::Adtcp`.

mod density;
mod identify;
mod meter;
mod observed;

pub use density::{DensityConfig, Level};
pub use identify::{Identify, Levels};
pub use meter::Values;

use multihop_core::Duration;
use multihop_core::settings::Settings;

use super::outage::{Ending, Exit, Probe, ProbeInterval, Probing, Restore, Standby};
pub(super) use meter::{Meter, Packet};
pub(crate) use observed::OBSERVED;

/// Settings of ADTCP that do not concern the window.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
pub struct AdtcpConfig {
    /// Metrics that indicate congestion to adtcp: delay differences together with throughput (joint), or one of them alone (idd,
    /// stt).
    #[key]
    pub identify: Identify,
    /// The history with which the receiver compares a sample.
    #[key(flatten)]
    pub density: DensityConfig,
    /// Kind of the TCP option with which adtcp's receiver reports the state; one of those for experiments.
    ///
    /// One of `multihop_wire::tcp::StateOption::KINDS`.
    #[key(253..=254)]
    pub option_kind: u8,
    /// The sender's reaction to a timeout without congestion.
    pub disconnected: Standby,
}

impl AdtcpConfig {
    /// Values of the paper: N is from section 4.1, the shares from 3.1.1. The paper leaves S, the time between probes
    /// and their number open, and the option without a kind.
    pub const PAPER: Self = Self {
        option_kind: 253,
        density: DensityConfig { samples: 100, bins: 8, high: 300, low: 300 },
        identify: Identify::Joint,
        disconnected: Standby {
            probing: Probing { interval: ProbeInterval::Fixed(Duration::from_secs(2)), max_probes: Some(15) },
            at_once: true,
            end: Ending {
                probe: Probe::FirstBytes(8), // section 4.1
                exit: Exit::New,
                restore: Restore::RouteChange, // section 2.1
            },
        },
    };
}
