//! Packets that wait for a route.

use super::*;

#[test]
fn a_full_buffer_drops_the_oldest_packet() {
    for (preset, limit) in [(Preset::Ns2, 64), (Preset::Uu, 512)] {
        let mut mesh = chain(1, &config(preset));
        for _ in 0..limit {
            send(&mut mesh, 0, 9);
        }
        assert!(mesh.adapter.dropped.is_empty());
        send(&mut mesh, 0, 8);
        let (node, data, reason, notified) = &mesh.adapter.dropped[0];
        assert_eq!((*node, data.id, *reason, *notified), (0, 1, DropReason::BufferTimeout, false));
        assert_eq!(mesh.adapter.held.len(), limit);
    }
}

#[test]
fn packets_time_out() {
    for (preset, life) in [(Preset::Ns2, 30_000), (Preset::Uu, 10_000)] {
        // With 200 requests, a search lasts longer than the life of a packet.
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
fn buffered_packets_leave_at_intervals() {
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
fn packets_wait_again_if_the_route_breaks_while_they_leave() {
    let mut mesh = chain(2, &config(Preset::Ns2));
    for _ in 0..4 {
        send(&mut mesh, 0, 1);
    }
    mesh.run_until(ms(5));
    assert_eq!(delivered(&mesh), [1]);
    mesh.disconnect(0, 1);
    mesh.run_until(ms(100));
    assert_eq!(mesh.adapter.dropped.len(), 1, "the one that was lost at the broken link");
    mesh.connect(0, 1, TestLink::GOOD);
    mesh.run_until(ms(3000));
    assert_eq!(delivered(&mesh), [1, 3, 4]);
}
