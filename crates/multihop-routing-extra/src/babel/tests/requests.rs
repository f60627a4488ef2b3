//! Tests of requests, and of the answers to them.

use super::*;

#[test]
fn a_new_neighbour_is_asked_for_its_routes() {
    let mut bench = Bench::new(plain());
    bench.at(100);
    bench.news();
    bench.hears(2, false);
    bench.hears(2, false);
    assert_eq!(bench.news(), ["to 2: all?"], "once");
}

#[test]
fn all_routes_are_announced_at_intervals_and_on_request_but_not_more_often_than_once_a_second() {
    let mut bench = Bench::among(plain(), &[2]);
    bench.gets(2, vec![update(9, 0, Some(0))]).news();
    bench.gets(2, vec![Tlv::RouteRequest(None)]);
    assert_eq!(bench.news(), ["1 at 0 #0", "9 at 96 #0"]);
    bench.gets(2, vec![Tlv::RouteRequest(None)]);
    assert_eq!(bench.news(), Vec::<String>::new());
    bench.at(6_000);
    assert_eq!(bench.news().len(), 2);
    bench.at(18_000);
    assert_eq!(bench.news(), Vec::<String>::new());
    bench.at(22_000);
    assert_eq!(bench.news(), ["1 at 0 #0", "9 at 96 #0"], "within 16 s");
}

#[test]
fn a_request_for_one_route_is_answered_with_it_or_its_end() {
    let mut bench = Bench::among(plain(), &[2]);
    bench.gets(2, vec![update(9, 0, Some(0))]).news();
    for to in [9, 8] {
        bench.gets(2, vec![Tlv::RouteRequest(Some(Prefix::host(node(to))))]);
    }
    assert_eq!(bench.news(), ["9 at 96 #0", "8 lost"]);
}

#[test]
fn a_request_for_this_node_raises_its_sequence_number() {
    let mut bench = Bench::among(plain(), &[2]);
    bench.gets(2, vec![request(OWN, 1, 64)]);
    assert_eq!(bench.news(), ["1 at 0 #1"]);
    bench.gets(2, vec![request(OWN, 1, 64)]);
    assert_eq!(bench.news(), ["1 at 0 #1"], "it is that high already");
}

#[test]
fn a_request_is_answered_by_a_route_that_is_new_enough_and_forwarded_otherwise() {
    let mut bench = Bench::among(plain(), &[2, 3, 4]);
    bench.gets(2, vec![update(9, 5, Some(0))]).news();
    bench.gets(3, vec![request(9, 5, 64)]);
    assert_eq!(bench.news(), ["9 at 96 #5"]);
    bench.gets(3, vec![request(9, 6, 1)]);
    assert_eq!(bench.news(), Vec::<String>::new(), "it may not go further");
    bench.gets(3, vec![request(9, 6, 64)]);
    assert_eq!(bench.news(), ["to 2: 9? #6 hops 63"]);
    bench.gets(4, vec![request(9, 6, 64)]);
    assert_eq!(bench.news(), Vec::<String>::new(), "under way");
    bench.at(7_000);
    assert_eq!(bench.news(), ["to 2: 9? #6 hops 63"], "repeated after 2 s");
    bench.gets(2, vec![update(9, 6, Some(0))]);
    assert_eq!(bench.news(), ["9 at 96 #6"], "the answer goes on at once");
}

#[test]
fn a_request_does_not_return_to_where_it_came_from() {
    let mut bench = Bench::among(plain(), &[2, 3]);
    bench.gets(2, vec![update(9, 5, Some(0))]).news();
    bench.gets(2, vec![request(9, 6, 64)]);
    assert_eq!(bench.news(), Vec::<String>::new());
    bench.gets(3, vec![update(9, 5, Some(90))]).news();
    bench.gets(2, vec![request(9, 6, 64)]);
    assert_eq!(bench.news(), ["to 3: 9? #6 hops 63"], "through another neighbour");
}

#[test]
fn acknowledgements_are_sent_on_request() {
    let mut bench = Bench::among(plain(), &[2]);
    bench.gets(2, vec![Tlv::AckRequest { opaque: 77, interval: Centis(10) }]);
    assert_eq!(bench.news(), ["to 2: Ack { opaque: 77 }"]);
}
