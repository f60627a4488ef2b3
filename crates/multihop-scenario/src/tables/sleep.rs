//! Keys of the tables `[[sleep]]`.

use multihop_core::settings::Settings;

use super::{NodeRef, SECONDS, TIME_SPAN};

/// A time in which the radio of one node is asleep.
#[derive(Default, Settings)]
pub(crate) struct SleepTable {
    /// Node whose radio sleeps.
    #[key(required)]
    pub(crate) node: NodeRef,
    /// Instant at which the radio falls asleep, s.
    #[key(SECONDS)]
    pub(crate) from: f64,
    /// Instant at which the radio wakes, s; by default the end of the run.
    #[key(TIME_SPAN)]
    pub(crate) until: Option<f64>,
}
