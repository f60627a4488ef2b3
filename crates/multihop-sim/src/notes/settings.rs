//! Notes on keys that have no effect in combination with other keys.

use multihop_radio::frame::Category;
use multihop_radio::params::{CodelParams, Discipline, MacParams};
use multihop_radio::rate_control::RateControlParams;
use multihop_scenario::Scenario;

use super::named;

/// Notes on keys of radio, MAC and flows that differ from the defaults but have no effect.
pub(super) fn notes(scenario: &Scenario) -> Vec<String> {
    let notes = [
        categories(scenario),
        dscps(scenario),
        codel(scenario.mac()),
        long_retry(scenario.mac()),
        rate(scenario),
        streams(scenario),
    ];
    notes.into_iter().flatten().collect()
}

/// Note on access categories of flows, which have no effect without EDCA.
fn categories(scenario: &Scenario) -> Option<String> {
    let flows = scenario.flows.iter().enumerate();
    let flows: Vec<_> =
        flows.filter(|(_, flow)| flow.category != Category::BestEffort).map(|(number, _)| number).collect();
    let words = named(&flows, "has", "have");
    (scenario.mac().edca.is_none() && !flows.is_empty()).then(|| {
        format!("{words} a category without effect: mac.edca is false, so that all packets share one queue")
    })
}

/// Note on flows whose packets have DSCPs, which have no effect without EDCA.
fn dscps(scenario: &Scenario) -> Option<String> {
    let flows = scenario.flows.iter().enumerate();
    let flows: Vec<_> = flows.filter(|(_, flow)| flow.dscp).map(|(number, _)| number).collect();
    let words = named(&flows, "has", "have");
    (scenario.mac().edca.is_none() && !flows.is_empty()).then(|| {
        format!("{words} dscp = true without effect: mac.edca is false, so that all packets share one queue")
    })
}

/// Parameters of CoDel without CoDel.
fn codel(mac: &MacParams) -> Option<String> {
    let usual = CodelParams { discipline: Discipline::DropTail, ..CodelParams::default() };
    (mac.codel.discipline == Discipline::DropTail && mac.codel != usual).then(|| {
        "codel_target, codel_interval and mark_above have no effect with discipline = \"drop-tail\""
            .to_owned()
    })
}

/// Note on the retry limit of frames that follow an RTS, which has no effect without RTS.
fn long_retry(mac: &MacParams) -> Option<String> {
    let announces = mac.rts_threshold.is_some()
        || matches!(&mac.rate_control, RateControlParams::Ladder(ladder) if ladder.rts_after.is_some());
    (!announces && mac.long_retry != MacParams::default().long_retry).then(|| {
        "long_retry has no effect with rts_threshold = \"off\": short_retry limits data without RTS"
            .to_owned()
    })
}

/// Note on a data rate that has no effect under Minstrel-HT.
fn rate(scenario: &Scenario) -> Option<String> {
    let radio = scenario.radio();
    let is_high_throughput = radio.phy.rates.iter().any(|rate| rate.label.streams().is_some());
    let adapts = matches!(scenario.mac().rate_control, RateControlParams::Minstrel(_));
    (radio.is_rate_given && is_high_throughput && adapts).then(|| {
        let rate = radio.phy.rate(radio.rate).name;
        format!("rate = {rate:?} decides static routes only: rate_control = \"minstrel\" chooses the rates of data and begins with MCS 0")
    })
}

/// Note on spatial streams for rate control, which have no effect without rate control.
fn streams(scenario: &Scenario) -> Option<String> {
    let radio = scenario.radio();
    let is_fixed = scenario.mac().rate_control == RateControlParams::Fixed && radio.link_rates.is_empty();
    let used = radio.phy.rate(radio.rate).label.streams().unwrap_or(1);
    (radio.budget.is_device() && is_fixed && radio.streams > used).then(|| {
        let (rate, streams) = (radio.phy.rate(radio.rate).name, radio.streams);
        format!("streams = {streams} has no effect: all data has the rate {rate:?}")
    })
}
