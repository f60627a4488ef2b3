//! Packets that wait for a route.

use super::*;

#[test]
fn the_oldest_packet_makes_room() {
    for (preset, limit) in [(Preset::Ns2, 64), (Preset::Uu, 512)] {
        let mut mesh = chain(1, &config(preset));
        for _ in 0..limit {
            send(&mut mesh, 0, 9);
        }
        assert!(mesh.adapter.dropped.is_empty());
        send(&mut mesh, 0, 8);
        let (node, data, reason, told) = &mesh.adapter.dropped[0];
        assert_eq!((*node, data.id, *reason, *told), (0, 1, DropReason::BufferTimeout, false));
        assert_eq!(mesh.adapter.held.len(), limit);
    }
}

#[test]
fn packets_do_not_wait_for_ever() {
    for (preset, life) in [(Preset::Ns2, 30_000), (Preset::Uu, 10_000)] {
        // A search that goes on for longer.
        let config = Config { network_wide_requests: 200, ..config(preset) };
        let mut mesh = chain(1, &config);
        send(&mut mesh, 0, 9);
        mesh.run_until(ms(life - 1));
        assert!(mesh.adapter.dropped.is_empty());
        mesh.run_until(ms(life));
        assert_eq!(mesh.adapter.dropped.len(), 1);
        assert_eq!(mesh.adapter.dropped[0].2, DropReason::BufferTimeout);
    }
}

#[test]
fn packets_leave_one_by_one() {
    for (preset, spacing) in [(Preset::Ns2, 10_000), (Preset::Uu, 5000)] {
        let mut mesh = chain(2, &config(preset));
        mesh.adapter.log_data = true;
        for _ in 0..4 {
            send(&mut mesh, 0, 1);
        }
        mesh.run_until(ms(1000));
        let log = mesh.take_log();
        let times: Vec<u64> = log
            .lines()
            .filter(|line| line.contains("-> 1: data"))
            .map(|line| line.split_once(" ms").unwrap().0.replace('.', "").parse().unwrap())
            .collect();
        let expected: Vec<u64> = (0..4).map(|n| times[0] + n * spacing).collect();
        assert_eq!(times, expected, "{log}");
        assert_eq!(delivered(&mesh), [1, 2, 3, 4]);
    }
}

#[test]
fn a_route_that_breaks_meanwhile_keeps_the_rest_waiting() {
    let mut mesh = chain(2, &config(Preset::Ns2));
    for _ in 0..4 {
        send(&mut mesh, 0, 1);
    }
    mesh.run_until(ms(5));
    assert_eq!(delivered(&mesh), [1]);
    mesh.disconnect(0, 1);
    mesh.run_until(ms(100));
    assert_eq!(mesh.adapter.dropped.len(), 1, "the one that met the break");
    mesh.connect(0, 1, MeshLink::GOOD);
    mesh.run_until(ms(3000));
    assert_eq!(delivered(&mesh), [1, 3, 4]);
}
