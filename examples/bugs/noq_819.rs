//! Congestion control of the QUIC stack noq over radio: [n0-computer/noq#819](https://github.com/n0-computer/noq/issues/819).
//!
//! noq's default, CUBIC, fills the queue of a radio. The issue proposes `bbr3`, which is a setting today
//! (`congestion_controller_factory`). Both run in the simulator: packets and decisions are noq's own. `bbr3` draws from the
//! operating system's random numbers, hence three seeds and wide bounds.

use multihop_quic::register;
use multihop_scenario::{Extensions, Scenario, Source};
use multihop_sim::{Outputs, run, unattended};

const NETWORK: &str = r#"
duration = 10.0
[topology]
kind = "chain"
[mac]
queue = 200
[[flow]]
transport = { kind = "noq", control = "CONTROL" }
"#;

/// Means over three seeds: goodput in kb/s, and the median of the delay in ms.
fn means(control: &str, hops: u32) -> (f64, f64) {
    let text = NETWORK.replace("CONTROL", control);
    let source = Source::Toml { text, name: "noq.toml".to_owned() };
    let results: Vec<_> = (1..=3)
        .map(|seed: u32| {
            let changes = [("topology.hops", hops), ("seed", seed)]
                .map(|(key, value)| (key.to_owned(), value.to_string()));
            let scenario = Scenario::load_with(&source, &changes, &register(Extensions::default())).unwrap();
            run(&scenario, Outputs::default(), &mut unattended).unwrap()
        })
        .collect();
    let goodput = results.iter().map(|result| result.totals.goodput_kbps).sum::<f64>() / 3.0;
    let delay =
        results.iter().map(|result| result.flows[0].delay_ms.as_ref().unwrap().p50).sum::<f64>() / 3.0;
    (goodput, delay)
}

#[test]
fn the_default_control_fills_the_queue_of_a_radio_and_bbr3_does_not() {
    let [(goodput, delay), (bbr3_goodput, bbr3_delay)] = ["cubic", "bbr3"].map(|control| means(control, 1));
    assert!(delay > 1000.0, "CUBIC's median delay is {delay} ms");
    assert!(bbr3_delay < 200.0, "bbr3's median delay is {bbr3_delay} ms");
    assert!(bbr3_goodput > goodput, "bbr3: {bbr3_goodput} kb/s, CUBIC: {goodput} kb/s");
}

/// Hidden senders keep CUBIC's window small, so that bbr3 has nothing to improve: the comments of the issue report both.
#[test]
fn over_four_hops_bbr3_does_not_help() {
    let [(goodput, delay), (bbr3_goodput, bbr3_delay)] = ["cubic", "bbr3"].map(|control| means(control, 4));
    assert!(bbr3_delay > 0.6 * delay, "bbr3: {bbr3_delay} ms, CUBIC: {delay} ms");
    assert!(bbr3_goodput < 1.1 * goodput, "bbr3: {bbr3_goodput} kb/s, CUBIC: {goodput} kb/s");
}
