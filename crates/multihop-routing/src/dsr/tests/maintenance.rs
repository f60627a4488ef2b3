use super::*;

#[test]
fn a_node_forwards_a_packet_and_learns_the_rest_of_its_path() {
    let mut n = Node::new(Config::default());
    n.input(passing(1, 5, 9, route(&[6, 1, 7], 2)));
    assert_eq!(n.out(), [forward(1, 7, route(&[6, 1, 7], 1))]);
    assert_eq!(n.path_to(9), Some(list(&[7, 9])));
    n.input(passing(2, 5, 9, route(&[6, 1], 1)));
    assert_eq!(n.out(), [forward(2, 9, route(&[6, 1], 0))]);
}

#[test]
fn a_packet_whose_route_does_not_contain_this_node_is_dropped() {
    let mut n = Node::new(Config::default());
    for wrong in [route(&[6, 1], 2), route(&[6, 7], 1), route(&[6, 1], 0), route(&[1, 5], 2)] {
        n.input(passing(1, 5, 9, wrong));
        assert_eq!(n.out(), [dropped(1, DropReason::NoRoute)]);
    }
    assert_eq!(n.agent.counters().malformed, 4);
}

#[test]
fn a_route_error_quotes_the_start_of_the_packet() {
    let mut n = Node::new(Config { salvage: false, ..Config::default() });
    let packet = data(1, 5, 9);
    n.input(failed(7, packet.clone(), route(&[6, 1, 7], 1)));
    let mut report = errors(1, 5, &[error(1, 5, 7)], route(&[6], 1));
    report.header.errors[0].quoted = Some(quoted(&packet));
    assert_eq!(
        n.out(),
        [
            dropped(1, DropReason::NoRoute),
            Output::Purge { next_hop: node(7) },
            Output::Message {
                to: Some(node(6)),
                interface: None,
                ttl: 255,
                message: Message::Dsr(Arc::new(report))
            },
        ]
    );
}

#[test]
fn a_route_error_becomes_a_notice_for_the_connection() {
    let mut n = Node::knowing(Config::default(), &[6, 7, 9]);
    n.input(own(1, 9)).out();
    let mut report = errors(6, 1, &[error(6, 1, 7)], route(&[], 0));
    let quoted = quoted(&data(1, 1, 9));
    report.header.errors[0].quoted = Some(quoted);
    n.input(arrives(255, report));
    assert_eq!(n.notices(), [(9, Notice::LinkFailed(quoted.lost_segment())), (9, Notice::RouteLost)]);
    assert_eq!(n.path_to(9), None);
    assert_eq!(n.path_to(6), Some(list(&[6])));
}

#[test]
fn a_route_error_for_another_node_is_forwarded_and_used() {
    for snoop in [true, false] {
        let mut n = Node::knowing(Config { snoop, ..Config::default() }, &[7, 8, 9]);
        let report = errors(7, 5, &[error(7, 5, 8)], route(&[1, 6], 2));
        n.input(arrives(200, report.clone()));
        let expected = DsrMessage {
            header: Header { source_route: Some(route(&[1, 6], 1)), ..report.header },
            ..report
        };
        assert_eq!(n.message(), (Some(node(6)), 199, expected));
        assert_eq!(n.path_to(8).is_none(), snoop);
    }
}

#[test]
fn own_packets_take_another_path_without_a_route_error() {
    let mut n = Node::knowing(Config::default(), &[2, 3, 9]);
    n.agent.cache.learn(n.now, Part::Secondary, &list(&[4, 5, 6, 9]));
    n.input(own(1, 9)).out();
    n.input(failed(2, data(1, 1, 9), route(&[2, 3], 2)));
    assert_eq!(n.sent(), [forward(1, 4, route(&[4, 5, 6], 3)), Output::Purge { next_hop: node(2) }]);
    // The next path is broken, too: the packet waits, and a search starts.
    n.input(failed(4, data(1, 1, 9), route(&[4, 5, 6], 3)));
    assert_eq!(
        n.out(),
        [Output::Notice { peer: node(9), notice: Notice::RouteLost }, Output::Purge { next_hop: node(4) }]
    );
    n.run_to(10);
    assert!(n.message().2.header.request.is_some());
}

