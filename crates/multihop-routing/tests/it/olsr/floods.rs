//! MPRs and flooding in a network that has settled.

use super::*;

fn settled(seed: u64) -> Field {
    let mut field = Field::new(50, 0.25, seed, &Config::default());
    field.run(60);
    field.mesh.adapter.sent.clear();
    field
}

#[test]
fn relays_reach_all_two_hop_neighbours() {
    let mut field = settled(11);
    for node in 0..50 {
        let relays: Vec<usize> = field.mesh.machines[node].mprs().iter().copied().map(number).collect();
        let neighbours = field.mesh.neighbours(node);
        assert!(relays.iter().all(|relay| neighbours.contains(relay)));
        let reached: BTreeSet<usize> =
            relays.iter().flat_map(|&relay| field.mesh.neighbours(relay)).collect();
        let two_away = field.distances(node).into_iter().filter(|&(_, hops)| hops == 2);
        assert!(two_away.map(|(to, _)| to).all(|to| reached.contains(&to)), "around {node}");
    }
}

#[test]
fn selectors_and_relays_correspond() {
    let mut field = settled(12);
    for node in 0..50 {
        let selectors: Vec<usize> = field.mesh.machines[node].selectors().map(number).collect();
        let chosen_by: Vec<usize> =
            (0..50).filter(|&other| field.mesh.machines[other].mprs().contains(&address(node))).collect();
        assert_eq!(selectors, chosen_by, "of {node}");
    }
}

#[test]
fn relays_forward_floods_once_and_reach_all_nodes() {
    let mut field = settled(13);
    field.run(20);
    let sent = std::mem::take(&mut field.mesh.adapter.sent);
    let last_start = field.mesh.now() - Duration::from_secs(10);
    let mut senders: BTreeMap<(usize, u16), Vec<usize>> = BTreeMap::new();
    let mut young = BTreeSet::new();
    for (at, node, packet) in &sent {
        for message in flooded(packet) {
            senders.entry(message).or_default().push(*node);
            if *at > last_start {
                young.insert(message);
            }
        }
    }
    // Floods that began before the recording, or have not ended, would be incomplete.
    senders.retain(|message, by| by[0] == message.0 && !young.contains(message));
    assert!(senders.len() > 20, "{}", senders.len());
    let (mut transmissions, mut nodes) = (0, 0);
    for ((originator, _), by) in senders {
        let once: BTreeSet<usize> = by.iter().copied().collect();
        assert_eq!(once.len(), by.len(), "a node forwarded a message of {originator} twice");
        for &node in by.iter().filter(|&&node| node != originator) {
            assert!(
                field.mesh.machines[node].selectors().next().is_some(),
                "{node} forwarded without being a relay"
            );
        }
        let mut reached: BTreeSet<usize> = by.iter().flat_map(|&node| field.mesh.neighbours(node)).collect();
        reached.remove(&originator);
        let all: BTreeSet<usize> = field.distances(originator).into_keys().collect();
        assert_eq!(reached, all, "a flood of {originator}");
        transmissions += by.len();
        nodes += all.len() + 1;
    }
    println!("a flood takes {transmissions} transmissions where {nodes} nodes hear it");
    assert!(transmissions * 10 < nodes * 8, "blind flooding needs one per node");
}
