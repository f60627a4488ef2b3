use proptest::prelude::*;

use super::networks::random_links;
use super::*;

/// An event in a network.
#[derive(Clone, Debug)]
enum Change {
    Link(usize, usize),
    Send(usize, usize),
    Wait(u64),
}

fn change() -> impl Strategy<Value = Change> {
    let pair = || (0..12_usize, 0..11_usize).prop_map(|(a, b)| (a, if b < a { b } else { b + 1 }));
    prop_oneof![
        2 => pair().prop_map(|(a, b)| Change::Link(a, b)),
        3 => pair().prop_map(|(a, b)| Change::Send(a, b)),
        2 => (0..400_u64).prop_map(Change::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Links change under traffic: every packet ends once, and a packet returns to a node only if
    /// it was salvaged in between, or if its source sends it again.
    #[test]
    fn packets_revisit_nodes_only_after_salvage(
        seed in 0..1_000_u64,
        salvage in prop::bool::weighted(0.8),
        changes in prop::collection::vec(change(), 20..120),
    ) {
        let config = Config { salvage, ..Config::default() };
        let mut mesh = network(12, &random_links(12, 0.45, seed), config);
        mesh.logging = false;
        for change in changes {
            match change {
                Change::Link(a, b) if mesh.connected(a, b) => mesh.disconnect(a, b),
                Change::Link(a, b) => mesh.connect(a, b, TestLink::GOOD),
                Change::Send(a, b) => _ = send(&mut mesh, a, b),
                Change::Wait(ms) => mesh.run_for(Duration::from_millis(ms)),
            }
        }
        mesh.run_for(Duration::from_secs(120));
        for packet in &mesh.adapter.packets {
            prop_assert!(packet.end.is_some(), "{:?}", packet.senders);
            for journey in journeys(packet) {
                for (n, &(node, salvage)) in journey.iter().enumerate() {
                    let before = journey[..n].iter().rev().find(|(earlier, _)| *earlier == node);
                    prop_assert!(before.is_none_or(|&(_, earlier)| salvage > earlier), "{journey:?}");
                }
            }
        }
    }
}

/// The senders of a packet, split where its source sends the packet again after a failure of the first hop.
fn journeys(packet: &Packet) -> impl Iterator<Item = &[(usize, u8)]> {
    packet.senders.chunk_by(|_, next| *next != (packet.source, 0))
}

/// Whether the packet left a node and returned to it.
fn comes_back(journey: &[(usize, u8)]) -> bool {
    let mut nodes: Vec<usize> = journey.iter().map(|&(node, _)| node).collect();
    nodes.dedup(); // a node that salvages a packet sends it twice
    (0..nodes.len()).any(|n| nodes[..n].contains(&nodes[n]))
}

/// How often packets return if every link changes all the time; printed for the record.
#[test]
fn few_packets_return_to_a_node() {
    let mut mesh = network(20, &random_links(20, 0.35, 5), Config::default());
    mesh.logging = false;
    let mut rng = multihop_core::Rng::stream(5, "changes", 0);
    let mut node = || rng.below(20) as usize;
    for _ in 0..3_000 {
        let (a, b) = (node(), node());
        if a != b && mesh.connected(a, b) {
            mesh.disconnect(a, b);
        } else if a != b && node() < 4 {
            mesh.connect(a, b, TestLink::GOOD);
        }
        let (source, destination) = (node(), node());
        if source != destination {
            send(&mut mesh, source, destination);
        }
        mesh.run_for(Duration::from_millis(50));
    }
    mesh.run_for(Duration::from_secs(60));
    let packets = &mesh.adapter.packets;
    let count = |chosen: &dyn Fn(&Packet) -> bool| packets.iter().filter(|packet| chosen(packet)).count();
    let arrived = count(&|packet| packet.end == Some(Ok(())));
    let salvaged = count(&|packet| packet.senders.iter().any(|&(_, salvage)| salvage > 0));
    let anew = count(&|packet| journeys(packet).count() > 1);
    let back = count(&|packet| journeys(packet).any(comes_back));
    println!(
        "{} packets: {arrived} arrived, {anew} sent again by the source, {salvaged} salvaged, {back} of these returned to a node",
        packets.len()
    );
    assert!(arrived * 10 > packets.len() * 9, "{arrived} of {}", packets.len());
    assert!(0 < back && back < salvaged, "{back} of {salvaged}");
}
