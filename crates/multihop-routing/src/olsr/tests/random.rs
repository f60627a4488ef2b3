//! Tests with random inputs: no panics, no missed deadlines, and cached results equal recomputed ones.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::olsr::links::State;

#[derive(Clone, Debug)]
enum Op {
    Wait(u64),
    Hello { from: u8, willingness: u8, links: Vec<(u8, u8)>, reported: Option<u32> },
    Flood { from: u8, originator: u8, sequence: u8, ansn: u8, ttl: u8, ends: Vec<u8>, mid: bool },
    Data { previous_hop: Option<u8>, to: u8 },
    Fails { next_hop: u8 },
}

fn op() -> impl Strategy<Value = Op> {
    let some = || 1..8_u8;
    prop_oneof![
        3 => (0..4_000_u64).prop_map(Op::Wait),
        6 => (2..8_u8, 0..8_u8, vec((0..5_u8, some()), 0..6), proptest::option::of(0..9_000_u32))
            .prop_map(|(from, willingness, links, reported)| Op::Hello { from, willingness, links, reported }),
        4 => (2..8_u8, some(), any::<(u8, u8)>(), 0..4_u8, vec(1..12_u8, 0..5), any::<bool>()).prop_map(
            |(from, originator, (sequence, ansn), ttl, ends, mid)| {
                Op::Flood { from, originator, sequence: sequence % 16, ansn: ansn % 8, ttl, ends, mid }
            }
        ),
        2 => (proptest::option::of(some()), some()).prop_map(|(previous_hop, to)| Op::Data { previous_hop, to }),
        1 => some().prop_map(|next_hop| Op::Fails { next_hop }),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let hysteresis = prop_oneof![Just(None), Just(Some(Hysteresis::default()))];
    let failure = prop_oneof![Just(LinkFailure::Hello), Just(LinkFailure::Mac)];
    (any::<bool>(), hysteresis, failure, 1..3_u8, metric()).prop_map(
        |(um, hysteresis, link_failure, mpr_coverage, metric)| {
            let base = if um { Config::um_olsr() } else { Config::rfc() };
            let config = Config { hysteresis, link_failure, mpr_coverage, ..base };
            metric.map_or(config.clone(), |metric| config.with_metric(metric))
        },
    )
}

fn metric() -> impl Strategy<Value = Option<Metric>> {
    let clocks = prop_oneof![Just(Clocks::Synchronised), Just(Clocks::Echoed)];
    proptest::option::of((clocks, any::<bool>(), 0..3_u64).prop_map(|(clocks, kept, hold)| Metric {
        clocks,
        switching: Switching {
            hysteresis: if kept { 200_000 } else { 0 },
            hold: Duration::from_secs(hold),
            own_load: kept,
        },
        ..Metric::default()
    }))
}

fn run(b: &mut Bench, op: Op) {
    match op {
        Op::Wait(ms) => {
            let now = b.now.as_nanos() / 1_000_000;
            b.at_ms(now + ms);
        }
        Op::Hello { from, willingness, links, reported } => {
            let codes = [SYM, MPR, ASYM, LOST, LinkCode::Unspecified(NeighbourType::Symmetric)];
            let links: Vec<_> = links.into_iter().map(|(code, n)| (codes[usize::from(code)], n)).collect();
            let mut message = hello(from, &links, Willingness(willingness));
            if let (Some(reported), Body::Hello(hello)) = (reported, &mut message.body) {
                let (heard, stamp) = (vec![(node(OWN), reported)], reported.wrapping_mul(1_000));
                let quantity = DELAY.quantity;
                let report = Report { number: b.sequence, quantity, stamp, heard, echoes: Vec::new() };
                hello.report = Some(Box::new(report));
            }
            b.gets(from, vec![message]);
        }
        Op::Flood { from, originator, sequence, ansn, ttl, ends, mid } => {
            let sequence = u16::from(sequence);
            let message = if mid {
                flooded(originator, sequence, Body::Mid(Mid { interfaces: nodes(&ends) }))
            } else {
                tc(originator, sequence, ansn.into(), &ends)
            };
            let prices = (0..).take(ends.len()).map(|n| n * 700).collect::<Vec<u32>>();
            let prices = costs(originator, sequence.wrapping_add(100), ansn.into(), &prices);
            b.gets(from, vec![Message { ttl, ..message }, Message { ttl, ..prices }]);
        }
        Op::Data { previous_hop, to } => {
            b.packet(previous_hop, to);
        }
        Op::Fails { next_hop } => {
            let packet = data(None, next_hop);
            b.give(Input::LinkFailed { next_hop: node(next_hop), packet, quoted: None });
        }
    }
}

/// Checks that cached results follow from the sets, and that no tuple outlives its expiry time.
fn check(b: &mut Bench) {
    let mut anew = b.agent.clone();
    anew.stale = Stale { mprs: true, routes: true, ..anew.stale };
    assert_eq!(b.agent.routes(), anew.routes());
    assert_eq!(b.agent.mprs(), anew.mprs());
    let now = b.now;
    assert!(b.agent.two_hops.pairs().all(|(.., until)| now < until));
    assert!(b.agent.topology.expiries().iter().all(|&at| now < at));
    assert!(b.agent.selectors.expiries().iter().all(|&at| now < at));
    assert!(b.agent.links.iter().all(|link| link.symmetric == (link.state(now) == State::Symmetric)));
    let neighbours = b.agent.neighbours();
    assert!(neighbours.eq(b.agent.neighbours.list().iter().filter(|n| n.via.is_some()).map(|n| n.main)));
    let symmetric = |main| b.agent.neighbours.is_symmetric(main);
    assert!(b.agent.two_hops.pairs().all(|(neighbour, of, _)| symmetric(neighbour) && of != node(OWN)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn cached_results_equal_recomputed_ones(config in config(), ops in vec(op(), 1..80)) {
        let mut b = Bench::with_jitter(config);
        let mut answered = 0;
        let mut asked = 0;
        for op in ops {
            asked += usize::from(matches!(op, Op::Data { .. } | Op::Fails { .. }));
            run(&mut b, op);
            check(&mut b);
            answered += b.outputs().iter().filter(|output| !matches!(output, Output::Notice { .. })).count();
        }
        prop_assert_eq!(answered, asked, "each packet gets one answer");
    }
}
