use super::*;

const CHAIN: [(usize, usize); 3] = [(0, 1), (1, 2), (2, 3)];

/// The log without times, which depend on jitter.
fn story(mesh: &mut TestNetwork<Air>) -> String {
    let log = mesh.take_log();
    log.lines()
        .map(|line| line.split_once(": ").expect("lines begin with the time").1.to_owned() + "\n")
        .collect()
}

#[test]
fn discovery_over_three_hops() {
    let mut mesh = network(4, &CHAIN, Config::default());
    assert_eq!(deliver(&mut mesh, 0, 3), Some(3));
    assert_eq!(
        story(&mut mesh),
        "0 -> *: request 1 for 3 ttl 1 from 0\n\
         0 -> *: request 2 for 3 ttl 16 from 0\n\
         1 -> *: request 2 for 3 ttl 15 from 0 1\n\
         2 -> *: request 2 for 3 ttl 14 from 0 1 2\n\
         3 -> 2: reply to 0 1 2 3 over 2 1 left 2\n\
         2 -> 1: reply to 0 1 2 3 over 2 1 left 1\n\
         1 -> 0: reply to 0 1 2 3 over 2 1 left 0\n\
         0: about 3: 3 hops\n\
         0 -> 1: data 0 over 1 2 left 2\n\
         1 -> 2: data 0 over 1 2 left 1\n\
         2 -> 3: data 0 over 1 2 left 0\n"
    );
    // All nodes know the path to the target now, and the target knows the reverse path.
    assert_eq!(known(&mesh, 3, 0), Some(vec![2, 1, 0]));
    assert_eq!(deliver(&mut mesh, 3, 0), Some(3));
    assert!(!story(&mut mesh).contains("request"));
}

#[test]
fn ring_0_finds_neighbours_and_cached_paths_to_distant_nodes() {
    let config = Config { snoop: false, ..Config::default() };
    let mut mesh = network(5, &[(0, 1), (1, 2), (2, 3), (4, 0)], config);
    assert_eq!(deliver(&mut mesh, 0, 1), Some(1));
    assert!(!story(&mut mesh).contains("ttl 16"));
    assert_eq!(deliver(&mut mesh, 0, 3), Some(3));
    mesh.take_log();
    assert_eq!(deliver(&mut mesh, 4, 3), Some(4));
    assert_eq!(
        story(&mut mesh),
        "4 -> *: request 1 for 3 ttl 1 from 4\n\
         0 -> 4: reply to 4 0 1 2 3 over left 0\n\
         4: about 3: 4 hops\n\
         4 -> 0: data 2 over 0 1 2 left 3\n\
         0 -> 1: data 2 over 0 1 2 left 2\n\
         1 -> 2: data 2 over 0 1 2 left 1\n\
         2 -> 3: data 2 over 0 1 2 left 0\n"
    );
}

#[test]
fn a_link_failure_is_reported_to_the_connection_and_a_new_path_found() {
    let mut mesh = network(5, &[(0, 1), (1, 2), (2, 3), (1, 4)], Config::default());
    assert_eq!(deliver(&mut mesh, 0, 3), Some(3));
    mesh.disconnect(2, 3);
    mesh.connect(4, 3, TestLink::GOOD);
    mesh.take_log();
    let lost = send(&mut mesh, 0, 3);
    mesh.run_for(Duration::from_secs(3));
    let log = story(&mut mesh);
    // Node 2 sends the route error at once, sends a ring-0 request, and drops the packet.
    assert!(log.contains("2 -> 1:  error: 2 not to 3 over 1 left 1\n"), "{log}");
    assert!(log.contains("0: about 3: link failed\n0: about 3: route lost\n"), "{log}");
    assert!(log.contains("2: drop: no-route\n"), "{log}");
    assert_eq!(mesh.adapter.packets[lost].end, Some(Err(DropReason::NoRoute)));
    // The next request carries the error, and so clears the caches along its path.
    assert_eq!(deliver(&mut mesh, 0, 3), Some(3));
    let log = story(&mut mesh);
    assert!(log.contains("1 -> 4: data 2"), "{log}");
    assert!(log.contains("0: about 3: route restored\n0: about 3: 3 hops\n"), "{log}");
}

#[test]
fn a_packet_is_salvaged_if_another_path_is_known() {
    // 0 - 1 - 2 - 3, and 1 - 4 - 3.
    let mut mesh = network(5, &[(0, 1), (1, 2), (2, 3), (1, 4), (4, 3)], Config::default());
    assert_eq!(deliver(&mut mesh, 0, 3), Some(3));
    let path = known(&mesh, 0, 3).unwrap();
    let other = if path[1] == 2 { 4 } else { 2 };
    mesh.disconnect(1, path[1]);
    mesh.take_log();
    assert_eq!(deliver(&mut mesh, 0, 3), Some(3));
    let log = story(&mut mesh);
    assert!(log.contains(&format!("1 -> {other}: data 1 over 1 {other} left 1 salvaged 1\n")), "{log}");
    assert!(log.contains("0: about 3: link failed\n"), "{log}");
}

#[test]
fn a_node_that_comes_into_range_shortens_the_path() {
    let mut mesh = network(4, &CHAIN, Config::default());
    assert_eq!(deliver(&mut mesh, 0, 3), Some(3));
    mesh.connect(0, 2, TestLink::GOOD);
    mesh.take_log();
    assert_eq!(deliver(&mut mesh, 0, 3), Some(3));
    let log = story(&mut mesh);
    assert!(log.contains("2 -> 0: reply to 0 2 3 over left 0\n"), "{log}");
    assert!(log.contains("0: about 3: 2 hops\n"), "{log}");
    assert_eq!(deliver(&mut mesh, 0, 3), Some(2));
}
