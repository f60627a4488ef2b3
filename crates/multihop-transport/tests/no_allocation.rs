//! Once warm, a segment with virtual payload costs no allocation at either end.

use multihop_core::{BitRate, Duration, Instant, Machine, Notice};
use multihop_testkit::CountingAllocator;
use multihop_transport::congestion::Variant;
use multihop_transport::connection::Data;
use multihop_transport::pacing::PacingConfig;
use multihop_transport::tcp::{Config, Input, Output, Pacing, Ports, TcpEnd, Trip};
use multihop_transport::{mesh, tpa};
use multihop_wire::tcp::SeqNumber;
use multihop_wire::tpa::BlockSeq;

/// This test is the only one of its program, so that no other test's allocations are counted.
#[test]
fn a_warm_connection_allocates_nothing() {
    let pacer = PacingConfig::new(BitRate(2_000_000));
    let paced = Some(Pacing::new(pacer));
    let plain = Config { handshake: false, ..Config::ns2_2005() };
    allocates_nothing(&plain);
    allocates_nothing(&Config { pacing: paced, ..plain.clone() });
    for variant in [Variant::Cubic, Variant::Vegas, Variant::Westwood] {
        allocates_nothing(&Config { congestion: variant.into(), ..plain.clone() });
    }
    let by_time = Config { sack: true, rack: true, ..plain.clone() };
    allocates_nothing(&by_time);
    for variant in [Variant::Bbr, Variant::Bbr3] {
        allocates_nothing(&Config { congestion: variant.into(), ..by_time.clone() });
    }
    let timestamps = Some(Duration::from_micros(1));
    allocates_nothing(&Config { congestion: Variant::Adtcp.into(), timestamps, ..plain });
    for profile in [tpa::Config::paper(), tpa::Config::net()] {
        tpa_allocates_nothing(&tpa::Config { cwnd_max: 3, sink: true, ..profile.clone() });
        tpa_allocates_nothing(&tpa::Config { pacing: Some(pacer), sink: true, ..profile });
    }
    mesh_allocates_nothing();
}

fn mesh_allocates_nothing() {
    let config = mesh::Config { sink: true, ..mesh::Config::default() };
    let [mut sender, mut receiver] = [1, 2].map(|number| mesh::MeshEnd::new(config.clone(), 1, number));
    receiver.listen();
    sender.connect();
    sender.send(Data::Endless).expect("the stream is open");
    let mut sent = 0;
    let mut round = |now: Instant| {
        while let Some(output) = sender.poll_output(now) {
            let mesh::Output::Segment(segment) = output else { continue };
            sent += 1;
            if sent % 50 != 0 {
                receiver.receive(now + Duration::from_millis(2), segment);
            }
        }
        while let Some(output) = receiver.poll_output(now + Duration::from_millis(2)) {
            if let mesh::Output::Segment(segment) = output {
                sender.receive(now + Duration::from_millis(4), segment);
            }
        }
        sender.handle_timeout(now + Duration::from_millis(4));
        receiver.handle_timeout(now + Duration::from_millis(2));
    };
    let at = |i: u64| Instant::ZERO + Duration::from_millis(5) * i;
    (0..20_000).for_each(|i| round(at(i)));
    let before = ALLOCATOR.count();
    (20_000..22_000).for_each(|i| round(at(i)));
    let allocations = ALLOCATOR.count() - before;
    assert!(receiver.counters().delivered > 20_000, "{:?}", receiver.counters());
    assert!(sender.counters().retransmitted > 100, "{:?}", sender.counters());
    assert_eq!(allocations, 0);
}

fn tpa_allocates_nothing(config: &tpa::Config) {
    let [mut sender, mut receiver] = [(1, 2), (2, 1)]
        .map(|(local, remote)| tpa::TpaEnd::new(config.clone(), Ports { local, remote }, BlockSeq(local)));
    receiver.listen();
    sender.connect();
    sender.send(Data::Endless).expect("the connection is open");
    sender.handle(Instant::ZERO, tpa::Input::Notice(Notice::PathInfo { hops: 4 }));
    let mut sent = 0;
    let mut round = |now: Instant| {
        while let Some(output) = sender.poll_output(now) {
            let tpa::Output::Segment(segment) = output else { continue };
            sent += 1;
            if sent % 50 != 0 {
                receiver.handle(now, tpa::Input::Segment(segment));
            }
        }
        while let Some(output) = receiver.poll_output(now) {
            if let tpa::Output::Segment(segment) = output {
                sender.handle(now, tpa::Input::Segment(segment));
            }
        }
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
    };
    let at = |i: u64| Instant::ZERO + Duration::from_millis(5) * i;
    (0..20_000).for_each(|i| round(at(i)));
    let before = ALLOCATOR.count();
    (20_000..40_000).for_each(|i| round(at(i)));
    let allocations = ALLOCATOR.count() - before;
    assert!(receiver.counters().delivered > 2000, "{:?}", receiver.counters());
    assert!(sender.counters().retransmitted > 10, "{:?}", sender.counters());
    assert_eq!(allocations, 0);
}

fn allocates_nothing(config: &Config) {
    let [mut sender, mut receiver] = [(1, 2), (2, 1)]
        .map(|(local, remote)| TcpEnd::new(config.clone(), Ports { local, remote }, SeqNumber(0)));
    sender.connect();
    receiver.listen();
    sender.handle(Instant::ZERO, Input::Notice(Notice::PathInfo { hops: 1 }));
    sender.send(Data::Endless).expect("the connection is open");
    let mut lost = 0;
    let mut round = |now: Instant| {
        for _ in 0..20 {
            let Some(Output::Segment(segment)) = sender.poll_output(now) else { continue };
            lost += 1;
            if lost % 50 == 0 {
                continue;
            }
            receiver.handle(now, Input::Segment(segment));
            while let Some(output) = receiver.poll_output(now) {
                if let Output::Segment(segment) = output {
                    let way = Duration::from_micros(1 + lost % 7);
                    sender.handle(
                        now,
                        Input::Timed(segment, Trip { there: way, back: way, ..Trip::default() }),
                    );
                }
            }
        }
        sender.handle_timeout(now);
    };
    let at = |i: u64| Instant::ZERO + Duration::from_millis(50) * i;
    (0..2000).for_each(|i| round(at(i)));
    let before = ALLOCATOR.count();
    (2000..4000).for_each(|i| round(at(i)));
    let allocations = ALLOCATOR.count() - before;
    assert!(receiver.counters().delivered > 2000, "{:?}", receiver.counters());
    assert_eq!(sender.pacer().is_some(), sender.pacer().is_some_and(|pacer| pacer.cov() > 0.0));
    assert!(receiver.counters().out_of_order > 0);
    assert_eq!(allocations, 0);
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
