//! Keys of the tables `[[program]]`.

use multihop_core::settings::Settings;

use super::{LONGEST_TEXT, NodeRef, SECONDS, TIME_SPAN};

/// A real program in an emulation.
#[derive(Default, Settings)]
pub(crate) struct ProgramTable {
    /// Node or host whose network the program has.
    #[key(required)]
    pub(crate) node: NodeRef,
    /// Command line for sh; $ADDRESS_N is the address of node or host N.
    #[key(LONGEST_COMMAND, required)]
    pub(crate) command: String,
    /// Instant at which the program starts, s.
    #[key(SECONDS)]
    pub(crate) start: f64,
    /// Instant at which the program gets the signal SIGTERM, s; by default the end of the run.
    #[key(TIME_SPAN)]
    pub(crate) stop: Option<f64>,
    /// Further environment variables, each as "NAME=value".
    #[key(LONGEST_TEXT)]
    pub(crate) environment: Vec<String>,
}

const LONGEST_COMMAND: usize = 10_000;
