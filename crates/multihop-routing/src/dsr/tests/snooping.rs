use super::*;

fn overheard(id: u32, source: u8, destination: u8, route: SourceRoute) -> Input {
    let (source, destination, route) = (node(source), node(destination), Some(Arc::new(route)));
    Input::Overheard { id, packet: Overheard::Data { source, destination, route } }
}

fn overheard_message(id: u32, message: DsrMessage) -> Input {
    Input::Overheard { id, packet: Overheard::Message(Message::Dsr(Arc::new(message))) }
}

#[test]
fn an_overheard_packet_teaches_a_path_through_its_sender() {
    let mut n = Node::new(Config::default());
    // Node 6 transmits to node 7.
    n.input(overheard(1, 5, 9, route(&[6, 7, 8], 2)));
    assert_eq!(n.path_to(9), Some(list(&[6, 7, 8, 9])));
    assert_eq!(n.path_to(5), None);
    assert_eq!(n.out(), []);
}

#[test]
fn each_packet_is_learned_from_once() {
    let mut n = Node::new(Config::default());
    n.input(overheard(1, 5, 9, route(&[6, 7, 8], 3)));
    assert_eq!(n.path_to(9), Some(list(&[5, 6, 7, 8, 9])));
    n.input(overheard(1, 5, 9, route(&[6, 7, 8], 1)));
    assert_eq!(n.path_to(9), Some(list(&[5, 6, 7, 8, 9])));
    n.input(overheard(2, 5, 9, route(&[6, 7, 8], 1)));
    assert_eq!(n.path_to(9), Some(list(&[7, 8, 9])));
}

#[test]
fn a_lost_path_is_learned_again() {
    let mut n = Node::new(Config::default());
    for id in 1..4 {
        n.input(overheard(id, 5, 9, route(&[6, 7], 1)));
        assert_eq!(n.path_to(9), Some(list(&[6, 7, 9])));
        n.agent.cache.link_broke(n.now, node(7), node(9));
        assert_eq!(n.path_to(9), None);
    }
}

#[test]
fn a_packet_that_crossed_this_node_teaches_the_rest_of_its_path() {
    let mut n = Node::new(Config::default());
    n.input(overheard(1, 5, 9, route(&[1, 7, 8], 2)));
    assert_eq!(n.path_to(9), Some(list(&[7, 8, 9])));
}

#[test]
fn an_overheard_reply_teaches_only_the_path_beyond_this_node() {
    let mut n = Node::new(Config::default());
    // The reply goes from 9 to 5 over 8 and 6, and the path in it contains this node. Node 8 transmits to
    // node 6.
    n.input(overheard_message(1, reply(9, 5, &[2, 1, 3, 9], route(&[8, 6], 1))));
    assert_eq!(n.path_to(3), Some(list(&[3])));
    // The path in the reply does not contain this node: only the source route is used.
    n.input(overheard_message(2, reply(4, 5, &[2, 7, 4], route(&[8, 6], 1))));
    assert_eq!((n.path_to(7), n.path_to(4)), (None, None));
    assert_eq!(n.path_to(6), Some(list(&[8, 6])));
    assert_eq!(n.out(), []);
}

#[test]
fn an_overheard_route_error_is_applied() {
    let mut n = Node::knowing(Config::default(), &[6, 7, 9]);
    n.input(overheard_message(1, errors(6, 5, &[error(6, 5, 7)], route(&[3], 1))));
    assert_eq!(n.path_to(9), None);
    // The route error was addressed to another node, so this node's next request does not repeat it.
    n.input(own(1, 9)).run_to(10);
    assert_eq!(n.message().2.header.errors, []);
}

#[test]
fn nothing_is_learned_without_snooping() {
    let config = Config { snoop: false, gratuitous: false, ..Config::default() };
    let mut n = Node::new(config);
    assert!(!n.agent.wants_overheard());
    n.input(overheard(1, 5, 9, route(&[6, 7, 8], 2)));
    n.input(passing(2, 5, 9, route(&[6, 1, 7], 2)));
    n.input(overheard_message(3, reply(9, 5, &[2, 1, 3, 9], route(&[8, 6], 1))));
    assert_eq!([9, 7, 3].map(|to| n.path_to(to)), [None, None, None]);
}

#[test]
fn a_gratuitous_reply_shortens_the_path() {
    let mut n = Node::new(Config::default());
    // Node 6 transmits to node 7, and the packet would reach this node through 8.
    n.input(overheard(1, 5, 9, route(&[6, 7, 8, 1, 2], 4)));
    let (to, _, answer) = n.message();
    assert_eq!(to, Some(node(6)));
    assert_eq!(answer, reply(1, 5, &[6, 1, 2, 9], route(&[6], 1)));
    assert_eq!(n.path_to(5), Some(list(&[6, 5])));
    assert_eq!(n.agent.counters().gratuitous_replies, 1);
}

#[test]
fn the_destination_shortens_too() {
    let mut n = Node::new(Config::default());
    n.input(overheard(1, 5, 1, route(&[6], 1)));
    assert_eq!(n.message().2, reply(1, 5, &[1], route(&[], 0)));
}

#[test]
fn the_shorter_path_of_a_salvaged_packet_goes_to_the_node_that_salvaged_it() {
    let mut n = Node::new(Config::default());
    n.input(overheard(1, 5, 1, salvaged(&[6, 7], 1, 1)));
    assert_eq!(n.message().2, reply(1, 6, &[1], route(&[], 0)));
}

#[test]
fn one_gratuitous_reply_per_second_and_path() {
    let mut n = Node::new(Config::default());
    n.input(overheard(1, 5, 1, route(&[6], 1))).input(overheard(2, 5, 1, route(&[6], 1)));
    n.message();
    n.input(overheard(3, 5, 1, route(&[7], 1)));
    n.message();
    n.run_to(999).input(overheard(4, 5, 1, route(&[6], 1)));
    assert_eq!(n.out(), []);
    n.run_to(1_000).input(overheard(5, 5, 1, route(&[6], 1)));
    n.message();
    let mut n = Node::new(Config { gratuitous: false, ..Config::default() });
    n.input(overheard(1, 5, 1, route(&[6], 1)));
    assert_eq!(n.out(), []);
}

#[test]
fn own_packets_and_packets_addressed_to_this_node_are_not_learned_from() {
    let mut n = Node::new(Config::default());
    n.input(overheard(1, 5, 9, route(&[6, 1], 1)));
    n.input(overheard(2, 1, 9, route(&[6, 7], 1)));
    assert_eq!(n.path_to(9), None);
    // A packet addressed to this node does not mark its id as seen: the agent learns from the copy of the
    // next hop.
    n.input(overheard(1, 5, 9, route(&[6, 1], 0)));
    assert_eq!(n.path_to(9), Some(list(&[9])));
}
