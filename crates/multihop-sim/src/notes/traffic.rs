//! Notes on traffic that exceeds the radio's capacity or is not counted.

use multihop_scenario::{App, Scenario};

use super::named;

/// Notes on flows that end before results begin, and on flows that offer more than the radio's bit rate.
pub(super) fn notes(scenario: &Scenario) -> Vec<String> {
    [uncounted(scenario), excessive(scenario)].into_iter().flatten().collect()
}

/// Note on flows that end before the warm-up ends, so that no result counts them.
fn uncounted(scenario: &Scenario) -> Option<String> {
    let is_uncounted = |stop: Option<_>| stop.is_some_and(|stop| stop <= scenario.warmup);
    let flows = scenario.flows.iter().enumerate().filter(|(_, flow)| is_uncounted(flow.stop));
    let flows: Vec<_> = flows.map(|(number, _)| number).collect();
    let warmup = scenario.warmup.as_secs_f64();
    let words = named(&flows, "stops", "stop");
    (!flows.is_empty())
        .then(|| format!("{words} before the warm-up ends at {warmup} s: results do not count that traffic"))
}

/// Note on flows whose datagrams alone need more than the bit rate of the radio.
fn excessive(scenario: &Scenario) -> Option<String> {
    let phys = scenario.radios.iter().map(|radio| radio.params.phy);
    let fastest = phys.flat_map(|phy| phy.rate_indices().map(|rate| phy.rate(rate).bit_rate)).max()?;
    let is_excessive = |app: &App| match *app {
        App::Cbr { rate, .. } | App::Poisson { rate, .. } => rate > fastest,
        _ => false,
    };
    let flows = scenario.flows.iter().enumerate();
    let flows = flows.filter(|(_, flow)| is_excessive(&flow.app) && !scenario.is_host(flow.from));
    let flows: Vec<_> = flows.map(|(number, _)| number).collect();
    let fastest = fastest.as_f64() / 1e6;
    let words = named(&flows, "offers", "offer");
    (!flows.is_empty()).then(|| {
        format!("{words} more than {fastest} Mb/s, the fastest rate of the radio: its queue overflows")
    })
}
