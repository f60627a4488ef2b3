//! Several radios at each node: separate and overlapping channels, static routes, and what each radio counts.

use multihop_routing_extra::extensions;
use multihop_scenario::{Scenario, Source};
use multihop_sim::results::RunResult;
use multihop_sim::{Outputs, run, unattended};

fn scenario(text: &str) -> Scenario {
    let source = Source::Toml { text: text.to_owned(), name: "radios.toml".to_owned() };
    Scenario::load_with(&source, &[], &extensions()).unwrap_or_else(|problems| panic!("{problems}"))
}

fn result(text: &str) -> RunResult {
    run(&scenario(text), Outputs::default(), &mut unattended).unwrap()
}

/// A chain of four hops at 2 Mb/s, with one radio at each node for each channel, under datagrams at a constant rate.
fn chain(channels: &[u8], rate_kbps: f64) -> RunResult {
    routed_chain("protocol = \"static\"", channels, rate_kbps)
}

/// A chain with these keys of `[routing]`, whose protocol has 60 s to find routes.
fn routed_chain(routing: &str, channels: &[u8], rate_kbps: f64) -> RunResult {
    let radio = |channel: &u8| format!("[[radio]]\nchannel = {channel}\n");
    let radios: String = channels.iter().map(radio).collect();
    let start = if routing.contains("static") { 0 } else { 60 };
    let (warmup, duration) = (start + 2, start + 12);
    result(&format!(
        "duration = {duration}.0\nwarmup = {warmup}.0\ntopology = {{ kind = \"chain\", hops = 4 }}\n{radios}\
         [routing]\n{routing}\n\
         [[flow]]\napp = \"cbr\"\nsize = 1460\nrate_kbps = {rate_kbps:?}\nstart = {start}.0\n"
    ))
}

/// The most that a chain delivers, kb/s.
fn capacity(channels: &[u8]) -> f64 {
    routed_capacity("protocol = \"static\"", channels)
}

fn routed_capacity(routing: &str, channels: &[u8]) -> f64 {
    let rates = (0..9).map(|step| 300.0 * 1.15_f64.powi(step));
    rates.map(|rate| routed_chain(routing, channels, rate).totals.goodput_kbps).fold(0.0, f64::max)
}

#[test]
fn two_radios_on_separate_channels_deliver_at_least_1_9_times_one_radio_over_four_hops() {
    let (one, two) = (capacity(&[1]), capacity(&[1, 11]));
    assert!(two >= 1.9 * one, "{one} and {two} kb/s");
}

#[test]
fn protocols_find_routes_over_two_channels_that_deliver_at_least_1_9_times_one_radio() {
    for protocol in ["babel", "olsr", "olsrv2"] {
        let routing = format!("protocol = \"{protocol}\"");
        let (one, two) = (routed_capacity(&routing, &[1]), routed_capacity(&routing, &[1, 11]));
        println!("{protocol}: {one:.1} and {two:.1} kb/s");
        assert!(two >= 1.9 * one, "{protocol}: {one} and {two} kb/s");
    }
}

#[test]
fn babel_owes_the_second_channel_to_its_metric() {
    let without = |channels: &[u8]| routed_capacity("protocol = \"babel\"\ndiversity = false", channels);
    let (one, two) = (without(&[1]), without(&[1, 11]));
    println!("babel without diversity: {one:.1} and {two:.1} kb/s");
    assert!(two < 1.5 * one, "{one} and {two} kb/s");
}

#[test]
fn two_radios_on_one_channel_deliver_no_more_than_one() {
    let (one, same) = (capacity(&[1]), capacity(&[1, 1]));
    assert!(same <= 1.05 * one, "{one} and {same} kb/s");
}

#[test]
fn routes_alternate_between_separate_channels() {
    let result = chain(&[1, 11], 100.0);
    let hop = |link: &multihop_sim::results::LinkResult| (link.from, link.to, link.radio);
    let data: Vec<_> = result.links.iter().filter(|link| link.delivered > 50).map(hop).collect();
    assert_eq!(data, [(1, 2, Some(0)), (3, 4, Some(0)), (0, 1, Some(1)), (2, 3, Some(1))]);
    assert_eq!(result.nodes.len(), 10, "two radios at each of five nodes");
}

