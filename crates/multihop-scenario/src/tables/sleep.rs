//! `[[sleep]]`.

use multihop_core::settings::{Allowed, Settings, Value, Visitor};

use super::{NodeRef, SECONDS, TIME_SPAN};

/// A time in which the radio of one node is asleep.
pub(crate) struct SleepTable {
    pub(crate) node: NodeRef,
    /// s.
    pub(crate) from: f64,
    /// s.
    pub(crate) until: Option<f64>,
}

impl Default for SleepTable {
    fn default() -> Self {
        Self { node: NodeRef::Number(0), from: 0.0, until: None }
    }
}

impl Settings for SleepTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        if let Some(node) = keys.about("The node.").required().value("node", Allowed::Node, None::<Value>) {
            self.node = node.into();
        }
        keys.about("When its radio falls asleep, s.").number("from", &mut self.from, SECONDS);
        let about = "When it wakes, s; by default at the end of the run.";
        keys.about(about).number_if_set("until", &mut self.until, TIME_SPAN);
    }
}
