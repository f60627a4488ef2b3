//! The effect of stale caches (Holland and Vaidya, section 5.3).

use multihop_wire::dsr::{Addresses, NO_NEXT_HEADER, RouteReply};

use super::*;

/// 0 - 1 - 2 - 3 and 0 - 4 - 5 - 3. 1 sent a packet to 3 before the link from 2 to 3 broke.
fn after_a_break(config: Config) -> TestNetwork<Air> {
    let links = [(0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 3)];
    let mut mesh = network(6, &links, config);
    assert_eq!(deliver(&mut mesh, 1, 3), Some(2));
    mesh.disconnect(2, 3);
    mesh
}

#[test]
fn a_reply_from_a_stale_cache_poisons_the_source() {
    // Without snooping, only node 1 can reply.
    let quiet = Config { snoop: false, gratuitous: false, ..Config::default() };
    let mut mesh = after_a_break(quiet);
    let packet = send(&mut mesh, 0, 3);
    mesh.run_for(Duration::from_millis(80));
    assert_eq!(mesh.machines[1].counters().cache_replies, 1);
    // The packet is at node 2, which knows no other path.
    assert_eq!(mesh.adapter.packets[packet].senders.last(), Some(&(2, 0)));
    assert!(
        mesh.adapter
            .notices
            .iter()
            .any(|(node, notice)| { *node == 0 && matches!(notice, Notice::LinkFailed(_)) })
    );
    mesh.run_for(Duration::from_secs(5));
    assert_eq!(mesh.adapter.packets[packet].end, Some(Err(DropReason::NoRoute)));

    let mut mesh = after_a_break(Config { cache_replies: false, ring0: false, ..quiet });
    assert_eq!(deliver(&mut mesh, 0, 3), Some(3));
    assert_eq!(known(&mesh, 0, 3), Some(vec![4, 5, 3]));
    assert_eq!((0..6).map(|node| mesh.machines[node].counters().errors).sum::<u64>(), 0);
}

#[test]
fn a_cache_timeout_ends_the_poisoning() {
    let config = Config {
        cache_timeout: Some(Duration::from_secs(5)),
        snoop: false,
        gratuitous: false,
        ..Config::default()
    };
    let mut mesh = after_a_break(config);
    mesh.run_for(Duration::from_secs(5));
    assert_eq!(deliver(&mut mesh, 0, 3), Some(3));
    assert_eq!(known(&mesh, 0, 3), Some(vec![4, 5, 3]));
}

#[test]
fn the_negative_cache_keeps_a_stale_path_out() {
    // 1 and 6 know paths to 3 through 2. 0 tries one, learns of the failure, and sends another
    // request.
    let links = [(0, 1), (1, 2), (6, 2), (0, 6), (2, 3), (0, 4), (4, 5), (5, 3)];
    let tries = |negative_cache| {
        let config = Config { negative_cache, snoop: false, gratuitous: false, ..Config::default() };
        let mut mesh = network(7, &links, config);
        assert_eq!(deliver(&mut mesh, 1, 3), Some(2));
        assert_eq!(deliver(&mut mesh, 6, 3), Some(2));
        mesh.disconnect(2, 3);
        send(&mut mesh, 0, 3);
        mesh.run_for(Duration::from_millis(80));
        // Node 0 learned of the failure; the path through 6 that arrived at the same time was truncated as
        // well.
        let heard = mesh.machines[0].path_to(mesh.now(), address(3)).is_none();
        assert!(heard, "{}", mesh.take_log());
        // The stale path arrives again.
        teach(&mut mesh, 0, &[6, 2, 3]);
        known(&mesh, 0, 3)
    };
    assert_eq!(tries(None), Some(vec![6, 2, 3]));
    assert_eq!(tries(Some(Duration::from_secs(10))), None);
}

#[test]
fn a_packet_salvaged_along_a_stale_path_returns_to_its_source() {
    let mut mesh = network(4, &[(0, 1)], Config::default());
    teach(&mut mesh, 1, &[0, 3]);
    teach(&mut mesh, 0, &[1, 2, 3]);
    let packet = send(&mut mesh, 0, 3);
    mesh.run_for(Duration::from_millis(10));
    // The packet is sent to 1, and from there to 2, which fails; it is salvaged back to 0, and from there to
    // 3, which fails. The source then buffers it and starts a search.
    assert_eq!(mesh.adapter.packets[packet].senders, [(0, 0), (1, 0), (1, 1), (0, 1)]);
    assert_eq!((known(&mesh, 0, 3), known(&mesh, 1, 3)), (None, None));
    mesh.connect(1, 3, TestLink::GOOD);
    mesh.run_for(Duration::from_millis(100));
    assert_eq!(mesh.adapter.packets[packet].end, Some(Ok(())));
}

/// Gives a node a path in a reply.
fn teach(mesh: &mut TestNetwork<Air>, node: usize, path: &[usize]) {
    let route = Addresses::collect(path.iter().map(|&n| address(n))).expect("paths in this test are short");
    let replies = vec![RouteReply { last_hop_external: false, route }];
    let header = Header { replies, ..Header::new(NO_NEXT_HEADER) };
    let (source, destination) = (*route.last().expect("a path has an end"), address(node));
    let message = Message::Dsr(Arc::new(DsrMessage { source, destination, header }));
    mesh.input(
        node,
        Input::Message { interface: multihop_core::Interface(0), from: address(0), ttl: 255, message },
    );
}
