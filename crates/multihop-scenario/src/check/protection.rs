//! Checks the requirements of protecting OFDM from stations of 802.11b.

use multihop_radio::params::{Flavour, MacParams, Protection, RadioParams};

use crate::document::Fault;
use crate::faults::Faults;

/// Refuses protection if the physical layer has none. `path` is the path of the MAC's table.
pub(super) fn check(radio: &RadioParams, mac: &MacParams, path: &str, faults: &mut Faults<'_>) {
    let phy = radio.phy;
    let is_mixed = [true, false].map(|ofdm| phy.rate_indices().any(|rate| phy.is_ofdm(rate) == ofdm));
    let reason = if is_mixed != [true, true] {
        format!("with phy = {:?}: only 802.11g needs it", phy.name)
    } else if mac.flavour == Flavour::Ns2 {
        "with flavour = \"ns2\", which has none".to_owned()
    } else if phy.is_ofdm(radio.basic_rate) {
        format!(
            "with basic_rate = {:?}, which stations of 802.11b cannot receive",
            phy.rate(radio.basic_rate).name
        )
    } else if mac.edca.is_some() {
        "with edca".to_owned()
    } else {
        return;
    };
    if mac.protection == Protection::CtsToSelf {
        let message = format!("found \"cts-to-self\", allowed: \"off\" {reason}");
        faults.push(Fault::at_key(format!("{path}.protection"), message));
    }
}
