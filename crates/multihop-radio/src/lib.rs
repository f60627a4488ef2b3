//! 802.11 radios as state machines and functions: MAC, receivers, error rates, propagation and mobility.
//!
//! The simulator drives these parts; they have no clock, socket or thread. The same seed gives the same bits on every
//! machine.
//!
//! * [`phy_profile::PhyProfile`]: one value for each physical layer, from 802.11b to 802.11ax. It has the timing, the
//!   rates, the preambles and the error rates. [`airtime::Airtime`] computes durations from it.
//! * [`mac::Mac`]: queue, channel access (DCF or EDCA) and frame exchange of one station, by the rules of ns-2 or of
//!   the standard. [`rate_control`] chooses the rate of its frames.
//! * [`phy::Receiver`]: decides which signals a station decodes, by fixed ranges or by the ratio of signal to
//!   interference and noise (SINR).
//! * [`medium::Medium`]: lists which stations hear a transmission, and at what power, from [`propagation`] and
//!   positions.
//! * [`mobility::Movement`]: moves nodes along straight legs, by models or by paths from files.
//!
//! How often does a frame of 1,000 bytes arrive at 6 Mb/s and an SINR of 4 dB, and how long is it on the air?
//!
//! ```
//! use multihop_radio::params::ErrorModel;
//! use multihop_radio::phy_profile::PhyProfile;
//!
//! let phy = PhyProfile::named("802.11a").expect("a built-in profile");
//! let rate = phy.rate(phy.rate_named("6M").expect("a rate of 802.11a"));
//! let sinr = 2.5; // 4 dB as a ratio
//! assert!(rate.success(ErrorModel::Nist, sinr, 8.0 * 1000.0) > 0.9);
//! assert_eq!(rate.body_time(1000).as_micros(), 1340);
//! ```
//!
//! This crate does not route, knows no transports, and runs no events: `multihop-sim` does. It models no power save of
//! the standard, no association and no encryption.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod airtime;
pub mod budget;
pub mod channel;
pub mod channel_error;
pub mod decibels;
pub mod energy;
mod error_rate;
pub mod frame;
pub mod grid;
mod keys;
pub mod link_budget;
pub mod mac;
pub mod measured;
pub mod medium;
pub mod mobility;
mod normal;
pub mod params;
pub mod phy;
pub mod phy_profile;
pub mod propagation;
pub mod rate_control;
