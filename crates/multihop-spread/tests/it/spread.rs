//! Whole transfers.

use multihop_core::{Duration, Rng};
use multihop_spread::{Body, Counters, Packet, Symbol, TransferId};

use crate::air::Air;

/// `nodes` places on a strip of four ranges, the source at one end, such that the farthest is four hops away.
fn strip(seed: u64, nodes: usize) -> Air {
    for attempt in 0.. {
        let mut rng = Rng::stream(seed, "places", attempt);
        let place = |rng: &mut Rng| (rng.range(0.0, 3.4), rng.range(0.0, 1.0));
        let mut places = vec![(0.0, 0.5)];
        places.extend((1..nodes).map(|_| place(&mut rng)));
        let air = Air::new(seed, &places);
        if air
            .hops(0)
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .is_some_and(|hops| hops.into_iter().max() == Some(4))
        {
            return air;
        }
    }
    unreachable!()
}

fn file(size: usize) -> Vec<u8> {
    let mut rng = Rng::stream(1, "file", 0);
    (0..size).map(|_| rng.next_u64().to_be_bytes()[0]).collect()
}

fn sum(air: &Air) -> Counters {
    let mut sum = Counters::default();
    for counters in
        air.stations.iter().filter_map(|station| station.node.as_ref()).map(|node| node.counters())
    {
        sum.contents += counters.contents;
        sum.relayed += counters.relayed;
        sum.suppressed += counters.suppressed;
        sum.repairs += counters.repairs;
        sum.needs += counters.needs;
        sum.reports += counters.reports;
        sum.offers += counters.offers;
        sum.poisoned += counters.poisoned;
        sum.ignored += counters.ignored;
    }
    sum
}

/// Sends a file to all; returns the time, and the share of the air of unicasts to all.
fn send_to_all(seed: u64, nodes: usize, size: usize) -> (f64, f64) {
    let (mut air, file) = (strip(seed, nodes), file(size));
    for station in 0..nodes {
        air.start(station, |config| config.expect = nodes - 1);
    }
    let id = air.offer(0, "map", &file, 1280);
    let limit = Duration::from_secs(60 + size as u64 / 1000);
    air.run(limit, |air| air.with_file("map", &file) == nodes - 1);
    let time = air.now.as_secs_f64();
    air.run(Duration::from_secs(60), |air| air.stations[0].is_done);
    let sum = sum(&air);
    let symbols = size.div_ceil(1280) as f64;
    let unicast: f64 = air.unicast(0).iter().sum::<f64>() * symbols;
    let busy = air.busy.as_secs_f64();
    let share = busy / (unicast * air.airtime(1280 + 19).as_secs_f64());
    let hops = air.hops(0).into_iter().flatten().max().unwrap();
    // Over three hops and more, a third of the channel is left to a path, and each hop repeats what is lost.
    let path = air.unicast(0).into_iter().fold(0.0, f64::max) / f64::from(hops);
    let one = symbols * air.airtime(1280 + 19).as_secs_f64() * 3.0 * path;
    println!(
        "{nodes} nodes, {hops} hops, {size} bytes, seed {seed}: {time:.1} s (a unicast to the farthest: {one:.1} s), \
         {:.2} frames per symbol, {share:.3} of the air of unicasts, rate {:.0}/s, {sum:?}",
        air.sent as f64 / symbols,
        air.stations[0].node.as_ref().unwrap().rate(id).unwrap(),
    );
    (time / one, share)
}

#[test]
fn a_file_reaches_twenty_receivers_over_four_hops() {
    let (time, share) = send_to_all(1, 21, 1_000_000);
    assert!(time < 4.0, "{time} times the least time of one unicast");
    assert!(share < 0.25, "{share} of the air of unicasts");
}

#[test]
#[ignore = "takes minutes: run it by its name with --ignored"]
fn a_hundred_megabytes_reach_twenty_receivers_over_four_hops() {
    let (time, share) = send_to_all(1, 21, 100_000_000);
    assert!(time < 3.0, "{time} times the least time of one unicast");
    assert!(share < 0.25, "{share} of the air of unicasts");
}

#[test]
#[ignore = "takes minutes: run it by its name with --ignored"]
fn a_file_reaches_a_hundred_nodes() {
    send_to_all(1, 101, 2_000_000);
}

/// Five nodes in a row with two at each hop: source, and receivers 1 to 4.
fn row() -> Air {
    let mut air = Air::new(3, &[(0.0, 0.0), (0.9, 0.0), (0.9, 0.3), (1.7, 0.0), (1.7, 0.3)]);
    (0..5).for_each(|station| air.start(station, |_| ()));
    air
}

