//! Tests of local repair by nodes on the path.

use multihop_routing::aodv::RouteState;

use super::*;

/// A chain of 5 nodes in use, with a detour around the link from 3 to 4 that is one hop longer.
fn detour(config: &Config) -> AodvMesh {
    let mut mesh = TestNetwork::chain(agents(6, config, 1), Net::default(), 1);
    mesh.disconnect(4, 5);
    send(&mut mesh, 0, 4);
    mesh.run_until(ms(2000));
    assert_eq!(delivered(&mesh), [1]);
    mesh.connect(3, 5, TestLink::GOOD);
    mesh.connect(5, 4, TestLink::GOOD);
    mesh.disconnect(3, 4);
    mesh.take_log();
    send(&mut mesh, 0, 4);
    mesh
}

/// The number of the route stays as it is: node 2, whose route leads through node 3, replies, and node 3
/// ignores that reply because it is not shorter than the route that broke.
#[test]
fn ns2_repairs_beyond_the_middle_without_an_error() {
    let mut mesh = detour(&config(Preset::Ns2));
    mesh.run_until(ms(2100));
    expect_log(
        &mut mesh,
        "2004.000 ms: 3 -> *: RREQ 1 for 4 (seq 1) by 3 (seq 1) hops 0 ttl 3
         2005.000 ms: 2 -> 3: RREP 4 (seq 1) for 3 hops 2 ttl 30
         2005.000 ms: 5 -> *: RREQ 1 for 4 (seq 1) by 3 (seq 1) hops 1 ttl 2
         2006.000 ms: 4 -> 5: RREP 4 (seq 2) for 3 hops 0 ttl 30
         2007.000 ms: 5 -> 3: RREP 4 (seq 2) for 3 hops 1 ttl 29",
    );
    assert_eq!(delivered(&mesh).len(), 2);
}

#[test]
fn a_longer_repaired_route_is_reported() {
    let config = Config { local_repair: LocalRepair::Rfc, ..config(Preset::Uu) };
    let mut mesh = detour(&config);
    mesh.run_until(ms(2100));
    expect_log(
        &mut mesh,
        "2004.000 ms: 3: purges 4
         2004.000 ms: 3 -> *: RREQ 1 for 4 (seq 1) by 3 (seq 1) hops 0 ttl 3
         2005.000 ms: 2 -> *: RREQ 1 for 4 (seq 1) by 3 (seq 1) hops 1 ttl 2
         2005.000 ms: 5 -> *: RREQ 1 for 4 (seq 1) by 3 (seq 1) hops 1 ttl 2
         2006.000 ms: 4 -> 5: RREP 4 (seq 1) for 3 hops 0 ttl 255
         2006.000 ms: 1 -> *: RREQ 1 for 4 (seq 1) by 3 (seq 1) hops 2 ttl 1
         2007.000 ms: 5 -> 3: RREP 4 (seq 1) for 3 hops 1 ttl 254
         2008.000 ms: 3 -> 2: RERR N 4 (seq 1) ttl 1
         2009.000 ms: 2 -> 1: RERR N 4 (seq 1) ttl 1
         2010.000 ms: 1 -> 0: RERR N 4 (seq 1) ttl 1",
    );
    assert_eq!(next_hop(&mesh, 0, 4), Some(1));
    assert_eq!(delivered(&mesh).len(), 2);
}

#[test]
fn a_repair_that_fails_is_reported() {
    let config = Config { local_repair: LocalRepair::Rfc, ..config(Preset::Uu) };
    let mut mesh = detour(&config);
    mesh.disconnect(3, 5);
    mesh.run_until(ms(4000));
    expect_log(
        &mut mesh,
        "2004.000 ms: 3: purges 4
         2004.000 ms: 3 -> *: RREQ 1 for 4 (seq 1) by 3 (seq 1) hops 0 ttl 3
         2005.000 ms: 2 -> *: RREQ 1 for 4 (seq 1) by 3 (seq 1) hops 1 ttl 2
         2006.000 ms: 1 -> *: RREQ 1 for 4 (seq 1) by 3 (seq 1) hops 2 ttl 1
         2404.000 ms: 3: drops data 5: no-route, source notified
         2404.000 ms: 3 -> 2: RERR 4 (seq 1) ttl 1
         2405.000 ms: 2: discards what waits for 3 to 4
         2405.000 ms: 2 -> 1: RERR 4 (seq 1) ttl 1
         2406.000 ms: 1: discards what waits for 2 to 4
         2406.000 ms: 1 -> 0: RERR 4 (seq 1) ttl 1
         2407.000 ms: 0: route to 4 lost
         2407.000 ms: 0: discards what waits for 1 to 4",
    );
}

#[test]
fn a_repair_that_fails_in_ns2_is_silent_and_ends_late() {
    let mut mesh = detour(&config(Preset::Ns2));
    mesh.disconnect(3, 5);
    // The wait of 0.18 s ends at 2.184 s; ns-2 uses this instant as a duration.
    let state = |mesh: &AodvMesh| mesh.machines[3].routes().find(|(to, _)| *to == addr(4)).unwrap().1.state;
    mesh.run_until(ms(2004 + 2184 - 1));
    assert_eq!(state(&mesh), RouteState::Repairing);
    mesh.run_until(ms(2004 + 2184));
    assert_eq!(state(&mesh), RouteState::Invalid);
    assert!(!mesh.take_log().contains("RERR"));
    send(&mut mesh, 0, 4);
    mesh.run_for(Duration::from_millis(5));
    assert!(mesh.take_log().contains("4191.000 ms: 3 -> *: RERR 4 (seq 2) ttl 1"));
}

#[test]
fn the_source_does_not_repair() {
    for local_repair in [LocalRepair::Ns2, LocalRepair::Rfc] {
        let config = Config { local_repair, ..config(Preset::Ns2) };
        let mut mesh = chain(3, &config);
        send(&mut mesh, 0, 2);
        mesh.run_until(ms(1000));
        mesh.disconnect(0, 1);
        send(&mut mesh, 0, 2);
        mesh.run_until(ms(1002));
        assert_eq!(mesh.adapter.dropped.len(), 1);
    }
}
