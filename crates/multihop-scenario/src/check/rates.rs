//! Checks the tables `[[data_rate]]`, the rates of single stations and links, and the windows of the MAC.

use multihop_radio::params::{LinkRates, MacParams, Model, RadioParams};
use multihop_radio::phy_profile::RateIndex;
use multihop_radio::rate_control::RateControlParams;

use super::Nodes;
use crate::document::{Fault, shorten};
use crate::faults::Faults;
use crate::read::one_of;
use crate::read::settings::Keyed;
use crate::tables::DataRateTable;

/// The rates of unicast data that differ by sender and receiver.
pub(super) fn link_rates(
    tables: &[Keyed<DataRateTable>],
    (radio, mac): (&RadioParams, &MacParams),
    nodes: &Nodes<'_>,
    faults: &mut Faults<'_>,
) -> Option<LinkRates> {
    if !tables.is_empty() && mac.rate_control != RateControlParams::Fixed {
        faults
            .push(Fault::at_key("data_rate", "is not a key here, allowed with mac.rate_control = \"fixed\""));
        return None;
    }
    let mut rates = LinkRates::default();
    for (number, Keyed(table)) in tables.iter().enumerate() {
        let path = format!("data_rate.{number}");
        let from = nodes.find(&table.from, &format!("{path}.from"), faults)?;
        let to = match &table.to {
            Some(to) => Some(nodes.find(to, &format!("{path}.to"), faults)?),
            None => None,
        };
        if to == Some(from) {
            faults.push(Fault::at_key(
                format!("{path}.to"),
                format!("found {from}, allowed: another node than from"),
            ));
        }
        let rate = rate(&table.rate, radio, &format!("{path}.rate"), faults)?;
        if rates.set(from, to, rate).is_some() {
            faults.push(Fault::at_key(path, "has the same from and to as an earlier table"));
        }
    }
    Some(rates)
}

/// The rate with this name; under the threshold model it needs a range.
fn rate(name: &str, radio: &RadioParams, path: &str, faults: &mut Faults<'_>) -> Option<RateIndex> {
    let Some(rate) = radio.phy.rate_named(name) else {
        let names = || radio.phy.rates.iter().map(|rate| rate.name);
        let message = format!("found {:?}, allowed: {}", shorten(name), one_of(names()));
        faults.push(Fault::at_key(path, message).perhaps(name, names()));
        return None;
    };
    if let Model::Threshold(threshold) = &radio.model {
        let answer = radio.phy.rate(rate).answer.unwrap_or(radio.basic_rate);
        for used in [rate, answer] {
            if threshold.range[usize::from(used.0)] == 0.0 {
                let message = format!(
                    "found {name:?}, allowed: a rate for which radio.range has a range; it has none for {:?}",
                    radio.phy.rate(used).name
                );
                faults.push(Fault::at_key(path, message));
                return None;
            }
        }
    }
    Some(rate)
}

/// Checks that the smallest window does not exceed the largest. `path` is the path of the MAC's table.
pub(super) fn windows(radio: &RadioParams, mac: &MacParams, path: &str, faults: &mut Faults<'_>) {
    let (least, most) = (mac.cw_min.unwrap_or(radio.phy.cw_min), mac.cw_max.unwrap_or(radio.phy.cw_max));
    if least <= most {
        return;
    }
    let fault = match mac.cw_max {
        Some(most) => {
            let message = format!("found {most}, allowed: at least cw_min, {least}");
            Fault::at_key(format!("{path}.cw_max"), message)
        }
        None => {
            let message = format!(
                "found {least}, allowed: at most {most}, the largest window of {:?}, unless cw_max is larger",
                radio.phy.name
            );
            Fault::at_key(format!("{path}.cw_min"), message)
        }
    };
    faults.push(fault);
}
