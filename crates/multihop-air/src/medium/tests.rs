use multihop_scenario::{Extensions, Source};

use super::*;

/// Network of nodes at these places on a line, m, which hear each other up to 250 m.
fn scenario(places: &[f64], further: &[(&str, &str)]) -> Scenario {
    scenario_with("", places, further)
}

/// A network with further lines of the scenario, such as flows.
fn scenario_with(lines: &str, places: &[f64], further: &[(&str, &str)]) -> Scenario {
    let positions: Vec<_> = places.iter().map(|place| format!("[{place:?}, 0.0]")).collect();
    let text = format!(
        "duration = 10.0\ntopology = {{ kind = \"list\", positions = [{}] }}\n\
         radio = {{ phy = \"802.11g\", model = \"threshold\" }}\n\
         mac = {{ flavour = \"standard\", rts_threshold = \"off\", llc = true }}\n{lines}",
        positions.join(", ")
    );
    let source = Source::Toml { text, name: "air.toml".to_owned() };
    let further: Vec<_> =
        further.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::load_network(&source, &further, &Extensions::default())
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn frame(from: u8, to: Address, control: u8, cookie: u64) -> Report {
    let mut bytes = vec![0; 100];
    bytes[0] = control;
    bytes[4..10].copy_from_slice(&to);
    let rate = |index, count| TxRate { index, count, flags: 0 };
    let rates = [rate(7, 2), rate(5, 2), rate(4, 1), TxRate::NONE];
    let radio = [0x42, 0, 0, 0, 0, from];
    Report::Frame(Transmitted { radio, bytes, flags: 1, rates, cookie, mhz: 2412 })
}

/// Lets frames enter at once; returns the receivers with the time of the frame, and the outcomes.
fn exchange(places: &[f64], frames: Vec<Report>) -> (Vec<(u8, Instant)>, Vec<Outcome>) {
    exchange_over(&scenario(places, &[]), false, frames)
}

fn exchange_over(
    scenario: &Scenario,
    no_contention: bool,
    frames: Vec<Report>,
) -> (Vec<(u8, Instant)>, Vec<Outcome>) {
    let mut medium = Medium::new(scenario, no_contention, &[]).unwrap();
    medium.advance(Instant::ZERO + Duration::from_millis(10));
    frames.into_iter().for_each(|frame| medium.handle(frame));
    medium.advance(Instant::ZERO + Duration::from_secs(1));
    let (mut received, mut outcomes) = (Vec::new(), Vec::new());
    while let Some(message) = medium.poll() {
        match message {
            Outgoing::Received { at, radio, .. } => received.push((radio[5], at)),
            Outgoing::Finished { outcome, .. } => outcomes.push(outcome),
        }
    }
    (received, outcomes)
}

fn receivers(received: &[(u8, Instant)]) -> Vec<u8> {
    received.iter().map(|(radio, _)| *radio).collect()
}

const DATA: u8 = 0x08;
const NODE_1: Address = [2, 0, 0, 0, 0, 1];

#[test]
fn a_frame_in_range_arrives_and_is_acknowledged() {
    let (received, outcomes) = exchange(&[0.0, 200.0], vec![frame(0, NODE_1, DATA, 7)]);
    assert_eq!(receivers(&received), [1]);
    let [outcome] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert!(outcome.is_acknowledged);
    assert_eq!((outcome.cookie, outcome.radio), (7, [0x42, 0, 0, 0, 0, 0]));
    assert_eq!(outcome.rates[0].count, 1);
}

#[test]
fn a_frame_out_of_range_is_retransmitted_up_to_the_limit() {
    let (received, outcomes) = exchange(&[0.0, 260.0], vec![frame(0, NODE_1, DATA, 7)]);
    assert!(received.is_empty());
    let [outcome] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert!(!outcome.is_acknowledged);
    assert_eq!(outcome.retries(), 6, "the standard's short retry limit");
}

#[test]
fn a_frame_to_a_group_reaches_all_in_range_without_acknowledgement() {
    let (received, outcomes) = exchange(&[0.0, 200.0, 240.0, 300.0], vec![frame(0, [0xff; 6], DATA, 7)]);
    assert_eq!(receivers(&received), [1, 2]);
    assert!(!outcomes[0].is_acknowledged);
    assert_eq!(outcomes[0].rates[0].count, 1);
}

#[test]
fn a_frame_to_an_unknown_address_is_lost_at_once() {
    let (received, outcomes) = exchange(&[0.0, 200.0], vec![frame(0, [4; 6], DATA, 7)]);
    assert!(received.is_empty());
    assert!(!outcomes[0].is_acknowledged);
}

#[test]
fn frames_reach_further_addresses_of_a_radio_while_it_has_them() {
    let report = |is_added| Report::Address { radio: NODE_1, address: [6; 6], is_added };
    let (received, _) = exchange(&[0.0, 200.0], vec![report(true), frame(0, [6; 6], DATA, 1)]);
    assert_eq!(receivers(&received), [1]);
    let removed = vec![report(true), report(false), frame(0, [6; 6], DATA, 1)];
    assert!(exchange(&[0.0, 200.0], removed).0.is_empty());
}

#[test]
fn frames_that_begin_at_once_collide_and_beacons_of_one_clock_do_not() {
    let places = [0.0, 240.0, 480.0];
    let hidden = |control| vec![frame(0, [0xff; 6], control, 1), frame(2, [0xff; 6], control, 1)];
    let (received, _) = exchange(&places, hidden(DATA));
    assert!(received.is_empty(), "two frames at once");
    let (received, _) = exchange(&places, hidden(0x80));
    assert_eq!(receivers(&received), [1, 1]);
    assert!(received[0].1 + Duration::from_millis(10) < received[1].1, "{received:?}");
}

#[test]
fn frames_without_contention_neither_wait_nor_collide() {
    let places = [0.0, 200.0, 400.0];
    let frames = || vec![frame(0, NODE_1, DATA, 1), frame(1, [0xff; 6], DATA, 2), frame(2, NODE_1, DATA, 3)];
    let network = scenario(&places, &[]);
    let (alone, _) = exchange_over(&network, true, vec![frame(2, NODE_1, DATA, 3)]);
    let (received, outcomes) = exchange_over(&network, true, frames());
    assert!(received.contains(&alone[0]), "{received:?}: a frame is as early as without others");
    assert_eq!(received.len(), 4);
    assert!(outcomes.iter().all(|outcome| outcome.retries() == 0), "{outcomes:?}");
}

#[test]
fn more_than_a_hundred_nodes_need_contention() {
    let error = Medium::new(&scenario(&[0.0; 101], &[]), true, &[]).err().unwrap();
    let text = "topology: found 101 nodes, allowed with --no-contention: at most 100";
    assert_eq!(error.to_string(), text);
}

#[test]
fn rates_of_the_kernel_are_used_in_their_order_and_reported() {
    let kernel = scenario(&[0.0, 260.0], &[("mac.rate_control", "\"kernel\"")]);
    let (_, outcomes) = exchange_over(&kernel, false, vec![frame(0, NODE_1, DATA, 7)]);
    let rate = |index, count| TxRate { index, count, flags: 0 };
    assert_eq!(outcomes[0].rates, [rate(7, 2), rate(5, 2), rate(4, 3), TxRate::NONE], "seven transmissions");
    // A rate of 18 Mb/s reaches 100 m only; the next one of the kernel reaches the receiver.
    let ranges = "{ \"18M\" = 100.0, \"9M\" = 250.0, \"6M\" = 250.0, \"1M\" = 250.0 }";
    let ranges = [("mac.rate_control", "\"kernel\""), ("radio.range", ranges)];
    let (received, outcomes) =
        exchange_over(&scenario(&[0.0, 200.0], &ranges), false, vec![frame(0, NODE_1, DATA, 7)]);
    assert_eq!(receivers(&received), [1]);
    assert_eq!(outcomes[0].rates, [rate(7, 2), rate(5, 1), TxRate::NONE, TxRate::NONE]);
    assert!(outcomes[0].is_acknowledged);
}

#[test]
fn a_frame_delivered_in_aggregates_is_reported_at_the_rate_of_the_mac() {
    let network = scenario(&[0.0, 200.0], &[("radio.rate", "\"24M\"")]);
    let mut medium = Medium::new(&network, false, &[]).unwrap();
    let rate = |index, count| TxRate { index, count, flags: 0 };
    let rates = [rate(7, 2), TxRate::NONE, TxRate::NONE, TxRate::NONE];
    let mut outcome = |is_delivered| {
        medium.radios[0].mhz = 2412;
        medium.radios[0].pending.insert(7, Pending { to: Some(NodeId(1)), flags: 0, rates });
        medium.finish_frame(0, Instant::ZERO, 7, (is_delivered, 2), &[]);
        let Some(Outgoing::Finished { outcome, .. }) = medium.poll() else { panic!("an outcome") };
        outcome.rates[0]
    };
    assert_eq!(outcome(true), rate(8, 3), "24 Mb/s");
    assert_eq!(outcome(false), rate(7, 3), "the kernel's rate");
}

#[test]
fn packets_do_not_use_the_rates_of_dropped_frames() {
    let flow = |from: u8, to: u8| {
        format!(
            "[[flow]]\nfrom = {from}\nto = {to}\nstart = 0.5\napp = \"cbr\"\nrate_kbps = 60000\nsize = 1000\n"
        )
    };
    let set = [
        ("mac.rate_control", "\"kernel\""),
        ("radio.rate", "\"24M\""),
        ("mac.queue", "10"),
        ("warmup", "0.4"),
    ];
    let network = scenario_with(&(flow(0, 1) + &flow(1, 0)), &[0.0, 200.0], &set);
    let mut medium = Medium::new(&network, false, &[]).unwrap();
    for cookie in 0..30 {
        medium.handle(frame(0, NODE_1, DATA, cookie));
    }
    medium.advance(Instant::ZERO + Duration::from_secs(1));
    let rates = medium.finish().unwrap().mac.rates.expect("rates that change");
    let used: Vec<_> = rates.iter().filter(|(_, count)| **count > 0).map(|(name, _)| name.as_str()).collect();
    assert_eq!(used, ["24M"], "the packets of the flows");
}

#[test]
fn rates_have_the_indices_of_their_band() {
    assert_eq!([1, 2, 11, 6, 54].map(|mbps| rate_index(BitRate(mbps * 1_000_000), 2412)), [0, 1, 3, 4, 11]);
    assert_eq!([6, 54].map(|mbps| rate_index(BitRate(mbps * 1_000_000), 5180)), [0, 7]);
    assert_eq!(rate_index(BitRate(65_000_000), 5180), 7, "the next lower rate");
    assert_eq!(rate_index(BitRate(650_000), 5180), 0, "below all");
}
