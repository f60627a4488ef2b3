//! Messages that change nothing.

use proptest::collection::vec;
use proptest::prelude::*;

use super::discovery::request;
use super::*;

#[test]
fn irrelevant_messages_are_reported_to_change_nothing() {
    let mut agent = agents(1, &config(Preset::Ns2), 1).remove(0);
    let asked = RoutingMessage::Aodv(Message::Request(request(5, 9)));
    assert!(agent.receive(ms(0), multihop_core::Interface(0), addr(1), 5, &asked));
    assert!(!agent.receive(ms(1), multihop_core::Interface(0), addr(2), 5, &asked), "a duplicate");
    assert!(
        !agent.receive(
            ms(1),
            multihop_core::Interface(0),
            addr(2),
            5,
            &RoutingMessage::Aodv(Message::Request(request(0, 9)))
        ),
        "its own"
    );
    let lost = |n| {
        let unreachable = vec![Unreachable { destination: addr(n), sequence: Sequence(60) }];
        RoutingMessage::Aodv(Message::Error(Error { no_delete: false, unreachable }))
    };
    assert!(
        !agent.receive(ms(2), multihop_core::Interface(0), addr(2), 1, &lost(5)),
        "the route has another next hop"
    );
    assert!(!agent.receive(ms(2), multihop_core::Interface(0), addr(1), 1, &lost(6)), "no such route");
    assert!(agent.receive(ms(2), multihop_core::Interface(0), addr(1), 1, &lost(5)));
}

fn message() -> impl Strategy<Value = Message> {
    let request =
        (1..3_u32, 1..5_usize, 0..5_usize, 0..3_u32).prop_map(|(id, originator, destination, seq)| {
            let originator_sequence = Sequence(seq);
            Message::Request(Request { id, originator_sequence, ..request(originator, destination) })
        });
    let reply = (0..5_usize, 0..5_usize, 0..3_u32, 0..2_u8).prop_map(|(to, by, seq, hop_count)| {
        Message::Reply(Reply {
            repair: false,
            ack_required: false,
            prefix_size: 0,
            hop_count,
            destination: addr(to),
            destination_sequence: Sequence(seq),
            originator: addr(by),
            lifetime_ms: 2000,
        })
    });
    let lost = (1..5_usize, 0..3_u32)
        .prop_map(|(to, seq)| Unreachable { destination: addr(to), sequence: Sequence(seq) });
    let error = (any::<bool>(), vec(lost, 1..4))
        .prop_map(|(no_delete, unreachable)| Message::Error(Error { no_delete, unreachable }));
    prop_oneof![request, reply, error]
}

proptest! {
    #[test]
    fn a_message_reported_to_change_nothing_changes_nothing(
        heard in vec((message(), 1..5_usize, 1..4_u8, 0..900_u64), 1..60),
        uu in any::<bool>(),
        hellos in any::<bool>(),
    ) {
        let preset = if uu { Preset::Uu } else { Preset::Ns2 };
        let detection = if hellos { LinkFailure::Hello } else { LinkFailure::Mac };
        let mut agent = agents(1, &Config::new(preset, detection), 1).remove(0);
        let mut now = Instant::ZERO;
        for (message, from, ttl, pause) in heard {
            now += Duration::from_millis(pause);
            while agent.poll_timeout().is_some_and(|at| at <= now) {
                agent.handle_timeout(agent.poll_timeout().unwrap());
            }
            while agent.poll_output(now).is_some() {}
            let before = format!("{agent:?}");
            if !agent.receive(now, multihop_core::Interface(0), addr(from), ttl, &RoutingMessage::Aodv(message)) {
                prop_assert_eq!(format!("{agent:?}"), before);
            }
        }
    }
}
