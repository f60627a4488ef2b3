//! Neighbours detected by HELLOs.

use super::*;

fn config(preset: Preset) -> Config {
    Config { jitter: Duration::from_nanos(1), ..Config::new(preset, LinkFailure::Hello) }
}

fn hellos(mesh: &mut AodvMesh, node: usize) -> Vec<u64> {
    let start = format!("{node} -> *: RREP {node} ");
    let log = mesh.take_log();
    let lines =
        log.lines().filter_map(|line| line.split_once(" ms: ")).filter(|(_, text)| text.starts_with(&start));
    lines
        .map(|(at, _)| at.split_once('.')?.0.parse().ok())
        .collect::<Option<_>>()
        .expect("lines begin with a time")
}

#[test]
fn uu_sends_a_hello_every_second_unless_it_broadcasts_anyway() {
    let mut mesh = chain(2, &config(Preset::Uu));
    mesh.run_until(ms(2500));
    assert_eq!(mesh.take_log().lines().next(), Some("0.000 ms: 0 -> *: RREP 0 (seq 0) for 0 hops 0 ttl 1"));
    send(&mut mesh, 0, 9); // Requests at 2.5, 2.82, 3.3, 3.94, 4.74 and 7.7 s.
    mesh.run_until(ms(10_000));
    assert_eq!(hellos(&mut mesh, 0), [5740, 6740, 8700, 9700]);
}

#[test]
fn ns2_sends_hellos_at_random_intervals() {
    let mut mesh = TestNetwork::new(agents(1, &config(Preset::Ns2), 1), Net::default(), 1);
    mesh.run_until(ms(1_000_000));
    let times = hellos(&mut mesh, 0);
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (749..=1251).contains(gap)));
    assert!(gaps.iter().any(|&gap| gap < 800) && gaps.iter().any(|&gap| gap > 1200));
    assert!((960..1040).contains(&times.len()), "{}", times.len());
}

#[test]
fn there_are_no_hellos_if_the_mac_reports_failures() {
    for preset in [Preset::Ns2, Preset::Uu] {
        let agent = agents(1, &Config::new(preset, LinkFailure::Mac), 1).remove(0);
        assert_eq!(agent.poll_timeout(), None);
    }
}

/// When node 0 detects the loss of its neighbour.
fn lost(mesh: &mut AodvMesh) -> Instant {
    let route = next_hop(mesh, 0, 2);
    assert_eq!(route, Some(1));
    mesh.disconnect(0, 1);
    assert!(mesh.drive(ms(60_000), |mesh| next_hop(mesh, 0, 2).is_none()));
    mesh.now()
}

#[test]
fn uu_loses_a_neighbour_2050_ms_after_its_last_message() {
    let mut mesh = chain(3, &config(Preset::Uu));
    mesh.run_until(ms(3300));
    send(&mut mesh, 0, 2);
    mesh.run_until(ms(3340)); // Node 1 knows its neighbour, and its reply came at 3302 ms.
    assert_eq!(lost(&mut mesh), ms(3302 + 2050));
    assert!(mesh.take_log().contains("5352.000 ms: 0: route to 2 lost"));
}

#[test]
fn ns2_loses_a_neighbour_4500_ms_after_its_last_hello() {
    let config = Config { hello_jitter: Duration::ZERO, ..config(Preset::Ns2) };
    let mut mesh = chain(3, &config);
    mesh.run_until(ms(3300));
    send(&mut mesh, 0, 2);
    mesh.run_until(ms(3340)); // HELLOs arrive at 3001 ms, and other messages do not count.
    assert_eq!(lost(&mut mesh), ms(3001 + 4500));
}

#[test]
fn mac_reports_are_ignored() {
    for preset in [Preset::Ns2, Preset::Uu] {
        let mut mesh = chain(3, &config(preset));
        mesh.run_until(ms(1200));
        send(&mut mesh, 0, 2);
        mesh.run_until(ms(1300));
        mesh.disconnect(0, 1);
        send(&mut mesh, 0, 2);
        mesh.run_until(ms(1310));
        let (node, _, reason, notified) = mesh.adapter.dropped.pop().unwrap();
        assert_eq!((node, reason, notified), (0, DropReason::RetryLimit, false));
        assert_eq!(next_hop(&mesh, 0, 2), Some(1));
    }
}

#[test]
fn a_hello_creates_a_route_in_uu_only() {
    for (preset, route) in [(Preset::Ns2, None), (Preset::Uu, Some(1))] {
        let mut mesh = chain(2, &config(preset));
        mesh.run_until(ms(500));
        assert_eq!(next_hop(&mesh, 0, 1), route);
    }
}