/// A flow over four hops with two radios at each node, under a routing protocol.
fn routed(protocol: &str) -> RunResult {
    result(&format!(
        "duration = 60.0\nwarmup = 15.0\ntopology = {{ kind = \"chain\", hops = 4 }}\n\
         [[radio]]\nchannel = 1\n[[radio]]\nchannel = 11\n[routing]\nprotocol = \"{protocol}\"\n\
         [[flow]]\napp = \"cbr\"\nsize = 500\nrate_kbps = 40.0\nstart = 20.0\n"
    ))
}

#[test]
fn agents_find_routes_over_two_radios() {
    for protocol in ["aodv", "olsr", "olsrv2", "babel"] {
        let result = routed(protocol);
        let delivered = result.totals.delivery_ratio.unwrap();
        assert!(delivered > 0.95, "{protocol}: {delivered}");
        for radio in [0, 1] {
            let queues = result.queues.iter().filter(|queue| queue.radio == Some(radio)).count();
            // A destination only answers under AODV.
            assert!(queues >= 4, "{protocol}: {queues} nodes use radio {radio}");
        }
    }
}

#[test]
fn packets_leave_over_another_radio_than_they_came_under_olsr() {
    let mut data: Vec<_> = routed("olsr").links.into_iter().filter(|link| link.delivered > 100).collect();
    data.sort_by_key(|link| link.from);
    let hops: Vec<_> = data.iter().map(|link| (link.from, link.to)).collect();
    assert_eq!(hops, [(0, 1), (1, 2), (2, 3), (3, 4)], "each hop over one radio");
    assert!(data.windows(2).all(|hops| hops[0].radio != hops[1].radio), "{data:?}");
}

#[test]
fn a_node_with_two_radios_joins_the_networks_of_both() {
    for protocol in ["static", "aodv", "olsr", "olsrv2", "babel"] {
        let result = result(&format!(
            "duration = 40.0\nwarmup = 25.0\ntopology = {{ kind = \"chain\", hops = 2 }}\n\
             [[radio]]\nchannel = 1\nnodes = [0, 1]\n[[radio]]\nchannel = 11\nnodes = [1, 2]\n\
             [routing]\nprotocol = \"{protocol}\"\n\
             [[flow]]\napp = \"cbr\"\nsize = 500\nrate_kbps = 40.0\nstart = 20.0\n\
             [[flow]]\nfrom = 2\nto = 0\napp = \"cbr\"\nsize = 500\nrate_kbps = 30.0\nstart = 20.0\n"
        ));
        for flow in &result.flows {
            let delivered = flow.delivery_ratio.unwrap();
            assert!(delivered > 0.95, "{protocol}, flow {}: {delivered}", flow.id);
        }
        assert!(!result.drops.contains_key("radio-off"), "{protocol}: {:?}", result.drops);
    }
}

#[test]
fn one_radio_in_an_array_equals_one_table() {
    let text = |radio: &str| {
        format!(
            "duration = 3.0\ntopology = {{ kind = \"chain\", hops = 3 }}\n{radio}model = \"sinr\"\n\
             fading = {{ kind = \"rayleigh\" }}\nframe_loss = 0.01\n[[flow]]\ntransport = \"newreno\"\n"
        )
    };
    let [table, array] = ["[radio]\n", "[[radio]]\n"].map(|radio| {
        let result = result(&text(radio)).timeless();
        serde_json::to_string(&result).unwrap()
    });
    assert_eq!(table, array);
}

/// Two pairs of nodes beside each other, each with a radio of its own.
fn pairs(model: &str, channels: [u8; 2]) -> Vec<f64> {
    let radio = |(channel, nodes): (u8, &str)| {
        format!(
            "[[radio]]\nphy = \"802.11a\"\nbudget = \"ns-2\"\n{model}channel = {channel}\nnodes = {nodes}\n"
        )
    };
    let radios: String = channels.into_iter().zip(["[0, 1]", "[2, 3]"]).map(radio).collect();
    let result = result(&format!(
        "duration = 4.0\nwarmup = 1.0\n{radios}[mac]\nflavour = \"standard\"\nrts_threshold = \"off\"\narp = \"oracle\"\n\
         [topology]\nkind = \"list\"\npositions = [[0, 0], [20, 0], [0, 20], [20, 20]]\n\
         [[flow]]\nfrom = 0\nto = 1\napp = \"cbr\"\nsize = 1460\nrate_kbps = 20000.0\n\
         [[flow]]\nfrom = 2\nto = 3\napp = \"cbr\"\nsize = 1460\nrate_kbps = 20000.0\n"
    ));
    assert_eq!(result.nodes.len(), 4, "each node has one radio");
    result.flows.iter().map(|flow| flow.goodput_kbps).collect()
}

