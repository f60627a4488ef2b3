use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Addresses from a small set, so that they coincide often; the agent's node has number 1.
fn address() -> impl Strategy<Value = Ipv4Addr> {
    prop_oneof![8 => (1..9_u8).prop_map(node), 1 => Just(Ipv4Addr::BROADCAST)]
}

fn addresses() -> impl Strategy<Value = Addresses> {
    vec(address(), 0..=Addresses::MAX).prop_map(|nodes| Addresses::collect(nodes).unwrap())
}

prop_compose! {
    /// Any route that can be parsed.
    fn any_route()(nodes in addresses(), left: u8, salvage in 0..16_u8) -> SourceRoute {
        let left = left % u8::try_from(nodes.len() + 1).unwrap();
        SourceRoute { route: nodes, ..salvaged(&[], left, salvage) }
    }
}

prop_compose! {
    fn any_error()(source in address(), to in address(), node in address(), quoted: bool) -> RouteError {
        let quoted = quoted.then_some(Quoted { source, destination: to, protocol: 6, transport: [0; 20] });
        RouteError { salvage: 0, source, destination: to, fault: Fault::NodeUnreachable(node), quoted }
    }
}

prop_compose! {
    fn any_message()(
        source in address(),
        destination in address(),
        request in proptest::option::of((any::<u16>(), address(), addresses())),
        replies in vec(addresses(), 0..3),
        errors in vec(any_error(), 0..5),
        source_route in proptest::option::of(any_route()),
    ) -> Message {
        let replies = replies.into_iter().map(|route| RouteReply { last_hop_external: false, route });
        let header = Header {
            request: request.map(|(id, target, route)| RouteRequest { id, target, route }),
            replies: replies.collect(),
            errors,
            source_route,
            ..Header::new(NO_NEXT_HEADER)
        };
        Message::Dsr(Arc::new(DsrMessage { source, destination, header }))
    }
}

/// An input, and whether it contains a packet.
fn any_input() -> impl Strategy<Value = (Input, bool)> {
    let packet = || {
        (address(), address()).prop_map(|(source, destination)| Routable {
            source,
            destination,
            ..data(0, 1, 1)
        })
    };
    let message = || any_message().boxed();
    prop_oneof![
        (packet(), proptest::option::of(any_route())).prop_map(|(packet, route)| (
            Input::Packet(Routable { route: route.map(Arc::new), ..packet }),
            true
        )),
        (any::<u8>(), address(), message()).prop_map(|(ttl, from, message)| (
            Input::Message { interface: multihop_core::Interface(0), from, ttl, message },
            false
        )),
        (address(), packet(), any_route()).prop_map(|(next_hop, packet, route)| {
            let quoted = Some(quoted(&packet));
            (Input::LinkFailed { next_hop, packet: routed(packet, route), quoted }, true)
        }),
        (address(), message())
            .prop_map(|(next_hop, message)| (Input::MessageLost { next_hop, message }, false)),
        (address(), packet(), any_route()).prop_map(|(next_hop, packet, route)| (
            Input::Purged { next_hop, packet: routed(packet, route) },
            true
        )),
        (address(), message())
            .prop_map(|(next_hop, message)| (Input::MessagePurged { next_hop, message }, false)),
        (any::<u32>(), address(), address(), any_route()).prop_map(|(id, source, destination, route)| {
            let route = Some(Arc::new(route));
            (Input::Overheard { id, packet: Overheard::Data { source, destination, route } }, false)
        }),
        (any::<u32>(), message())
            .prop_map(|(id, message)| (Input::Overheard { id, packet: Overheard::Message(message) }, false)),
    ]
}

fn number(input: &mut Input, ticket: u32) {
    if let Input::Packet(packet) | Input::LinkFailed { packet, .. } | Input::Purged { packet, .. } = input {
        packet.ticket = Ticket(ticket);
    }
}

prop_compose! {
    fn any_config()(
        flags in any::<[bool; 5]>(),
        timeout in proptest::option::of(0..5_000_u64),
        negative in proptest::option::of(0..5_000_u64),
        backoff in 0..3_000_u64,
        sizes in (0..5_usize, 0..5_usize, 0..8_usize),
        salvage_limit: u8,
    ) -> Config {
        let [ring0, cache_replies, snoop, gratuitous, salvage] = flags;
        Config {
            ring0, cache_replies, snoop, gratuitous, salvage, salvage_limit,
            cache_timeout: timeout.map(Duration::from_millis),
            negative_cache: negative.map(Duration::from_millis),
            rreq_backoff_max: Duration::from_millis(backoff),
            primary_cache: sizes.0,
            secondary_cache: sizes.1,
            buffer_packets: sizes.2,
            ..Config::default()
        }
    }
}

proptest! {
    /// For any input, every packet is returned once, every output can be encoded, and no timer is due again
    /// at once.
    #[test]
    fn any_input_is_survived(
        config in any_config(),
        steps in vec((0..200_u64, any_input()), 1..60),
    ) {
        let mut n = Node::new(config);
        let (mut ms, mut tickets) = (0, 0);
        let mut back = Vec::new();
        let mut check = |outputs: Vec<Output>| {
            for output in outputs {
                match output {
                    Output::Forward { ticket, next_hop, route } => {
                        back.push(ticket.0);
                        let header = Header { source_route: route.as_deref().copied(), ..Header::new(6) };
                        header.emit(&mut Vec::new());
                        assert_ne!(next_hop, node(1));
                    }
                    Output::Drop { ticket, .. } => back.push(ticket.0),
                    Output::Message { message: Message::Dsr(message), to, .. } => {
                        message.header.emit(&mut Vec::new());
                        assert_ne!(to, Some(node(1)));
                    }
                    Output::Purge { .. } | Output::Notice { .. } => {}
                    other => panic!("not an output of DSR: {other:?}"),
                }
            }
        };
        for (wait, (mut input, hands_over)) in steps {
            ms += wait;
            n.run_to(ms);
            number(&mut input, tickets);
            tickets += u32::from(hands_over);
            n.input(input);
            check(n.out());
        }
        n.run_to(ms + 100_000);
        check(n.out());
        back.sort_unstable();
        prop_assert_eq!(back, (0..tickets).collect::<Vec<_>>());
    }
}
