//! Hidden and exposed terminals, event by event.
//!
//! Single datagrams are sent at chosen instants. Only the backoffs are random; each is derived from the first frame that
//! follows it, and all other instants are computed by hand.

use crate::support::{Kind, Ran, Sent, ran};

const RTS: u64 = 352_000;
const CTS: u64 = 304_000;
const ACK: u64 = 304_000;
/// 1516 bytes at 2 Mb/s.
const DATA: u64 = 6_256_000;
const SIFS: u64 = 10_000;
const DIFS: u64 = 50_000;
const EIFS: u64 = 364_000;
const SLOT: u64 = 20_000;
/// Link delay between IP and MAC.
const LINK: u64 = 25_000;
/// From the start of an RTS until its CTS is overdue: RTS, SIFS, CTS and twice 2 us.
const NO_CTS: u64 = RTS + SIFS + CTS + 4_000;

/// Propagation delay, ns rounded up.
fn flight(metres: u64) -> u64 {
    (10 * metres).div_ceil(3)
}

/// Four nodes on a line at `x`; the second flow's datagram is sent `later` seconds after the first's.
fn two_links(x: [f64; 4], [first, second]: [(u32, u32); 2], later: f64, seed: u64, flavour: &str) -> Ran {
    let places: Vec<_> = x.iter().map(|x| format!("[{x:?}, 0.0]")).collect();
    let flow = |(from, to), start: f64| {
        // There is one datagram, because the next would be sent after the end.
        format!(
            "[[flow]]\nfrom = {from}\nto = {to}\napp = \"cbr\"\nrate_kbps = 10.0\nsize = 1460\nstart = {start:?}\n"
        )
    };
    ran(&format!(
        "duration = 0.1\nseed = {seed}\n\
         [mac]\narp = \"oracle\"\nflavour = \"{flavour}\"\n\
         [topology]\nkind = \"list\"\npositions = [{}]\n{}{}",
        places.join(", "),
        flow(first, 0.001),
        flow(second, 0.001 + later)
    ))
}

/// Slots between `from` and `at`, which must be whole.
fn slots(at: u64, from: u64) -> u64 {
    assert!(at >= from, "sent at {at} ns, not allowed before {from}");
    assert_eq!((at - from) % SLOT, 0, "{at} is no slot boundary after {from}");
    (at - from) / SLOT
}

fn of(sent: &[Sent], nodes: [u32; 2]) -> Vec<Sent> {
    sent.iter().filter(|frame| nodes.contains(&frame.node)).cloned().collect()
}

/// RTS, CTS, data and ACK over 200 m, the first at `at`.
fn assert_exchange(frames: &[Sent], from: u32, to: u32, at: u64) {
    let hop = flight(200);
    let cts = at + RTS + hop + SIFS;
    let data = cts + CTS + hop + SIFS;
    let ack = data + DATA + hop + SIFS;
    let expected =
        [(at, from, Kind::Rts), (cts, to, Kind::Cts), (data, from, Kind::Data), (ack, to, Kind::Ack)];
    let found: Vec<_> = frames.iter().map(|frame| (frame.at, frame.node, frame.kind)).collect();
    assert_eq!(found, expected);
}

/// Positions of the sender (node 0) and the hidden node (node 2) of the four-node layout of TCP-AP's Figure
/// 6: 600 m apart, with the sender's receiver 400 m from the hidden node.
const HIDDEN: [f64; 4] = [0.0, 200.0, 600.0, 800.0];

