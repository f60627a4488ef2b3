//! Tests of Hellos, IHUs and round trips.

use super::*;

/// The Hello and the IHUs of the latest packet that has a Hello.
fn greeting(bench: &mut Bench) -> (Hello, Vec<Ihu>) {
    let tlvs: Vec<Tlv> = bench.sent.drain(..).map(|(_, tlv)| tlv).collect();
    let is_hello = |tlv: &Tlv| matches!(tlv, Tlv::Hello(_));
    let at = tlvs.iter().rposition(is_hello).expect("a Hello was sent");
    let from = tlvs[..at].iter().rposition(is_hello).unwrap_or(0);
    let Tlv::Hello(hello) = tlvs[at] else { unreachable!() };
    let ihus =
        tlvs[from..at].iter().filter_map(|tlv| if let Tlv::Ihu(ihu) = tlv { Some(*ihu) } else { None });
    (hello, ihus.collect())
}

fn cost(bench: &Bench) -> u16 {
    bench.agent.links().next().expect("a neighbour").1
}

#[test]
fn hellos_follow_each_other_and_say_who_was_heard() {
    let mut bench = Bench::new(plain());
    bench.at(1_000);
    let (first, ihus) = greeting(&mut bench);
    assert_eq!((first.seqno, first.interval, first.timestamp, ihus.len()), (Seqno(1), Centis(400), None, 0));
    bench.hears(2, false);
    bench.hears(3, false);
    bench.hears(3, false);
    bench.at(5_000);
    let (second, ihus) = greeting(&mut bench);
    assert_eq!(second.seqno, Seqno(2));
    let said: Vec<_> = ihus.iter().map(|ihu| (ihu.address, ihu.rxcost, ihu.interval.0)).collect();
    assert_eq!(
        said,
        [(Some(node(2).into()), INFINITY, 1200), (Some(node(3).into()), 96, 1200)],
        "one Hello is not enough"
    );
}

#[test]
fn a_link_is_used_when_both_ends_hear_each_other() {
    let mut bench = Bench::new(plain());
    bench.at(100);
    bench.hears(2, false);
    bench.hears(2, false);
    assert_eq!(cost(&bench), INFINITY, "the neighbour has not heard this node");
    bench.gets(2, vec![update(2, 0, Some(0))]);
    assert_eq!(bench.route(2), None);
    bench.gets(
        2,
        vec![Tlv::Ihu(Ihu { address: Some(node(3).into()), rxcost: 96, interval: Centis(1200), echo: None })],
    );
    assert_eq!(cost(&bench), INFINITY, "it has heard another node");
    bench.gets(2, vec![ihu(96)]);
    assert_eq!((cost(&bench), bench.route(2)), (96, Some((2, 96))));
    bench.gets(2, vec![ihu(INFINITY)]);
    assert_eq!((cost(&bench), bench.route(2)), (INFINITY, None), "it no longer hears this node");
}

#[test]
fn an_ihu_holds_for_three_and_a_half_intervals() {
    let mut bench = Bench::among(plain(), &[2]);
    bench.gets(2, vec![ihu(96), update(2, 0, Some(0))]);
    bench.at(5_000 + 41_999);
    assert_eq!(bench.route(2), Some((2, 96)));
    bench.at(5_000 + 42_000);
    assert_eq!(bench.route(2), None);
}

#[test]
fn lost_hellos_cost_more_and_their_end_ends_the_routes() {
    let mut bench = Bench::new(Config { link_cost: LinkCost::Etx, ..plain() });
    let hello = |seqno| {
        Tlv::Hello(Hello { unicast: false, seqno: Seqno(seqno), interval: Centis(100), timestamp: None })
    };
    for n in 0..16 {
        bench.at(1000 * u64::from(n));
        bench.gets(2, vec![hello(n), ihu(256), update(2, 0, Some(0))]);
    }
    bench.news();
    assert_eq!(bench.route(2), Some((2, 256)));
    // Hellos are expected at 16 s and count as lost at 16.5 s and 17.5 s.
    bench.at(16_600);
    assert_eq!((bench.route(2), bench.news()), (Some((2, 341)), vec![]), "256 / 0.75, a small change");
    bench.at(17_600);
    assert_eq!(bench.route(2), Some((2, 512)));
    bench.at(18_600);
    assert_eq!(bench.route(2), Some((2, 1024)));
    assert!(bench.news().contains(&"2 at 1024 #0".into()), "a large change is announced");
    bench.at(40_000);
    assert_eq!((bench.route(2), bench.agent.links().count()), (None, 0));
    assert!(bench.news().contains(&"2 lost".into()));
}

#[test]
fn cost_is_the_product_of_both_directions() {
    let mut bench = Bench::new(Config { link_cost: LinkCost::Etx, ..plain() });
    bench.hears(2, false);
    bench.gets(2, vec![ihu(512)]);
    assert_eq!(cost(&bench), 512 * 4 - 2, "a quarter of the Hellos, and a half in the other direction");
}

#[test]
fn round_trips_add_to_the_cost() {
    let rtt = Some(RttCost { smoothing: 500_000, ..RttCost::default() });
    let mut bench = Bench::new(Config { rtt, ..plain() });
    // The neighbour's clock is ahead by 3 s.
    let hello = |bench: &mut Bench, seqno, echo| {
        let clock = neighbours::clock(bench.now).wrapping_add(3_000_000);
        let hello =
            Hello { unicast: false, seqno: Seqno(seqno), interval: Centis(6000), timestamp: Some(clock) };
        let ihu = Ihu { address: Some(node(OWN).into()), rxcost: 96, interval: Centis(6000), echo };
        bench.gets(2, vec![Tlv::Hello(hello), Tlv::Ihu(ihu), update(2, 0, Some(0))]);
    };
    bench.at(1_500);
    hello(&mut bench, 1, None);
    let mut costs = Vec::new();
    for n in 2..5 {
        bench.at(5_000 * u64::from(n));
        let (ours, ihus) = greeting(&mut bench);
        let heard = ihus[0].echo.expect("the neighbour's stamp comes back");
        assert_eq!(heard.origin - 3_000_000, heard.receive);
        // All but 76 ms of the time since the stamp's origin passed at the neighbour.
        let origin = ours.timestamp.expect("a stamp");
        let sent = neighbours::clock(bench.now) + 3_000_000;
        let held = sent - (origin + 3_000_000) - 76_000;
        hello(&mut bench, n, Some(Echo { origin, receive: sent - held }));
        costs.push(cost(&bench));
    }
    let (_, _, rtt) = bench.agent.links().next().unwrap();
    assert_eq!(rtt, Some(Duration::from_millis(76)));
    assert_eq!(costs, [96 + 90; 3], "(76 - 10) / (120 - 10) of 150");
    assert_eq!(bench.route(2), Some((2, 186)));
}
