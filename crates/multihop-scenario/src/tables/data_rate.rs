//! `[[data_rate]]`.

use multihop_core::settings::{Allowed, Settings, Visitor};

use super::{LONGEST_TEXT, NodeRef};

/// A bit rate of unicast data that differs from that of the radio.
pub(crate) struct DataRateTable {
    pub(crate) from: NodeRef,
    pub(crate) to: Option<NodeRef>,
    pub(crate) rate: String,
}

impl Default for DataRateTable {
    fn default() -> Self {
        Self { from: NodeRef::Number(0), to: None, rate: String::new() }
    }
}

impl Settings for DataRateTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        if let Some(from) = keys.about("The sender.").required().value("from", Allowed::Node, None) {
            self.from = from.into();
        }
        let about = "The receiver; by default all receivers to which the sender has no rate of their own.";
        self.to = keys.about(about).value("to", Allowed::Node, None).map(NodeRef::from);
        let about = "Bit rate of unicast data from the sender to the receiver: one that radio.rate may have.";
        keys.about(about).required().text("rate", &mut self.rate, LONGEST_TEXT);
    }
}
