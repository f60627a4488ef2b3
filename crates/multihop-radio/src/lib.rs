//! 802.11: DCF, receivers, error rates, propagation and mobility. Deterministic: the same seed gives the same bits on
//! every machine.
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
