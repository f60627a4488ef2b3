use alloc::vec;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use multihop_testkit::damage::damage;

fn metric() -> impl Strategy<Value = Option<Metric>> {
    option::of((0..0x1000_u16).prop_map(Metric))
}

fn metrics() -> impl Strategy<Value = Metrics> {
    (metric(), metric()).prop_map(|(incoming, outgoing)| Metrics { incoming, outgoing })
}

fn neighbour() -> impl Strategy<Value = Neighbour> {
    let status =
        option::of(
            prop_oneof![Just(LinkStatus::Lost), Just(LinkStatus::Symmetric), Just(LinkStatus::Heard),],
        );
    (any::<Ipv4Addr>(), status, any::<(Option<bool>, bool, bool)>(), metrics(), metrics()).prop_map(
        |(address, link, (symmetric, floods, routes), link_metrics, metrics)| Neighbour {
            address,
            link,
            symmetric,
            floods,
            routes,
            link_metrics,
            metrics,
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    let codes = || (any::<u8>().prop_map(TimeCode), option::of(any::<u8>().prop_map(TimeCode)));
    let willingness = (0..16_u8, 0..16_u8).prop_map(|(flooding, routing)| Willingness { flooding, routing });
    let addresses = || vec(any::<Ipv4Addr>(), 0..3);
    let lists = (addresses(), addresses(), vec(neighbour(), 0..9));
    let hello = (any::<Ipv4Addr>(), codes(), willingness, lists).prop_map(
        |(originator, (validity, interval), willingness, (addresses, further, neighbours))| {
            Message::Hello(Hello {
                originator,
                validity,
                interval,
                willingness,
                addresses,
                further,
                neighbours,
            })
        },
    );
    let network = (any::<[u8; 4]>(), 0..=32_u8, any::<u8>(), 0..0x1000_u16).prop_map(
        |(network, prefix, distance, metric)| Attached {
            network: network.into(),
            prefix,
            distance,
            metric: Metric(metric),
        },
    );
    let links = vec((any::<Ipv4Addr>(), metric()), 0..9);
    let advertised = (any::<u16>(), any::<bool>(), links, vec(network, 0..4)).prop_map(
        |(sequence, complete, links, networks)| Arc::new(Advertised { sequence, complete, links, networks }),
    );
    let tc = (any::<(Ipv4Addr, u8, u8, u16)>(), codes(), advertised).prop_map(
        |((originator, hop_limit, hop_count, sequence), (validity, interval), advertised)| {
            Message::Tc(Tc { originator, hop_limit, hop_count, sequence, validity, interval, advertised })
        },
    );
    prop_oneof![hello, tc]
}

fn packet() -> impl Strategy<Value = Packet> {
    let packet = (any::<Option<u16>>(), vec(message(), 0..3));
    packet.prop_map(|(sequence, messages)| Packet { sequence, messages })
}

fn emitted(packet: &Packet) -> Vec<u8> {
    let mut out = Vec::new();
    packet.emit(&mut out);
    out
}

fn node(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

#[test]
fn a_hello_byte_by_byte() {
    let [cheap, dear] = [350, 2796].map(Metric::at_least);
    let both = |incoming, outgoing| Metrics { incoming: Some(incoming), outgoing: Some(outgoing) };
    let symmetric = Neighbour {
        link: Some(LinkStatus::Symmetric),
        floods: true,
        routes: true,
        link_metrics: both(cheap, dear),
        metrics: both(cheap, dear),
        ..Neighbour::new(node(2))
    };
    let heard = Neighbour {
        link: Some(LinkStatus::Heard),
        link_metrics: Metrics { incoming: Some(dear), outgoing: None },
        ..Neighbour::new(node(3))
    };
    let hello = Hello {
        originator: node(1),
        validity: TimeCode::at_least(Duration::from_secs(6)),
        interval: Some(TimeCode::at_least(Duration::from_secs(2))),
        willingness: Willingness { flooding: 7, routing: 3 },
        addresses: vec![node(1)],
        further: Vec::new(),
        neighbours: vec![symmetric, heard],
    };
    let packet = Packet { sequence: Some(258), messages: vec![Message::Hello(hello)] };
    #[rustfmt::skip]
    let expected = [
        0x08, 1, 2,
        0, 0x83, 0, 65, 10, 0, 0, 1,
        // Attributes: validity 6 s, interval 2 s, willingness.
        0, 12, 1, 0x10, 1, 0x64, 0, 0x10, 1, 0x58, 7, 0x10, 1, 0x73,
        3, 0x80, 3, 10, 0, 0, 1, 2, 3,
        0, 32,
        2, 0x50, 0, 1, 0,
        3, 0x34, 1, 2, 2, 1, 2,
        // Incoming costs: 606 = (257 + 46) * 2; 3052 is rounded up to (257 + 125) * 8 = 3056.
        7, 0x34, 1, 2, 4, 0xa1, 46, 0x83, 125,
        7, 0x50, 1, 2, 0x53, 125,
        8, 0x50, 1, 1, 3,
    ];
    assert_eq!(emitted(&packet), expected);
    assert_eq!(Packet::parse(&expected), Ok(packet));
}

#[test]
fn a_tc_byte_by_byte() {
    let links = vec![(node(2), Some(Metric::at_least(350))), (node(3), None)];
    let tc = Tc {
        originator: node(1),
        hop_limit: 255,
        hop_count: 2,
        sequence: 772,
        validity: TimeCode::at_least(Duration::from_secs(15)),
        interval: None,
        advertised: Arc::new(Advertised { sequence: 9, complete: true, links, networks: Vec::new() }),
    };
    let message = Message::Tc(tc);
    let packet = Packet { sequence: None, messages: vec![message.clone()] };
    #[rustfmt::skip]
    let expected = [
        0,
        1, 0xf3, 0, 43, 10, 0, 0, 1, 255, 2, 3, 4,
        0, 9, 1, 0x10, 1, 0x6f, 8, 0x10, 2, 0, 9,
        2, 0x80, 3, 10, 0, 0, 2, 3,
        0, 10,
        9, 0x10, 1, 3,
        7, 0x50, 0, 2, 0x11, 46,
    ];
    assert_eq!(emitted(&packet), expected);
    assert_eq!(message.wire_len(), expected.len() - 1);
    assert_eq!(Packet::parse(&expected), Ok(packet));
}

#[test]
fn what_is_required_must_be_there() {
    // The messages are HELLOs without originator and without validity, a TC without ANSN, and an unknown
    // type.
    let lacking: [&[u8]; 4] = [
        &[0, 0, 0x03, 0, 10, 0, 4, 1, 0x10, 1, 0x64],
        &[0, 0, 0x83, 0, 14, 10, 0, 0, 1, 0, 4, 7, 0x10, 1, 0x77],
        &[0, 1, 0xf3, 0, 18, 10, 0, 0, 1, 255, 0, 0, 1, 0, 4, 1, 0x10, 1, 0x6f],
        &[0, 9, 0x83, 0, 10, 10, 0, 0, 1, 0, 0],
    ];
    for bytes in lacking {
        assert_eq!(Packet::parse(bytes), Ok(Packet::default()), "{bytes:?}");
    }
}

#[test]
fn metrics_have_twelve_bits() {
    assert_eq!((Metric(0).value(), Metric(0xff).value(), Metric(0x100).value()), (1, 256, 258));
    assert_eq!(Metric::MAX.value(), 16_776_960);
    for bits in 0..0x1000_u16 {
        let value = Metric(bits).value();
        assert_eq!(Metric::at_least(value), Metric(bits), "the code of a code's value");
        assert!(bits == 0xfff || Metric(bits + 1).value() > value);
    }
    assert_eq!((Metric::at_least(0).value(), Metric::at_least(u32::MAX)), (1, Metric::MAX));
    assert_eq!(Metric::at_least(257).value(), 258);
}

#[test]
fn times_have_eight_bits() {
    assert_eq!([0, 7].map(|code| TimeCode(code).time().as_nanos()), [976_562, 1_831_054]);
    assert_eq!([80, 255].map(|code| TimeCode(code).time()), [1, 3_932_160].map(Duration::from_secs));
    assert_eq!(TimeCode::at_least(Duration::from_secs(2)), TimeCode(0x58));
    assert_eq!(TimeCode::at_least(Duration::from_secs(6)), TimeCode(0x64));
    assert_eq!(TimeCode::at_least(Duration::ZERO), TimeCode(0));
    assert_eq!(TimeCode::at_least(Duration::MAX), TimeCode(255));
}

#[test]
fn the_longest_message_can_be_sent() {
    let at = |n: u16| Ipv4Addr::from_bits(0x0a00_0000 + u32::from(n) * 7919);
    // All neighbours have different attributes, so that none are shared.
    let most = u16::try_from(MAX_ADDRESSES).unwrap();
    let neighbours = (0..most).map(|n| {
        let metric = |of| Some(Metric((n * 4 + of) % 0x1000));
        let on = n % 2 == 0;
        Neighbour {
            link: on.then_some(LinkStatus::Heard),
            symmetric: on.then_some(true),
            floods: on,
            link_metrics: Metrics { incoming: metric(0), outgoing: metric(1) },
            metrics: Metrics { incoming: metric(2), outgoing: metric(3) },
            ..Neighbour::new(at(n))
        }
    });
    let hello = Hello {
        originator: at(0),
        validity: TimeCode(0),
        interval: None,
        willingness: Willingness::default(),
        addresses: Vec::new(),
        further: Vec::new(),
        neighbours: neighbours.collect(),
    };
    let packet = Packet { sequence: None, messages: vec![Message::Hello(hello)] };
    assert_eq!(Packet::parse(&emitted(&packet)), Ok(packet));
}

proptest! {
    #[test]
    fn parse_undoes_emit(packet in packet()) {
        let bytes = emitted(&packet);
        prop_assert_eq!(bytes.len(), packet.wire_len());
        prop_assert_eq!(Packet::parse(&bytes), Ok(packet));
    }

    #[test]
    fn no_input_panics(packet in packet(), damage in damage()) {
        let mut bytes = emitted(&packet);
        damage.apply(&mut bytes);
        if let Ok(parsed) = Packet::parse(&bytes) {
            prop_assert_eq!(Packet::parse(&emitted(&parsed)), Ok(parsed));
        }
    }
}