fn until_all_have(air: &mut Air, file: &[u8], count: usize) {
    air.run(Duration::from_secs(200), |air| air.with_file("map", file) == count);
    for station in air.stations.iter().filter(|station| !station.files.is_empty()) {
        assert!(station.files["map"] == file, "a file differs");
    }
}

#[test]
fn killed_receivers_relays_and_sources_resume() {
    let (mut air, file) = (row(), file(150_000));
    air.offer(0, "map", &file, 128);
    let has_some = |station: usize| {
        move |air: &Air| {
            let stored = air.stations[station].disk.values().flat_map(|(_, _, whole)| whole);
            stored.filter(|whole| **whole).count() >= 2
        }
    };
    air.run(Duration::from_secs(100), has_some(3));
    // A receiver, then the relay on the other path, then the source.
    air.kill(3);
    air.kill(1);
    air.kill(0);
    let later = air.now + Duration::from_secs(3);
    air.run(Duration::from_secs(100), |air| air.now >= later);
    assert!(air.with_file("map", &file) < 4);
    [0, 1, 3].into_iter().for_each(|station| air.start(station, |_| ()));
    air.offer(0, "map", &file, 128);
    until_all_have(&mut air, &file, 4);
    air.run(Duration::from_secs(60), |air| air.stations[0].is_done);
}

#[test]
fn a_late_receiver_catches_up_from_neighbours_after_the_source_has_left() {
    let (mut air, file) = (row(), file(60_000));
    air.kill(4);
    air.offer(0, "map", &file, 128);
    until_all_have(&mut air, &file, 3);
    air.kill(0);
    air.start(4, |_| ());
    until_all_have(&mut air, &file, 4);
}

#[test]
fn a_receiver_that_refuses_is_reported_and_holds_nobody_back() {
    let (mut air, file) = (row(), file(60_000));
    air.stations[2].refuses = true;
    let id = air.offer(0, "map", &file, 128);
    air.run(Duration::from_secs(200), |air| air.stations[0].is_done);
    assert_eq!(air.with_file("map", &file), 3);
    let refused = air.stations[0].node.as_ref().unwrap().receivers(id).filter(|(_, one)| one.has_refused());
    assert_eq!(refused.map(|(_, one)| one.name.clone()).collect::<Vec<_>>(), ["node 2"]);
}

#[test]
fn an_empty_file_arrives() {
    let mut air = row();
    air.offer(0, "map", &[], 1280);
    air.run(Duration::from_secs(60), |air| air.stations[0].is_done);
    assert_eq!(air.with_file("map", &[]), 4);
}

#[test]
fn wrong_symbols_of_a_member_delay_a_block_and_do_not_change_it() {
    let (mut air, file) = (row(), file(60_000));
    let transfer = air.offer(0, "map", &file, 128);
    let knows = |air: &Air| air.stations[3].node.as_ref().is_some_and(|node| node.header(transfer).is_some());
    air.run(Duration::from_secs(60), knows);
    for block in [0, 1, 2] {
        for id in 0..256 {
            let body = Body::Symbol(Symbol { transfer, block, id: 1000 + id, data: vec![7; 128] });
            air.inject(3, Packet { distance: 1, backlog: 0, body });
        }
    }
    until_all_have(&mut air, &file, 4);
    assert!(sum(&air).poisoned > 0);
}

#[test]
fn packets_that_make_no_sense_are_counted_and_change_nothing() {
    let (mut air, file) = (row(), file(20_000));
    let transfer = air.offer(0, "map", &file, 128);
    let before = sum(&air).ignored;
    let symbol = |transfer, block, length| Symbol { transfer, block, id: 1, data: vec![1; length] };
    let bodies = [
        Body::Symbol(symbol(TransferId(1), 1, 128)),
        Body::Symbol(symbol(transfer, 1000, 128)),
        Body::Symbol(symbol(transfer, 1, 127)),
        Body::Need { transfer: TransferId(2), blocks: vec![(1, 1)] },
    ];
    air.run(Duration::from_secs(60), |air| air.stations[3].node.as_ref().unwrap().header(transfer).is_some());
    for body in bodies {
        air.inject(3, Packet { distance: 1, backlog: 0, body });
    }
    let need = Body::Need { transfer, blocks: vec![(u32::MAX, u16::MAX); 9] };
    air.inject(3, Packet { distance: 1, backlog: 255, body: need });
    assert_eq!(sum(&air).ignored - before, 4);
    until_all_have(&mut air, &file, 4);
}
