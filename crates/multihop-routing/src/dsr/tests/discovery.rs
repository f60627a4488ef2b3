use super::*;

/// The requests in the outputs: TTL, number, target.
fn requests(outputs: Vec<Output>) -> Vec<(u8, u16, u8)> {
    let request = |output| match output {
        Output::Message { to: None, ttl, message: Message::Dsr(message), .. } => {
            message.header.request.map(|request| (ttl, request.id, request.target.octets()[3]))
        }
        _ => None,
    };
    outputs.into_iter().filter_map(request).collect()
}

#[test]
fn a_search_starts_with_ring_0_and_backs_off_exponentially() {
    let mut n = Node::new(Config::default());
    n.input(own(1, 9));
    assert_eq!(n.out(), []); // jitter
    n.run_to(10);
    assert_eq!(requests(n.out()), [(1, 1, 9)]);
    n.run_to(30);
    assert_eq!(n.out(), []);
    n.run_to(70);
    assert_eq!(requests(n.out()), [(16, 2, 9)]);
    for (after, until, ids) in [(2_000, 2_120, [3, 4]), (10_000, 10_150, [5, 6]), (20_000, 20_180, [7, 8])] {
        n.run_to(after);
        assert_eq!(n.out(), []);
        n.run_to(until);
        assert_eq!(requests(n.out()), [(1, ids[0], 9), (16, ids[1], 9)]);
    }
    n.run_to(29_999);
    assert_eq!(n.out(), []);
    n.run_to(30_000);
    assert_eq!(n.out(), [dropped(1, DropReason::BufferTimeout)]);
    n.run_to(100_000);
    assert_eq!(n.out(), []);
    assert_eq!(n.agent.poll_timeout(), None);
}

#[test]
fn there_is_one_search_for_each_target() {
    let mut n = Node::new(Config::default());
    n.input(own(1, 9)).input(own(2, 9)).input(own(3, 8)).run_to(29);
    assert_eq!(requests(n.out()).len(), 2);
    // A packet that arrives after the ring-0 timeout triggers the next step of the search itself.
    n.now = Instant::ZERO + Duration::from_millis(30);
    n.input(own(4, 9)).run_to(45);
    assert!(requests(n.out()).contains(&(16, 3, 9)));
}

#[test]
fn without_ring_0_the_first_request_propagates() {
    let mut n = Node::new(Config { ring0: false, ..Config::default() });
    n.input(own(1, 9)).run_to(1_999);
    assert_eq!(requests(n.out()), [(16, 1, 9)]);
}

#[test]
fn a_request_is_forwarded_once_with_this_node_added() {
    let mut n = Node::new(Config::default());
    n.input(arrives(16, request(5, 7, 9, &[6]))).run_to(10);
    let (to, ttl, passed) = n.message();
    assert_eq!((to, ttl), (None, 15));
    assert_eq!(passed, request(5, 7, 9, &[6, 1]));
    // The request arrives along another path, then with an earlier id, then with this node in its path, then
    // as this node's own request.
    for seen in
        [request(5, 7, 9, &[8]), request(5, 6, 9, &[]), request(4, 1, 9, &[1]), request(1, 1, 9, &[5])]
    {
        n.input(arrives(16, seen));
    }
    // The route is full: it has 16 nodes, including the source.
    n.input(arrives(16, request(3, 1, 9, &(20..35).collect::<Vec<u8>>()))).run_to(100);
    assert_eq!(n.out(), []);
    n.input(arrives(16, request(5, 8, 9, &[6]))).run_to(200);
    n.message();
}

#[test]
fn a_ring_0_request_is_not_forwarded() {
    let mut n = Node::new(Config::default());
    n.input(arrives(1, request(5, 7, 9, &[]))).run_to(100);
    assert_eq!(n.out(), []);
}

#[test]
fn the_target_replies_to_every_copy_along_the_reverse_path() {
    let mut n = Node::new(Config::default());
    n.input(arrives(14, request(5, 7, 1, &[6, 8])));
    assert_eq!(n.out(), []); // jitter
    n.run_to(10);
    let (to, _, answer) = n.message();
    assert_eq!(to, Some(node(8)));
    assert_eq!(answer, reply(1, 5, &[6, 8, 1], route(&[8, 6], 2)));
    assert_eq!(n.path_to(5), Some(list(&[8, 6, 5])));
    n.input(arrives(14, request(5, 7, 1, &[4]))).run_to(20);
    let (to, _, answer) = n.message();
    assert_eq!((to, answer), (Some(node(4)), reply(1, 5, &[4, 1], route(&[4], 1))));
    assert_eq!(n.agent.counters().replies, 2);
}

#[test]
fn a_node_with_a_cached_path_replies_and_does_not_forward() {
    let mut n = Node::knowing(Config::default(), &[3, 9]);
    n.input(arrives(1, request(5, 7, 9, &[])));
    let (to, ttl, answer) = n.message();
    assert_eq!((to, ttl), (Some(node(5)), 255));
    assert_eq!(answer, reply(1, 5, &[1, 3, 9], route(&[], 0)));
    assert_eq!(n.path_to(5), Some(list(&[5])));
    n.run_to(100);
    assert_eq!(n.out(), []);
    assert_eq!(n.agent.counters().cache_replies, 1);
}