#[test]
fn the_loss_of_a_neighbour_causes_an_error() {
    let mut mesh = chain(4, &config(Preset::Uu));
    mesh.run_until(ms(2200));
    for _ in 0..3 {
        send(&mut mesh, 0, 3);
        mesh.run_for(Duration::from_millis(700));
    }
    mesh.take_log();
    mesh.disconnect(2, 3);
    mesh.run_for(Duration::from_millis(2100));
    let log = mesh.take_log();
    let log: Vec<&str> = log.lines().filter(|line| !line.contains("-> *: RREP")).collect();
    assert_eq!(
        log,
        [
            "6051.000 ms: 2 -> 1: RERR 3 (seq 1) ttl 1",
            "6052.000 ms: 1: discards what waits for 2 to 3",
            "6052.000 ms: 1 -> 0: RERR 3 (seq 1) ttl 1",
            "6053.000 ms: 0: route to 3 lost",
            "6053.000 ms: 0: discards what waits for 1 to 3",
        ]
    );
}

#[test]
fn in_uu_use_does_not_keep_a_neighbour_without_hellos() {
    let mut mesh = TestNetwork::new(agents(2, &config(Preset::Uu), 1), Net::default(), 1);
    mesh.run_until(ms(100));
    mesh.input(0, message_input(1, 1, Message::ReplyAck));
    mesh.run_until(ms(2900));
    send(&mut mesh, 0, 1);
    assert_eq!(next_hop(&mesh, 0, 1), Some(1));
    mesh.run_until(ms(3100));
    assert_eq!(next_hop(&mesh, 0, 1), None);
}

/// The sequence number that node 0 has for its neighbour, which announced 7, after the route to it has
/// expired and each of these messages has arrived.
fn numbers(link_failure: LinkFailure, messages: [(u8, Message); 2]) -> [Option<Sequence>; 2] {
    let mut mesh = TestNetwork::new(agents(2, &Config::new(Preset::Uu, link_failure), 1), Net::default(), 1);
    let hear = |mesh: &mut AodvMesh, (ttl, message)| {
        mesh.input(0, message_input(1, ttl, message));
        let (_, route) =
            mesh.machines[0].routes().find(|(to, _)| *to == addr(1)).expect("node 1 is in the table");
        assert_eq!(route.state, RouteState::Valid);
        route.sequence
    };
    hear(&mut mesh, (2, says(7)));
    mesh.run_until(ms(20_000));
    assert_eq!(next_hop(&mesh, 0, 1), None);
    messages.map(|message| hear(&mut mesh, message))
}

fn says(sequence: u32) -> Message {
    Message::Reply(Reply {
        repair: false,
        ack_required: false,
        prefix_size: 0,
        hop_count: 0,
        destination: addr(1),
        destination_sequence: Sequence(sequence),
        originator: addr(0),
        lifetime_ms: 2000,
    })
}

#[test]
fn with_hellos_only_a_hello_undoes_the_increment_of_a_failure() {
    let (message, hello) = (|| (1, Message::ReplyAck), || (1, says(7)));
    let number = |number| Some(Sequence(number));
    assert_eq!(numbers(LinkFailure::Hello, [hello(), message()]), [number(7), number(7)]);
    assert_eq!(numbers(LinkFailure::Hello, [message(), hello()]), [number(8), number(8)]);
    assert_eq!(numbers(LinkFailure::Mac, [message(), hello()]), [number(7), number(7)]);
}

#[test]
fn with_hellos_the_first_reply_after_a_failure_is_not_forwarded() {
    let mut mesh = chain(3, &config(Preset::Uu));
    mesh.run_until(ms(1200));
    send(&mut mesh, 0, 2);
    mesh.run_until(ms(1300));
    mesh.disconnect(1, 2);
    mesh.run_until(ms(3500));
    mesh.connect(1, 2, TestLink::GOOD);
    mesh.take_log();
    send(&mut mesh, 0, 2);
    let passed_on = |log: &str| log.contains("1 -> 0: RREP 2 ");
    mesh.run_for(Duration::from_millis(400));
    let log = mesh.take_log();
    assert!(log.contains("2 -> 1: RREP 2 ") && !passed_on(&log), "{log}");
    mesh.run_for(Duration::from_millis(400));
    assert!(passed_on(&mesh.take_log()));
    assert_eq!(next_hop(&mesh, 0, 2), Some(1));
}
