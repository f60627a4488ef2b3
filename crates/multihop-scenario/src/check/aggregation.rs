//! Checks the requirements of aggregation (A-MSDU and A-MPDU).

use multihop_radio::params::{Flavour, MacParams, RadioParams, Timing};

use crate::document::Fault;
use crate::faults::Faults;

/// Refuses aggregation if the physical layer has none. `path` is the path of the MAC's table.
pub(super) fn check(radio: &RadioParams, mac: &MacParams, path: &str, faults: &mut Faults<'_>) {
    check_length(radio, mac, path, faults);
    let reason = if radio.phy.aggregates.is_none() {
        format!("with phy = {:?}: only 802.11n, 802.11ac and 802.11ax aggregate", radio.phy.name)
    } else if mac.flavour == Flavour::Ns2 {
        "with flavour = \"ns2\", which does not aggregate".to_owned()
    } else if mac.timing == Timing::Ns2Of1999 {
        "with timing = \"ns2-1999\", which has no sizes of aggregates".to_owned()
    } else {
        return;
    };
    for (key, given) in [("ampdu", mac.ampdu), ("amsdu", mac.amsdu)] {
        if let Some(given) = given {
            let message = format!("found {given}, allowed: \"off\" {reason}");
            faults.push(Fault::at_key(format!("{path}.{key}"), message));
        }
    }
}

/// Refuses more MPDUs than a block ACK of the physical layer can report.
fn check_length(radio: &RadioParams, mac: &MacParams, path: &str, faults: &mut Faults<'_>) {
    let (Some(given), Some(limits)) = (mac.ampdu, radio.phy.aggregates) else { return };
    if given > u32::from(limits.mpdus) {
        let (most, phy) = (limits.mpdus, radio.phy.name);
        let message =
            format!("found {given}, allowed: a whole number from 2 to {most}, or \"off\" with phy = {phy:?}");
        faults.push(Fault::at_key(format!("{path}.ampdu"), message));
    }
}
