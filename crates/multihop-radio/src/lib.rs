//! 802.11 DCF and the world it lives in: who hears whom, how loud, what a receiver makes of it,
//! and when a station may send. Deterministic: the same seed gives the same bits everywhere.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod airtime;
pub mod channel_error;
mod error_rate;
pub mod frame;
pub mod grid;
pub mod mac;
pub mod medium;
pub mod mobility;
pub mod params;
pub mod phy;
pub mod phy_profile;
pub mod propagation;