#[test]
fn no_cache_reply_with_a_loop_or_too_long_a_path_or_if_disabled() {
    // The path leads through 3 and back: without the loop it would not contain this node.
    let mut n = Node::knowing(Config::default(), &[3, 9]);
    n.input(arrives(16, request(5, 7, 9, &[3]))).run_to(10);
    assert_eq!(n.message().2, request(5, 7, 9, &[3, 1]));
    let passed: Vec<u8> = (20..33).collect();
    n.input(arrives(16, request(6, 1, 9, &passed))).run_to(20);
    assert!(n.message().2.header.request.is_some());
    let mut n = Node::knowing(Config { cache_replies: false, ..Config::default() }, &[3, 9]);
    n.input(arrives(16, request(5, 7, 9, &[]))).run_to(10);
    assert_eq!(n.message().2, request(5, 7, 9, &[1]));
}

#[test]
fn a_reply_releases_buffered_packets_30_ms_apart() {
    let mut n = Node::new(Config::default());
    n.input(own(1, 9)).input(own(2, 8)).input(own(3, 9)).input(own(4, 7)).run_to(10);
    n.out();
    n.input(arrives(9, reply(9, 1, &[6, 8, 9], route(&[8, 6], 0))));
    assert_eq!(n.sent(), [forward(1, 6, route(&[6, 8], 2))]);
    n.run_to(39);
    assert_eq!(n.sent(), []);
    n.run_to(40);
    assert_eq!(n.sent(), [forward(2, 6, route(&[6], 1))]);
    n.run_to(70);
    assert!(n.sent().contains(&forward(3, 6, route(&[6, 8], 2))));
    // The next search for 9 may start at once.
    n.agent.cache.link_broke(n.now, node(1), node(6));
    n.out();
    n.input(own(5, 9)).run_to(80);
    assert!(requests(n.out()).iter().any(|&(ttl, _, target)| (ttl, target) == (1, 9)));
}

#[test]
fn an_overheard_path_releases_buffered_packets_at_the_next_check() {
    let mut n = Node::new(Config::default());
    n.input(own(1, 9)).run_to(10);
    n.out();
    let packet =
        Overheard::Data { source: node(5), destination: node(9), route: Some(Arc::new(route(&[6, 7], 1))) };
    n.input(Input::Overheard { id: 1, packet });
    assert_eq!(n.sent(), []);
    n.run_to(40);
    assert_eq!(n.sent(), [forward(1, 6, route(&[6, 7], 2))]);
}

#[test]
fn the_buffer_keeps_64_packets_for_30_seconds() {
    let mut n = Node::new(Config::default());
    for ticket in 0..64 {
        n.input(own(ticket, 9));
    }
    assert_eq!(n.sent(), []);
    n.run_to(1_000).out();
    n.input(own(64, 8));
    assert_eq!(n.sent(), [dropped(0, DropReason::BufferTimeout)]);
    n.run_to(30_000);
    let expired = n.sent().into_iter().filter(|output| matches!(output, Output::Drop { .. })).count();
    assert_eq!(expired, 63);
    n.run_to(30_999).out();
    n.run_to(31_000);
    assert_eq!(n.sent(), [dropped(64, DropReason::BufferTimeout)]);
}

#[test]
fn a_known_path_is_used_at_once_and_reported_to_the_host() {
    let mut n = Node::knowing(Config::default(), &[2, 3]);
    n.input(own(1, 3));
    let path = |hops| Output::Notice { peer: node(3), notice: Notice::PathInfo { hops } };
    assert_eq!(n.out(), [path(2), forward(1, 2, route(&[2], 1))]);
    // The first packet goes to a neighbour, with an empty source route. The second one goes to a known peer,
    // without a notice.
    n.input(own(2, 2)).input(own(3, 3));
    assert_eq!(n.sent(), [forward(2, 2, route(&[], 0)), forward(3, 2, route(&[2], 1))]);
    n.input(arrives(9, reply(3, 1, &[3], route(&[], 0))));
    assert_eq!(n.notices(), [(3, Notice::PathInfo { hops: 1 })]);
}

#[test]
fn the_host_gets_notices_when_a_path_is_lost_and_restored() {
    let mut n = Node::knowing(Config::default(), &[2, 3]);
    n.input(own(1, 3)).input(own(2, 9)).out();
    n.input(arrives(9, errors(2, 1, &[error(2, 1, 3)], route(&[], 0))));
    assert_eq!(n.notices(), [(3, Notice::RouteLost)]);
    n.input(own(3, 3));
    assert_eq!(n.out(), []);
    n.input(arrives(9, reply(3, 1, &[4, 5, 3], route(&[5, 4], 0))));
    assert_eq!(
        n.out(),
        [
            Output::Notice { peer: node(3), notice: Notice::RouteRestored },
            Output::Notice { peer: node(3), notice: Notice::PathInfo { hops: 3 } },
            forward(3, 4, route(&[4, 5], 2)),
        ]
    );
}