#[test]
fn packets_of_others_are_salvaged_from_the_cache() {
    let mut n = Node::knowing(Config::default(), &[4, 9]);
    n.input(failed(7, data(1, 5, 9), route(&[6, 1, 7], 1)));
    let sent = n.sent();
    assert_eq!(sent[0], forward(1, 4, salvaged(&[1, 4], 1, 1)));
    assert_eq!(sent[1], Output::Purge { next_hop: node(7) });
    // The purged packets are salvaged one by one, without further route errors.
    n.input(Input::Purged { next_hop: node(7), packet: routed(data(2, 5, 9), route(&[6, 1, 7], 1)) });
    assert_eq!(n.sent(), [forward(2, 4, salvaged(&[1, 4], 1, 1))]);
    assert_eq!((n.agent.counters().salvaged, n.agent.counters().errors), (2, 1));
}

#[test]
fn the_route_error_for_a_salvaged_packet_goes_to_the_node_that_salvaged_it() {
    let mut n = Node::new(Config { salvage: false, ..Config::default() });
    n.input(failed(7, data(1, 5, 9), salvaged(&[3, 2, 1, 7], 1, 4)));
    let Some(Output::Message { to, message: Message::Dsr(message), .. }) = n.sent().pop() else {
        panic!("no route error")
    };
    assert_eq!((to, message.destination), (Some(node(2)), node(3)));
    assert_eq!((message.header.errors[0].destination, message.header.errors[0].salvage), (node(3), 4));
    assert_eq!(message.header.source_route, Some(route(&[2], 1)));
    // The node that salvaged the packet sends no notice: the packet was not its own.
    let mut n = Node::new(Config::default());
    let mut report = errors(6, 1, &[error(6, 1, 7)], route(&[], 0));
    report.header.errors[0].quoted = Some(quoted(&data(1, 5, 9)));
    n.input(arrives(255, report));
    assert_eq!(n.out(), []);
}

#[test]
fn a_packet_is_salvaged_at_most_15_times() {
    let mut n = Node::knowing(Config::default(), &[4, 9]);
    n.input(failed(7, data(1, 5, 9), salvaged(&[6, 1, 7], 1, 14)));
    assert_eq!(n.sent()[0], forward(1, 4, salvaged(&[1, 4], 1, 15)));
    n.input(failed(7, data(2, 5, 9), salvaged(&[6, 1, 7], 1, 15)));
    assert_eq!(n.sent()[0], dropped(2, DropReason::Stale));
    let mut n = Node::knowing(Config { salvage_limit: 1, ..Config::default() }, &[4, 9]);
    n.input(failed(7, data(3, 5, 9), salvaged(&[6, 1, 7], 1, 1)));
    assert_eq!(n.sent()[0], dropped(3, DropReason::Stale));
}

#[test]
fn salvaging_without_a_path_causes_a_single_ring_0_request() {
    let mut n = Node::new(Config::default());
    n.input(failed(7, data(1, 5, 9), route(&[6, 1, 7], 1))).out();
    n.run_to(45);
    let (_, ttl, message) = n.message();
    assert_eq!((ttl, message.header.request.map(|request| request.target)), (1, Some(node(9))));
    n.run_to(1_999);
    assert_eq!(n.out(), []);
    n.run_to(2_100);
    assert_eq!(n.out(), [dropped(1, DropReason::NoRoute)]);
}

#[test]
fn a_salvaged_packet_leaves_with_the_reply() {
    let mut n = Node::new(Config::default());
    n.input(failed(7, data(1, 5, 9), route(&[6, 1, 7], 1))).run_to(45).out();
    n.input(arrives(9, reply(4, 1, &[4, 9], route(&[], 0))));
    assert_eq!(n.sent(), [forward(1, 4, salvaged(&[1, 4], 1, 1))]);
}

