//! Tests of the rules by which messages are forwarded.

use super::*;

/// A bench with 2 as selector and 3 as ordinary neighbour.
fn relay() -> Bench {
    let mut b = rfc();
    b.at_ms(100).hello(2, &[(MPR, OWN)]).hello(3, &[(SYM, OWN)]);
    b.sent();
    b
}

fn passed_on(b: &mut Bench) -> Vec<(u8, u16, u8, u8)> {
    let now = b.now.as_nanos() / 1_000_000;
    b.at_ms(now + 1);
    let others = b.sent().into_iter().filter(|message| message.originator != node(OWN));
    others.map(|m| (m.originator.octets()[3], m.sequence, m.ttl, m.hop_count)).collect()
}

#[test]
fn messages_from_selectors_are_forwarded_once() {
    let mut b = relay();
    let mut message = tc(9, 7, 1, &[8]);
    (message.ttl, message.hop_count) = (200, 3);
    b.gets(2, vec![message.clone()]);
    assert_eq!(passed_on(&mut b), [(9, 7, 199, 4)]);
    b.gets(2, vec![message.clone()]).gets(3, vec![message]);
    assert_eq!(passed_on(&mut b), []);
    assert_eq!(b.agent.counters().duplicates, 2);
}

#[test]
fn messages_from_others_are_never_forwarded() {
    let mut b = relay();
    b.gets(3, vec![tc(9, 7, 1, &[8])]).gets(2, vec![tc(9, 7, 1, &[8])]);
    assert_eq!(passed_on(&mut b), []);
    // A message from a node that is not a neighbour is not recorded as seen.
    b.gets(4, vec![tc(9, 8, 1, &[8])]).gets(2, vec![tc(9, 8, 1, &[8])]);
    assert_eq!(passed_on(&mut b), [(9, 8, 254, 1)]);
}

#[test]
fn unknown_message_types_are_forwarded_unchanged() {
    let mut b = relay();
    let opaque = Body::Opaque(Opaque::new(200, vec![1, 2, 3]).unwrap());
    let hna = Body::Hna(Hna { networks: vec![(node(0), node(255))] });
    b.gets(2, vec![flooded(9, 1, opaque.clone()), flooded(9, 2, hna.clone())]);
    b.at_ms(200);
    let sent: Vec<Body> = b.sent().into_iter().map(|message| message.body).collect();
    assert_eq!(sent, [opaque, hna]);
}

#[test]
fn hellos_and_messages_with_ttl_1_are_not_forwarded() {
    let mut b = relay();
    for ttl in [0, 1] {
        let message = Message { ttl, ..tc(9 + ttl, 1, 1, &[8]) };
        b.gets(2, vec![message]);
    }
    let mut far = hello(2, &[(MPR, OWN)], Willingness::DEFAULT);
    far.ttl = 9;
    b.gets(2, vec![far]);
    assert_eq!(passed_on(&mut b), []);
    assert_eq!(b.agent.topology.keys().len(), 1, "TTL 1 is processed, 0 is not");
}

#[test]
fn own_messages_are_dropped_when_they_return() {
    let mut b = relay();
    b.gets(2, vec![tc(OWN, 1, 500, &[8])]);
    assert_eq!(passed_on(&mut b), []);
    assert!(b.agent.topology.keys().is_empty());
}
