//! Connections with a second path, from a further address of the caller.

use std::collections::BTreeSet;

use super::windows::with_mesh as mesh;
use super::*;

/// The address of the caller's second path.
const SECOND: [u8; 4] = [198, 51, 100, 7];

fn second() -> SocketAddr {
    SocketAddr::new(SECOND.into(), host(1).port())
}

fn is_second(packet: &Packet) -> bool {
    packet.from.ip() == IpAddr::from(SECOND) || packet.to.ip() == IpAddr::from(SECOND)
}

/// A network whose hosts send 1 MB/s on each path, and a transfer of a caller with two addresses.
fn transfer(config: &Config, len: usize) -> (Net, [Transfer; 1]) {
    let mut net = Net::quiet(1);
    net.byte_time = Duration::from_micros(1);
    net.heard = Some(Vec::new());
    net.further.insert(second(), host(1));
    net.listen(listener(), config);
    let transfer = net.call(host(1), config, listener(), len);
    let id = transfer.from.1;
    net.hub(host(1)).send_from(id, &[host(1).ip(), SECOND.into()]).unwrap();
    (net, [transfer])
}

/// Number of bytes in the datagrams since the last call that fulfil a condition.
fn heard(net: &mut Net, is_meant: impl Fn(&Packet) -> bool) -> u64 {
    let all = net.heard.replace(Vec::new()).unwrap();
    all.iter().filter(|packet| is_meant(packet)).map(|packet| packet.bytes.len() as u64).sum()
}

#[test]
fn both_paths_carry_one_stream_in_both_directions() {
    for config in [mesh(token()), mesh(keys())] {
        let (mut net, mut there) = transfer(&config, 20_000_000);
        net.run(seconds(4), &mut there, |_| false);
        let before = there[0].received;
        net.run(seconds(5), &mut there, |_| false);
        let carried = there[0].received - before;
        assert!(carried >= 9_000_000, "{carried} bytes in 5 s over two paths of 1 MB/s");
        net.finish(seconds(60), &mut there);
        let mut back = [there[0].back(6_000_000)];
        net.run(seconds(4), &mut back, |_| false);
        heard(&mut net, |_| false);
        // The listener has one address and one queue.
        net.run(seconds(2), &mut back, |_| false);
        let used = heard(&mut net, |packet| packet.to == second());
        assert!(used > 100_000, "{used} bytes of the listener on the second path");
        net.finish(seconds(60), &mut back);
    }
}

#[test]
fn a_transfer_goes_on_when_either_path_is_lost() {
    for is_lost in [is_second as fn(&Packet) -> bool, |packet| packet.from == host(1) || packet.to == host(1)]
    {
        let (mut net, mut there) = transfer(&mesh(token()), 40_000_000);
        net.run(seconds(4), &mut there, |_| false);
        net.is_lost = is_lost;
        let before = there[0].received;
        net.run(seconds(1), &mut there, |_| false);
        assert!(
            there[0].received > before + 500_000,
            "{} bytes in the first second",
            there[0].received - before
        );
        let before = there[0].received;
        net.run(seconds(9), &mut there, |_| false);
        let carried = there[0].received - before;
        assert!(carried > 8_000_000, "{carried} bytes in 9 s over the other path");
        net.is_lost = |_| false;
        net.run(seconds(2), &mut there, |_| false);
        let before = there[0].received;
        net.run(seconds(4), &mut there, |_| false);
        let carried = there[0].received - before;
        assert!(carried > 7_000_000, "{carried} bytes in 4 s over both paths");
        net.finish(seconds(60), &mut there);
    }
}

/// Keys are replaced, and indices given, on the path that is left.
#[test]
fn a_connection_outlives_its_first_path() {
    let (mut net, mut there) = transfer(&mesh(token()), 22_000_000);
    net.byte_time = Duration::from_micros(10);
    net.run(seconds(4), &mut there, |_| false);
    net.is_lost = |packet| packet.from == host(1) || packet.to == host(1);
    net.run(seconds(200), &mut there, |_| false);
    let stats = net.hub(host(1)).stats(there[0].from.1).unwrap();
    assert!(stats.key_changes >= 1, "{} key changes in 200 s", stats.key_changes);
    net.finish(seconds(300), &mut there);
}

#[test]
fn datagrams_of_two_paths_have_no_index_in_common() {
    let (mut net, mut there) = transfer(&mesh(token()), 8_000_000);
    net.finish(seconds(60), &mut there);
    let mut indices = [BTreeSet::new(), BTreeSet::new()];
    for packet in net.heard.take().unwrap() {
        indices[usize::from(is_second(&packet))].insert(packet.bytes[4..8].to_vec());
    }
    assert!(indices.iter().all(|indices| indices.len() >= 2), "{indices:?}");
    assert!(indices[0].is_disjoint(&indices[1]), "{indices:?}");
}

/// An eavesdropper keeps what leaves on the second path, and forwards it in the name of a victim.
#[test]
fn a_second_path_does_not_flood_an_address_that_has_not_answered_a_challenge() {
    let victim = address("203.0.113.1:1");
    let (mut net, mut there) = transfer(&mesh(token()), 10);
    net.finish(seconds(10), &mut there);
    let mut back = [there[0].back(20_000_000)];
    net.is_lost = is_second;
    let mut forwarded = 0;
    while !back[0].is_done() {
        net.heard = Some(Vec::new());
        net.run(ms(1), &mut back, |all| all[0].is_done());
        for packet in net.heard.take().unwrap().iter().filter(|packet| packet.from == second()) {
            net.inject(victim, listener(), &packet.bytes);
            forwarded += packet.bytes.len() as u64;
        }
        assert!(net.now < Instant::ZERO + seconds(600), "{} bytes arrived", back[0].received);
    }
    let sent = net.astray.get(&victim).copied().unwrap_or(0);
    assert!(forwarded > 100 && sent > 0, "nothing was tested");
    assert!(sent <= 3 * forwarded, "the victim got {sent} bytes for {forwarded}");
}

#[test]
fn connections_without_encryption_or_with_another_transport_have_one_path() {
    for config in [mesh(plain()), token()] {
        let (mut net, mut there) = transfer(&config, 2_000_000);
        net.finish(seconds(60), &mut there);
        assert_eq!(heard(&mut net, is_second), 0);
    }
}
