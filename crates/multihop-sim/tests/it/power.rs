//! `[energy]`, batteries and `[[sleep]]`, against arithmetic.

use multihop_sim::results::{EnergyResult, RunResult};

use crate::support::result;

/// A chain with constant traffic from end to end: one datagram of 1460 bytes in 40 ms.
fn chain(hops: u32, tables: &str) -> String {
    format!(
        "duration = 21.0\n{tables}\n[mac]\narp = \"oracle\"\nrts_threshold = \"off\"\n[topology]\nkind = \"chain\"\n\
         hops = {hops}\n[[flow]]\napp = \"cbr\"\nrate_kbps = 292.0\nsize = 1460\nstop = 20.0\n"
    )
}

fn energy(result: &RunResult) -> EnergyResult {
    result.energy.clone().unwrap()
}

fn close(got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance, "{got}, {want}");
}

#[test]
fn two_nodes_spend_the_airtime_of_their_frames() {
    let result = result(&chain(1, "[energy]\ncard = \"intel-5300\""));
    let energy = energy(&result);
    let (data, ack) = (result.mac.frames["data"] as f64, result.mac.frames["ack"] as f64);
    assert!(data > 495.0 && data.to_bits() == ack.to_bits(), "{data} {ack}");
    // 192 us, then 1460 + 28 + 28 bytes at 2 Mb/s; 192 us, then 14 bytes at 1 Mb/s.
    let (data, ack) = (data * 6256e-6, ack * 304e-6);
    close(energy.transmit_joules[0], 1.14 * data, 1e-9);
    close(energy.transmit_joules[1], 1.14 * ack, 1e-9);
    close(energy.receive_joules[0], 0.94 * ack, 1e-9);
    close(energy.receive_joules[1], 0.94 * data, 1e-9);
    for node in 0..2 {
        close(energy.idle_joules[node], 0.82 * (21.0 - data - ack), 1e-9);
        close(energy.sleep_joules[node], 0.0, 0.0);
    }
    let all: f64 = energy.node_joules.iter().sum();
    close(energy.node_joules[0], 1.14 * data + 0.94 * ack + 0.82 * (21.0 - data - ack), 1e-9);
    let megabytes = result.totals.goodput_kbps * 20.0 / 8e3;
    close(energy.joules_per_mb.unwrap() / (all / megabytes), 1.0, 1e-6);
    assert_eq!((energy.first_empty, energy.empty), (None, None));
}

#[test]
fn a_node_with_an_empty_battery_drops_out() {
    // Idle power alone empties the battery in 10 s; traffic shortens this time a little.
    let tables = "[energy]\ntransmit = 2\nreceive = 1.5\nidle = 1\nbattery = [1000, 10, 1000]";
    let result = result(&chain(2, tables));
    let energy = energy(&result);
    let [None, Some(at), None] = energy.empty.clone().unwrap()[..] else { panic!("{energy:?}") };
    assert_eq!(energy.first_empty, Some(at));
    // 2 W for a millisecond may be left.
    close(energy.node_joules[1], 10.0, 2.1e-3);
    let spent = energy.transmit_joules[1] / 2.0 + energy.receive_joules[1] / 1.5 + energy.idle_joules[1];
    close(spent, at, 1e-9);
    // A datagram in 40 ms is received and transmitted, with its acknowledgements: (6.256 (1 + 0.5) + 0.304 (0.5 + 1)) J / s
    // more, and other frames of the neighbours.
    let expected = 10.0 / (1.0 + 25.0 * (6.256e-3 * 1.5 + 0.304e-3 * 1.5));
    close(at, expected, 0.1);
    let delivered = result.flows[0].segments_delivered as f64;
    close(delivered, 25.0 * at, 2.0);
    // Seven transmissions of a datagram with backoffs take some 77 ms.
    assert!(result.drops["retry-limit"] > 100, "{:?}", result.drops);
}

#[test]
fn a_battery_lasts_through_warm_up_and_measurement() {
    let tables = "warmup = 4.0\n[energy]\ntransmit = 1\nreceive = 1\nidle = 1\nbattery = 10";
    let result = result(&chain(1, tables));
    let energy = energy(&result);
    for (empty, joules) in energy.empty.unwrap().into_iter().zip(energy.node_joules) {
        close(empty.unwrap(), 10.0, 1.1e-3);
        close(joules, 6.0, 1.1e-3);
    }
}

#[test]
fn a_sleeping_radio_neither_transmits_nor_receives() {
    let sleep = "[[sleep]]\nnode = 1\nfrom = 5\nuntil = 12\n[[sleep]]\nnode = 1\nfrom = 10\nuntil = 15\n";
    let result =
        result(&chain(2, &format!("{sleep}[energy]\nsleep = 0.1\nidle = 1\ntransmit = 1\nreceive = 1")));
    let energy = energy(&result);
    close(energy.sleep_joules[1], 1.0, 1e-9);
    close(energy.node_joules[1], 11.0 + 1.0, 1e-9);
    close(energy.node_joules[0], 21.0, 1e-9);
    let delivered = result.flows[0].segments_delivered as f64;
    // The datagrams are those of the 10 s in which the node is awake, and those that wait in the sender's
    // queue when it wakes.
    close(delivered, 25.0 * 10.0 + 51.0, 3.0);
    // The sender's own radio is asleep, so its packets are dropped at the sender.
    let sleep = "[[sleep]]\nnode = 0\nfrom = 5\nuntil = 15\n";
    let result = crate::support::result(&chain(1, sleep));
    close(result.drops["radio-off"] as f64, 250.0, 2.0);
    close(result.flows[0].segments_delivered as f64, 250.0, 2.0);
}
