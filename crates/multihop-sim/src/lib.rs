//! The simulator: runs scenarios in virtual time and computes their results.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod batch;
pub mod budget;
pub mod difference;
mod engine;
mod fingerprint;
pub mod interval;
pub mod journal;
mod key;
pub mod links;
pub mod live;
pub mod motion;
mod notes;
mod observe;
mod oracle;
pub mod packet;
mod real;
mod record;
pub mod results;
mod run;
#[cfg_attr(
    not(any(feature = "view", test)),
    expect(dead_code, reason = "only the viewer shows fields of packets")
)]
mod segment;
mod signals;
mod stats;
pub mod sweep;
pub mod tables;
mod trace;
mod traffic;
mod view;
#[cfg(feature = "view")]
pub mod viewed;
mod world;

pub use key::{BUILD, key};
pub use notes::notes;
pub use observe::Outputs;
pub use record::missing_series;
pub use run::{Progress, RunError, run, unattended};
pub use stats::Histogram;
pub use trace::CaptureFilter;
