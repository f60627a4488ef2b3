use super::*;

#[test]
fn every_byte_arrives_over_a_bad_network() {
    for (name, config) in all() {
        let bad = LinkConfig { delay: ms(10), loss: 0.2, duplication: 0.05, reordering: 0.1, hold: ms(40) };
        let mut net = Net::new(1, bad);
        // For plain datagrams, UDP's checksum detects changed bits.
        net.corruption = if name == "plain" { 0.0 } else { 0.01 };
        net.listen(listener(), &config);
        let mut transfers: Vec<_> = (1..4).map(|n| net.call(host(n), &config, listener(), 100_000)).collect();
        net.finish(seconds(600), &mut transfers);
    }
}

#[test]
fn many_encrypted_connections_share_the_same_two_addresses() {
    let mut net = Net::quiet(1);
    net.listen(listener(), &keys());
    net.add(host(1), &keys());
    let mut transfers: Vec<_> = (0..20)
        .map(|_| {
            let id = net.hub(host(1)).connect(listener()).unwrap();
            Transfer { from: (host(1), id), to: None, len: 5000, sent: 0, received: 0 }
        })
        .collect();
    net.finish(seconds(10), &mut transfers);
    assert_eq!((net.hub(host(1)).len(), net.hub(listener()).len()), (20, 20));
}

#[test]
fn no_datagram_is_longer_than_a_plain_one_would_be() {
    for (name, config) in all() {
        let mut net = Net::quiet(1);
        net.heard = Some(Vec::new());
        net.listen(listener(), &config);
        let mut transfers = [net.call(host(1), &config, listener(), 50_000)];
        net.finish(seconds(10), &mut transfers);
        let longest = net.heard.unwrap().iter().map(|packet| packet.bytes.len()).max();
        assert_eq!(longest, Some(usize::from(multihop_transport::tpa::Config::net().mss) + 12), "{name}");
    }
}

#[test]
fn the_round_trip_of_the_handshake_does_not_count_the_cookie() {
    for (name, config) in all() {
        let mut net = Net::quiet(1);
        net.listen(listener(), &config);
        let mut transfers = [net.call(host(1), &config, listener(), 1)];
        net.finish(seconds(10), &mut transfers);
        let (at, id) = transfers[0].from;
        let rtt = net.hub(at).stats(id).unwrap().rtt;
        assert_eq!(rtt, Some(std::time::Duration::from_millis(10)), "{name}");
    }
}

#[test]
fn keys_are_replaced_in_a_long_connection() {
    for (name, config) in all().into_iter().skip(1) {
        let mut net = Net::new(1, LinkConfig { delay: ms(10), loss: 0.1, ..LinkConfig::default() });
        net.listen(listener(), &config);
        let mut transfers = [net.call(host(1), &config, listener(), 0)];
        let mut numbers = [vec![], vec![]];
        for _ in 0..60 {
            transfers[0].len += 5000;
            net.finish(seconds(20), &mut transfers);
            net.wait(seconds(25));
            for ((at, id), numbers) in
                [transfers[0].from, transfers[0].to.unwrap()].into_iter().zip(&mut numbers)
            {
                numbers.push(net.hub(at).stats(id).unwrap().key_changes);
            }
        }
        // 25 minutes, a new key every two at most, and the first one.
        for mut numbers in numbers {
            numbers.dedup();
            assert!((9..=14).contains(&numbers.len()), "{name}: {numbers:?}");
            assert!(numbers.iter().zip(0..).all(|(number, n)| *number == n), "{numbers:?}");
        }
    }
}

/// The first bytes of segments of `mesh` are as docs/wire.md describes them.
#[test]
fn a_plain_connection_of_mesh_shows_its_syn_fin_and_reset() {
    let config = windows::with_mesh(plain());
    let mut net = Net::quiet(1);
    net.heard = Some(Vec::new());
    net.listen(listener(), &config);
    let mut transfers = [net.call(host(1), &config, listener(), 3000)];
    net.finish(seconds(10), &mut transfers);
    let (at, id) = transfers[0].from;
    net.shutdown(at, id).unwrap();
    net.wait(seconds(1));
    let (to, accepted) = transfers[0].to.unwrap();
    assert_eq!(net.hub(to).read(accepted, &mut [0; 1]), Ok(Some(0)), "the end of the stream");
    net.hub(to).abort(accepted);
    net.wait(seconds(1));
    assert_eq!(net.hub(at).read(id, &mut [0; 1]), Err(Error::Reset));
    let heard = net.heard.take().unwrap();
    let kinds = |from: SocketAddr| -> Vec<u8> {
        let mut kinds: Vec<_> =
            heard.iter().filter(|packet| packet.from == from).map(|packet| packet.bytes[0]).collect();
        kinds.dedup();
        kinds
    };
    let [syn, syn_ack, reset] = [0x30, 0x31, 0x32];
    let (caller, answers) = (kinds(host(1)), kinds(listener()));
    assert_eq!((caller[0], caller.iter().filter(|kind| **kind == syn).count()), (syn, 1), "{caller:x?}");
    assert!(caller[1..].iter().all(|kind| [0x10, 0x20].contains(&(kind & 0xf8))), "data, ACKs: {caller:x?}");
    assert!(caller.iter().any(|kind| kind & 0xfc == 0x14), "FIN: {caller:x?}");
    assert_eq!((answers[0], answers.last()), (syn_ack, Some(&reset)), "{answers:x?}");
    assert!(answers[1..answers.len() - 1].iter().all(|kind| kind & 0xf8 == 0x20), "ACKs: {answers:x?}");
    // The first of the two SYNs and of the two answers concern a cookie and contain nothing else.
    let opening: Vec<_> = heard.iter().take(4).map(|packet| (packet.bytes[0], packet.bytes[3])).collect();
    assert_eq!(opening, [(syn, 7), (syn_ack, 7), (syn, 7), (syn_ack, 7)]);
    assert_eq!(heard[1].bytes.len(), 32);
    // The reset names a segment that the caller expects or has sent.
    let numbers = |packet: &Packet| u32::from_be_bytes(packet.bytes[4..8].try_into().unwrap());
    let last = heard.iter().rfind(|packet| packet.bytes[0] == reset).unwrap();
    let [caller, callee] = [2, 3].map(|n: usize| numbers(&heard[n]));
    assert!([caller, callee].iter().any(|first| numbers(last).wrapping_sub(*first) < 10), "{last:?}");
}