#[test]
fn replies_with_the_broken_link_are_not_salvaged() {
    let mut n = Node::knowing(Config::default(), &[4, 5]);
    let lost = |message| Input::MessageLost { next_hop: node(7), message: Message::Dsr(Arc::new(message)) };
    // The reply goes to 5 through 7; the path in it contains the link from 7 to this node.
    n.input(lost(reply(9, 5, &[7, 1, 8, 9], route(&[8, 1, 7], 1))));
    let sent = n.sent();
    assert_eq!(sent[0], Output::Purge { next_hop: node(7) });
    // The sender of the reply gets a route error.
    let report = errors(1, 9, &[error(1, 9, 7)], route(&[8], 1));
    assert_eq!(
        sent[1..],
        [Output::Message {
            to: Some(node(8)),
            interface: None,
            ttl: 255,
            message: Message::Dsr(Arc::new(report))
        }]
    );
    // A reply with another path is salvaged.
    n.input(lost(reply(9, 5, &[3, 9], route(&[8, 1, 7], 1))));
    let Some(Output::Message { to, message: Message::Dsr(message), .. }) = n.sent().into_iter().next() else {
        panic!("lost")
    };
    assert_eq!((to, &*message), (Some(node(4)), &reply(9, 5, &[3, 9], salvaged(&[1, 4], 1, 1))));
}

#[test]
fn undeliverable_route_errors_are_nested_up_to_three() {
    let mut n = Node::new(Config { salvage: false, ..Config::default() });
    let lost = |inner: &[RouteError]| Input::MessageLost {
        next_hop: node(7),
        message: Message::Dsr(Arc::new(errors(8, 5, inner, route(&[1, 7], 1)))),
    };
    let nested = |n: &mut Node| {
        let sent = n.sent();
        assert_eq!(sent[0], Output::Purge { next_hop: node(7) });
        sent.into_iter().nth(1)
    };
    n.input(lost(&[error(8, 5, 9)]));
    let Some(Output::Message { to, message: Message::Dsr(message), .. }) = nested(&mut n) else {
        panic!("no route error")
    };
    assert_eq!(to, Some(node(8)));
    assert_eq!(message.header.errors, [error(8, 5, 9), error(1, 8, 7)]);
    n.input(lost(&[error(3, 4, 9), error(8, 3, 9)]));
    assert!(nested(&mut n).is_some());
    n.input(lost(&[error(3, 4, 9), error(8, 3, 9), error(2, 8, 9)]));
    assert_eq!(nested(&mut n), None);
}

#[test]
fn a_nested_route_error_is_unwrapped_and_forwarded() {
    let mut n = Node::knowing(Config::default(), &[2, 5]);
    n.input(arrives(255, errors(3, 1, &[error(1, 5, 9), error(3, 1, 7)], route(&[], 0))));
    let (to, _, inner) = n.message();
    assert_eq!(to, Some(node(2)));
    assert_eq!(inner, errors(1, 5, &[error(1, 5, 9)], route(&[2], 1)));
    // Without a path the route error waits like any packet.
    let mut n = Node::new(Config::default());
    n.input(arrives(255, errors(3, 1, &[error(1, 5, 9), error(3, 1, 7)], route(&[], 0)))).run_to(10);
    assert_eq!(n.message().2.header.request.map(|request| request.target), Some(node(5)));
    n.input(arrives(9, reply(5, 1, &[5], route(&[], 0))));
    assert_eq!(n.message().2, errors(1, 5, &[error(1, 5, 9)], route(&[], 0)));
}

#[test]
fn the_next_request_carries_the_last_error() {
    let mut n = Node::new(Config::default());
    n.input(arrives(255, errors(6, 1, &[error(6, 1, 7)], route(&[], 0))));
    n.input(own(1, 9)).run_to(10);
    let expected = RouteError { destination: Ipv4Addr::BROADCAST, ..error(6, 1, 7) };
    assert_eq!(n.message().2.header.errors, [expected]); // ring 0
    n.run_to(70);
    assert_eq!(n.message().2.header.errors, [expected]); // the whole network
    n.input(own(2, 8)).run_to(80);
    assert_eq!(n.message().2.header.errors, []);
}

#[test]
fn an_error_is_repeated_for_one_second_only() {
    let mut n = Node::new(Config::default());
    n.input(arrives(255, errors(6, 1, &[error(6, 1, 7)], route(&[], 0)))).run_to(1_000);
    n.input(own(1, 9)).run_to(1_010);
    assert_eq!(n.message().2.header.errors, []);
}

#[test]
fn an_error_in_a_request_is_applied_before_the_cache_is_searched() {
    let mut n = Node::knowing(Config::default(), &[6, 7, 9]);
    let mut asked = request(5, 7, 9, &[]);
    asked.header.errors = vec![error(6, 255, 7)];
    n.input(arrives(16, asked.clone())).run_to(10);
    asked.header.request = request(5, 7, 9, &[1]).header.request;
    assert_eq!(n.message().2, asked);
}