#[test]
fn radios_share_the_time_of_a_channel_and_not_of_separate_channels() {
    for model in ["", "model = \"sinr\"\n"] {
        let separate = pairs(model, [36, 44]);
        let same = pairs(model, [36, 36]);
        assert!((separate[0] / separate[1] - 1.0).abs() < 0.02, "{model}: {separate:?}");
        for (same, separate) in same.iter().zip(&separate) {
            assert!((0.4..0.62).contains(&(same / separate)), "{model}: {same} of {separate} kb/s");
        }
    }
}

#[test]
fn a_neighbouring_channel_interferes_near_its_transmitters_only() {
    // 23 dB weaker: sensed up to a quarter of the 550 m of a transmitter on the same channel.
    let near = pairs("", [36, 40]);
    let separate = pairs("", [36, 44]);
    assert!(near.iter().sum::<f64>() < 0.7 * separate.iter().sum::<f64>(), "{near:?} {separate:?}");
}

#[test]
fn each_radio_consumes_energy() {
    let energy = |radios: &str| {
        let text = format!(
            "duration = 10.0\ntopology = {{ kind = \"chain\", hops = 1 }}\n{radios}\
             [energy]\ntransmit = 2.0\nreceive = 1.0\nidle = 0.5\n[[flow]]\napp = \"cbr\"\nsize = 100\nrate_kbps = 8.0\n"
        );
        result(&text).energy.unwrap().node_joules
    };
    let one = energy("[[radio]]\nchannel = 1\n");
    let two = energy("[[radio]]\nchannel = 1\n[[radio]]\nchannel = 11\n");
    for (one, two) in one.iter().zip(&two) {
        assert!((two - one - 5.0).abs() < 0.01, "the second radio is idle for 10 s: {one} and {two} J");
    }
}

/// Energy of each node in each state, J, with datagrams of 1460 bytes in 40 ms over one hop each, and with
/// these radios and flows.
fn joules(hops: u32, radios: &str, flows: &[(u32, u32)]) -> Vec<[f64; 4]> {
    let flow = |(from, to): &(u32, u32)| {
        format!(
            "[[flow]]\nfrom = {from}\nto = {to}\napp = \"cbr\"\nrate_kbps = 292.0\nsize = 1460\nstop = 20.0\n"
        )
    };
    let flows: String = flows.iter().map(flow).collect();
    let result = result(&format!(
        "duration = 21.0\n{radios}[mac]\narp = \"oracle\"\nrts_threshold = \"off\"\n\
         [energy]\ntransmit = 2.0\nreceive = 1.5\nidle = 0.5\n\
         [topology]\nkind = \"chain\"\nhops = {hops}\n{flows}"
    ));
    let energy = result.energy.unwrap();
    let states = |node: usize| {
        [&energy.transmit_joules, &energy.receive_joules, &energy.idle_joules, &energy.sleep_joules]
            .map(|joules| joules[node])
    };
    (0..energy.node_joules.len()).map(states).collect()
}

#[test]
fn the_energy_of_two_radios_is_the_sum_of_both() {
    let both = joules(
        2,
        "[[radio]]\nchannel = 1\nnodes = [0, 1]\n[[radio]]\nchannel = 11\nrate = \"11M\"\nnodes = [1, 2]\n",
        &[(0, 1), (1, 2)],
    );
    let first = joules(1, "[[radio]]\nchannel = 1\n", &[(0, 1)]);
    let second = joules(1, "[[radio]]\nchannel = 11\nrate = \"11M\"\n", &[(0, 1)]);
    let close = |got: [f64; 4], want: [f64; 4]| {
        assert!(got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-9), "{got:?}, {want:?}");
    };
    close(both[0], first[0]);
    close(both[1], std::array::from_fn(|state| first[1][state] + second[0][state]));
    close(both[2], second[1]);
    assert!(both[1][0] > 2.0 * 500.0 * 1e-3, "node 1 transmits datagrams and acknowledgements: {both:?}");
}
