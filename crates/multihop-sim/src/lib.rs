//! Simulator of networks with several wireless hops: runs scenarios in virtual time and computes their results.
//!
//! * [`run()`] runs one scenario with its seed and returns a [`results::RunResult`], the document that `multihop run
//!   --json` prints. [`Outputs`] receive the trace, the capture and the recorded series.
//! * [`sweep::Plan`] lists the runs of a sweep, [`batch`] distributes runs over threads, and [`journal::Journal`]
//!   keeps finished runs.
//! * [`live::Live`] is a network whose owner advances the time and enters packets; `multihop-emulate` drives it with
//!   the wall clock.
//! * `viewed::ViewedRun`, with the feature `view`, keeps the records that the page of `multihop view` shows.
//!
//! The scenario and its seed determine a run: a second run gives the same bytes. [`unattended`] stands for a caller that shows
//! no progress and cancels nothing:
//!
//! ```
//! use multihop_scenario::{Scenario, Source};
//! use multihop_sim::{Outputs, run, unattended};
//!
//! let text = r#"
//!     duration = 5.0
//!     topology = { kind = "chain", hops = 2 }
//!     [[flow]]
//!     transport = "newreno"
//! "#;
//! let source = Source::Toml { text: text.to_owned(), name: "chain".to_owned() };
//! let scenario = Scenario::load(&source, &[])?;
//! let result = run(&scenario, Outputs::default(), &mut unattended)?;
//! assert_eq!(result.flows.len(), 1);
//! assert!(result.totals.goodput_kbps > 100.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate reads no scenario files itself (`multihop-scenario` does), prints nothing, and never waits for real time.
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
