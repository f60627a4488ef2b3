use super::*;

fn overheard(id: u32, source: u8, destination: u8, route: SourceRoute) -> Input {
    let (source, destination, route) = (node(source), node(destination), Some(Arc::new(route)));
    Input::Overheard { id, packet: Overheard::Data { source, destination, route } }
}

fn overheard_message(id: u32, message: DsrMessage) -> Input {
    Input::Overheard { id, packet: Overheard::Message(Message::Dsr(Arc::new(message))) }
}

#[test]
fn a_packet_that_passes_by_shows_a_way_over_its_sender() {
    let mut n = Node::new(Config::default());
    // 6 sends to 7.
    n.input(overheard(1, 5, 9, route(&[6, 7, 8], 2)));
    assert_eq!(n.way_to(9), Some(list(&[6, 7, 8, 9])));
    assert_eq!(n.way_to(5), None);
    assert_eq!(n.out(), []);
}

#[test]
fn each_packet_teaches_once() {
    let mut n = Node::new(Config::default());
    n.input(overheard(1, 5, 9, route(&[6, 7, 8], 3)));
    assert_eq!(n.way_to(9), Some(list(&[5, 6, 7, 8, 9])));
    n.input(overheard(1, 5, 9, route(&[6, 7, 8], 1)));
    assert_eq!(n.way_to(9), Some(list(&[5, 6, 7, 8, 9])));
    n.input(overheard(2, 5, 9, route(&[6, 7, 8], 1)));
    assert_eq!(n.way_to(9), Some(list(&[7, 8, 9])));
}

#[test]
fn what_was_learnt_and_lost_is_learnt_again() {
    let mut n = Node::new(Config::default());
    for id in 1..4 {
        n.input(overheard(id, 5, 9, route(&[6, 7], 1)));
        assert_eq!(n.way_to(9), Some(list(&[6, 7, 9])));
        n.agent.cache.link_broke(n.now, node(7), node(9));
        assert_eq!(n.way_to(9), None);
    }
}

#[test]
fn a_packet_on_a_way_that_led_over_this_node_shows_the_rest() {
    let mut n = Node::new(Config::default());
    n.input(overheard(1, 5, 9, route(&[1, 7, 8], 2)));
    assert_eq!(n.way_to(9), Some(list(&[7, 8, 9])));
}

#[test]
fn a_reply_that_passes_by_shows_only_this_nodes_part() {
    let mut n = Node::new(Config::default());
    // From 9 to 5 over 8 and 6; the way found leads over this node. 8 sends to 6.
    n.input(overheard_message(1, reply(9, 5, &[2, 1, 3, 9], route(&[8, 6], 1))));
    assert_eq!(n.way_to(3), Some(list(&[3])));
    // Not over this node: only the source route teaches.
    n.input(overheard_message(2, reply(4, 5, &[2, 7, 4], route(&[8, 6], 1))));
    assert_eq!((n.way_to(7), n.way_to(4)), (None, None));
    assert_eq!(n.way_to(6), Some(list(&[8, 6])));
    assert_eq!(n.out(), []);
}

#[test]
fn a_report_that_passes_by_is_heeded() {
    let mut n = Node::knowing(Config::default(), &[6, 7, 9]);
    n.input(overheard_message(1, errors(6, 5, &[error(6, 5, 7)], route(&[3], 1))));
    assert_eq!(n.way_to(9), None);
    // It is not for this node, so it does not go with this node's next request.
    n.input(own(1, 9)).run_to(10);
    assert_eq!(n.message().2.header.errors, []);
}

#[test]
fn nothing_is_learnt_without_snooping() {
    let config = Config { snoop: false, gratuitous: false, ..Config::default() };
    let mut n = Node::new(config);
    assert!(!n.agent.wants_overheard());
    n.input(overheard(1, 5, 9, route(&[6, 7, 8], 2)));
    n.input(passing(2, 5, 9, route(&[6, 1, 7], 2)));
    n.input(overheard_message(3, reply(9, 5, &[2, 1, 3, 9], route(&[8, 6], 1))));
    assert_eq!([9, 7, 3].map(|to| n.way_to(to)), [None, None, None]);
}

#[test]
fn a_gratuitous_reply_shortens_the_way() {
    let mut n = Node::new(Config::default());
    // 6 sends to 7, and the packet would come here from 8.
    n.input(overheard(1, 5, 9, route(&[6, 7, 8, 1, 2], 4)));
    let (to, _, answer) = n.message();
    assert_eq!(to, Some(node(6)));
    assert_eq!(answer, reply(1, 5, &[6, 1, 2, 9], route(&[6], 1)));
    assert_eq!(n.way_to(5), Some(list(&[6, 5])));
    assert_eq!(n.agent.counters().gratuitous_replies, 1);
}

#[test]
fn the_destination_shortens_too() {
    let mut n = Node::new(Config::default());
    n.input(overheard(1, 5, 1, route(&[6], 1)));
    assert_eq!(n.message().2, reply(1, 5, &[1], route(&[], 0)));
}

#[test]
fn the_shorter_way_of_a_salvaged_packet_goes_to_the_node_that_salvaged_it() {
    let mut n = Node::new(Config::default());
    n.input(overheard(1, 5, 1, salvaged(&[6, 7], 1, 1)));
    assert_eq!(n.message().2, reply(1, 6, &[1], route(&[], 0)));
}

#[test]
fn one_gratuitous_reply_a_second_for_each_way() {
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
fn packets_that_are_about_to_arrive_and_own_ones_do_not_teach() {
    let mut n = Node::new(Config::default());
    n.input(overheard(1, 5, 9, route(&[6, 1], 1)));
    n.input(overheard(2, 1, 9, route(&[6, 7], 1)));
    assert_eq!(n.way_to(9), None);
    // The number of a packet that was for this node is not used up: the next hop teaches.
    n.input(overheard(1, 5, 9, route(&[6, 1], 0)));
    assert_eq!(n.way_to(9), Some(list(&[9])));
}
