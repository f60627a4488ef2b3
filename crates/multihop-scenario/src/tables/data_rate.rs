//! Keys of the tables `[[data_rate]]`.

use multihop_core::settings::Settings;

use super::{LONGEST_TEXT, NodeRef};

/// A bit rate of unicast data that differs from that of the radio.
#[derive(Default, Settings)]
pub(crate) struct DataRateTable {
    /// Sender of the data.
    #[key(required)]
    pub(crate) from: NodeRef,
    /// Receiver of the data; by default all receivers to which the sender has no rate of their own.
    #[key]
    pub(crate) to: Option<NodeRef>,
    /// Bit rate of unicast data from the sender to the receiver: one that radio.rate may have.
    #[key(LONGEST_TEXT, required)]
    pub(crate) rate: String,
}