/// Node 2's data keeps node 1's receiver busy (400 m: an error). No RTS of node 0, which does not sense that data,
/// succeeds until node 1 has waited EIFS.
#[test]
fn a_hidden_terminal_blocks_the_receiver() {
    let mut failures = 0;
    for seed in 1..=20 {
        let ran = two_links(HIDDEN, [(2, 3), (0, 1)], 0.004, seed, "ns2");
        let sent = ran.sent();

        let theirs = of(&sent, [2, 3]);
        let their_rts = theirs[0].at;
        assert!(slots(their_rts, 1_000_000 + LINK + DIFS) <= 30);
        assert_exchange(&theirs, 2, 3, their_rts);
        let data_reaches_1 = theirs[2].at + flight(400);
        let deaf_until = data_reaches_1 + DATA + EIFS;

        let ours = of(&sent, [0, 1]);
        let mut free = 5_000_000 + LINK;
        let mut window = 31;
        let mut tries = 0;
        for (n, rts) in ours.iter().enumerate().take_while(|(_, frame)| frame.kind == Kind::Rts) {
            assert!(slots(rts.at, free + DIFS) < window, "attempt {n} with a window of {window}");
            let answered = rts.at + RTS + flight(200) + SIFS >= deaf_until
                && rts.at + flight(200) >= data_reaches_1 + DATA;
            tries += 1;
            if answered {
                assert_exchange(&ours[n..], 0, 1, rts.at);
                break;
            }
            failures += 1;
            free = rts.at + NO_CTS;
            window = 2 * window + 1;
        }
        assert_eq!(ran.result.mac.retries, tries - 1, "seed {seed}");
        assert_eq!(ours.len() as u64, tries + 3, "the last RTS was answered");
        assert!(ran.result.flows.iter().all(|flow| flow.segments_delivered == 1));
    }
    assert!(failures >= 20, "every run has at least one, because the data lasts longer than a backoff");
}

/// With the other link 60 m nearer, the senders sense each other (540 m) and node 0 waits.
#[test]
fn a_sender_within_sense_range_waits() {
    for seed in 1..=20 {
        let ran = two_links([0.0, 200.0, 540.0, 740.0], [(2, 3), (0, 1)], 0.004, seed, "ns2");
        let sent = ran.sent();
        let theirs = of(&sent, [2, 3]);
        assert_exchange(&theirs, 2, 3, theirs[0].at);
        // Node 0 receives an error: EIFS, and in ns-2 also DIFS. Node 3's ACK is too far away to be sensed.
        let data_over = theirs[2].at + DATA + flight(540);
        let ours = of(&sent, [0, 1]);
        assert!(slots(ours[0].at, data_over + EIFS + DIFS) <= 30);
        assert_exchange(&ours, 0, 1, ours[0].at);
        assert_eq!((ran.result.mac.retries, ran.result.mac.collisions), (0, 0));
    }
}

#[test]
fn hidden_senders_collide_much_more_often_than_those_in_sense_range() {
    let retries = |x: f64| {
        let text = format!(
            "duration = 20.0\n[mac]\narp = \"oracle\"\n\
             [topology]\nkind = \"list\"\npositions = [[0.0, 0.0], [200.0, 0.0], [{x:?}, 0.0], [{:?}, 0.0]]\n\
             [[flow]]\nfrom = 0\nto = 1\napp = \"cbr\"\nrate_kbps = 2000.0\nsize = 1460\n\
             [[flow]]\nfrom = 2\nto = 3\napp = \"cbr\"\nrate_kbps = 2000.0\nsize = 1460\n",
            x + 200.0
        );
        let mac = ran(&text).result.mac;
        (mac.retries + mac.drops) as f64 / mac.frames["rts"] as f64
    };
    let (hidden, sensed) = (retries(600.0), retries(540.0));
    assert!(hidden > 0.3 && sensed < 0.1, "share of failed tries: hidden {hidden}, sensed {sensed}");
}

/// Node 1 sends to node 0, away from node 2. Node 2 would disturb no one by sending to node 3, but it hears the RTS, sets
/// its NAV, and waits EIFS after the ACK of node 0, which it cannot decode at 400 m.
#[test]
fn an_exposed_sender_defers_unnecessarily() {
    for (flavour, after_error) in [("ns2", EIFS + DIFS), ("standard", EIFS)] {
        for seed in 1..=10 {
            let ran = two_links([0.0, 200.0, 400.0, 600.0], [(1, 0), (2, 3)], 0.004, seed, flavour);
            let sent = ran.sent();
            let theirs = of(&sent, [0, 1]);
            assert_exchange(&theirs, 1, 0, theirs[0].at);
            let ack_over = theirs[3].at + ACK + flight(400);
            let ours = of(&sent, [2, 3]);
            assert!(slots(ours[0].at, ack_over + after_error) <= 31);
            assert_exchange(&ours, 2, 3, ours[0].at);
            assert_eq!(ran.result.mac.retries, 0);
        }
    }
}
