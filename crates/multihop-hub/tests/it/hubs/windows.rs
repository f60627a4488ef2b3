//! Buffers of `mesh` that grow as far as the path, the reader and the listener's memory allow.

use multihop_hub::{Transport, TransportName};
use multihop_transport::mesh;

use super::*;

pub(super) fn with_mesh(config: Config) -> Config {
    let name = TransportName::new("mesh/3").unwrap();
    Config { transport: Transport { name, config: Arc::new(mesh::Config::net()) }, ..config }
}

/// Sends as much as possible; reads everything if `reads`. Returns the bytes that arrived between two times.
fn carried(net: &mut Net, call: &mut Transfer, [from, to]: [Duration; 2], reads: bool) -> u64 {
    let [from, to] = [from, to].map(|time| Instant::ZERO + time);
    let (mut buffer, mut carried) = (vec![7; 1 << 16], 0);
    let (at, id) = call.from;
    while net.now < to {
        while net.hub(at).is_connected(id) == Ok(true) && net.write(at, id, &buffer).unwrap() > 0 {}
        call.to = call.to.or_else(|| net.hub(listener()).accept().map(|id| (listener(), id)));
        while reads
            && let Some((at, id)) = call.to
            && let Some(n @ 1..) = net.hub(at).read(id, &mut buffer).unwrap()
        {
            carried += if net.now >= from { n as u64 } else { 0 };
        }
        let next = net.settle().unwrap_or(to);
        net.now = net.now.max(next);
        let now = net.now;
        net.hubs.values_mut().for_each(|hub| hub.handle_timeout(now));
    }
    carried
}

#[test]
fn a_connection_fills_fast_and_long_paths_without_a_setting() {
    // 1 Gb/s over 20 ms and 200 Mb/s over 100 ms: 2.5 MB on the way.
    for (byte_time, delay, until) in [(8, 10, 3), (40, 50, 8)] {
        for loss in [0.0, 0.001, 0.02] {
            let mut net = Net::new(1, LinkConfig { delay: ms(delay), loss, ..LinkConfig::default() });
            net.byte_time = Duration::from_nanos(byte_time);
            let config = with_mesh(plain());
            net.listen(listener(), &config);
            let mut call = net.call(host(1), &config, listener(), 0);
            let bytes = carried(&mut net, &mut call, [seconds(until - 1), seconds(until)], true);
            let most = 1_000_000_000 / byte_time;
            println!("{bytes} of {most} bytes, {delay} ms, loss {loss}");
            assert!(bytes * 100 >= most * 90, "{bytes} of {most} bytes, {delay} ms, loss {loss}");
        }
    }
}

/// Bytes that the listener keeps for all connections, and that an application has not read.
fn unread(net: &mut Net, calls: &[Transfer]) -> u64 {
    calls.iter().filter_map(|call| call.to).map(|(at, id)| net.hub(at).stats(id).unwrap().unread).sum()
}

#[test]
fn buffers_grow_by_no_more_than_what_all_connections_leave() {
    // 128 KiB to send and 64 segments to read, for each of four.
    let usual = 4 * (128 * 1024 + 64 * 1460);
    for (spare, least, most) in [(0, 900_000, 940_000), (1_000_000, 4_000_000, 10_000_000)] {
        let mut config = with_mesh(plain());
        (config.limits.connections, config.limits.memory) = (4, usual + spare);
        let mut net = Net::new(1, LinkConfig { delay: ms(50), ..LinkConfig::default() });
        net.listen(listener(), &config);
        let mut call = net.call(host(1), &with_mesh(plain()), listener(), 0);
        let bytes = carried(&mut net, &mut call, [seconds(4), seconds(5)], true);
        assert!((least..most).contains(&bytes), "{bytes} bytes in ten round trips, {spare} spare");
        // Three more connections begin with buffers of the usual size, and nothing is read from them.
        let mut calls = vec![call];
        for n in 2..5 {
            let mut call = net.call(host(n), &with_mesh(plain()), listener(), 0);
            let until = net.now + seconds(2);
            carried(&mut net, &mut call, [seconds(0), until.saturating_since(Instant::ZERO)], false);
            calls.push(call);
        }
        let until = net.now + seconds(2);
        carried(&mut net, &mut calls[0], [seconds(0), until.saturating_since(Instant::ZERO)], false);
        let unread = unread(&mut net, &calls);
        assert!(unread <= (usual + spare) as u64, "{unread} bytes are kept");
        assert!(unread >= 4 * 63 * 1460, "{unread} bytes: each connection has its usual buffer");
    }
}

#[test]
fn a_buffer_does_not_grow_for_data_that_nobody_reads() {
    let mut net = Net::new(1, LinkConfig { delay: ms(5), ..LinkConfig::default() });
    net.listen(listener(), &with_mesh(plain()));
    let mut call = net.call(host(1), &with_mesh(plain()), listener(), 0);
    carried(&mut net, &mut call, [seconds(0), seconds(10)], false);
    let unread = unread(&mut net, &[call]);
    assert!(unread.abs_diff(64 * 1460) < 1460, "{unread} bytes");
}
