//! Peers of version 2 of the protocol, with datagrams that version 2 has sent.

use super::*;

/// The first datagram of a caller.
fn first_of(config: &Config) -> Vec<u8> {
    let mut net = Net::quiet(1);
    net.heard = Some(Vec::new());
    net.call(host(1), config, listener(), 0);
    net.settle();
    net.heard.unwrap().remove(0).bytes
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// The answer of a listener to a datagram.
fn answers(config: &Config, datagram: &[u8]) -> Vec<Vec<u8>> {
    let mut net = Net::quiet(1);
    net.heard = Some(Vec::new());
    net.listen(listener(), config);
    net.inject(host(1), listener(), datagram);
    net.wait(seconds(1));
    assert_eq!(net.hub(listener()).len(), 0, "nothing is kept");
    net.heard.unwrap().into_iter().map(|packet| packet.bytes).collect()
}

#[test]
fn a_caller_of_version_2_is_refused_in_its_format() {
    // A SYN is answered by a reset of its number, and a hello by a refusal for another version.
    let reset = bytes("0000000cf49a000000000000");
    let refusal = bytes("0606fffff49ab61b");
    for (config, hello, expected) in [
        (plain(), SYN, &reset),
        (plain(), SYN_OFFERING_MESH, &reset),
        (token(), SYN, &reset),
        (keys(), SYN_OFFERING_MESH, &reset),
        (token(), HELLO_TOKEN, &refusal),
        (keys(), HELLO_KEYS, &refusal),
        (keys(), HELLO_TOKEN, &refusal),
    ] {
        assert_eq!(answers(&config, &bytes(hello)), std::slice::from_ref(expected), "{hello}");
    }
}

/// The caller's error if `answer` answers each of its datagrams as a listener of version 2 did.
fn error_of(config: &Config, answer: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Option<Error> {
    let mut net = Net::quiet(1);
    net.heard = Some(Vec::new());
    let call = net.call(host(1), config, listener(), 0);
    let (at, id) = call.from;
    for _ in 0..400 {
        net.wait(ms(100));
        for packet in net.heard.replace(Vec::new()).unwrap() {
            if let Some(answer) = answer(&packet.bytes) {
                net.inject(listener(), host(1), &answer);
            }
        }
        if let Err(error) = net.hub(at).is_connected(id) {
            return Some(error);
        }
    }
    None
}

#[test]
fn a_listener_of_version_2_is_recognised_by_its_answer_to_a_probe() {
    let version = Error::OtherVersion { ours: 3, theirs: 2 };
    // The listener answers a hello of variant 9 to 11 with a cookie and, with keys, with its key; it ignores
    // other variants.
    let sealed = |key: bool| {
        move |datagram: &[u8]| {
            let is_hello = datagram[0] == 1 && (9..=11).contains(&datagram[1]);
            let cookie = [&[2, 0, 255, 255][..], &datagram[4..8], &[7; 16]].concat();
            is_hello.then(|| if key { [&cookie[..], &[9; 32]].concat() } else { cookie })
        }
    };
    assert_eq!(error_of(&token(), sealed(false)), Some(version));
    assert_eq!(error_of(&keys(), sealed(true)), Some(version));
    // A listener of the plain protocol reports that it accepts nothing else.
    let plain_only = |datagram: &[u8]| {
        let is_hello = datagram[0] == 1 && (9..=11).contains(&datagram[1]);
        is_hello.then(|| [&[6, 4, 255, 255][..], &datagram[4..8]].concat())
    };
    assert_eq!(error_of(&keys(), plain_only), Some(version));
    // A SYN of TPA gets a cookie, and with the cookie a reset because of the version.
    let plain_tpa = |datagram: &[u8]| {
        let is_syn = datagram[3] & 15 == 2;
        let number = &datagram[..2];
        let has_cookie = datagram.ends_with(&[7; 16]);
        is_syn.then(|| match has_cookie {
            false => [&[0, 0, 0, 10][..], number, &[0; 6], &[10, 16], &[7; 16]].concat(),
            true => [&[0, 0, 0, 12][..], number, &[0; 6]].concat(),
        })
    };
    assert_eq!(error_of(&plain(), plain_tpa), Some(version));
    assert_eq!(error_of(&windows::with_mesh(plain()), plain_tpa), Some(version));
    // An encrypted listener resets at once.
    let encrypted = |datagram: &[u8]| {
        (datagram[3] & 15 == 2).then(|| [&[0, 0, 0, 12][..], &datagram[..2], &[0; 6]].concat())
    };
    assert_eq!(error_of(&plain(), encrypted), Some(Error::NotPlain));
    assert_eq!(
        version.to_string(),
        "connection refused: this end has version 3 of the protocol, the listener version 2"
    );
}

#[test]
fn a_listener_of_a_later_version_is_recognised_by_its_refusal() {
    let refuses =
        |datagram: &[u8]| (datagram[0] == 1).then(|| [&[6, 6, 255, 255][..], &datagram[4..8], &[4]].concat());
    let version = Error::OtherVersion { ours: 3, theirs: 4 };
    assert_eq!(error_of(&token(), refuses), Some(version));
    assert_eq!(error_of(&keys(), refuses), Some(version));
    let resets = |datagram: &[u8]| Some([&[0, 0, 0, 12][..], &datagram[..2], &[0; 6], &[2], b"4"].concat());
    assert_eq!(error_of(&plain(), resets), Some(version));
}

#[test]
fn a_listener_refuses_a_later_version_and_names_its_own() {
    for (config, variant) in [(token(), 15), (keys(), 200)] {
        let mut hello = first_of(&config);
        hello[1] = variant;
        let expected = [&[6, 6, 255, 255][..], &hello[4..8], &[3]].concat();
        assert_eq!(answers(&config, &hello), [expected], "variant {variant}");
    }
    let mut syn = first_of(&plain());
    assert_eq!(syn[12..15], [1, 1, 3], "the version is the first option");
    syn[14] = 4;
    let expected = [&[0, 0, 0, 12][..], &syn[..2], &[0; 6], &[2], b"3"].concat();
    assert_eq!(answers(&plain(), &syn), [expected]);
}

#[test]
fn a_probe_for_version_2_gets_no_answer_of_this_version() {
    for config in all().map(|(_, config)| config) {
        let mut net = Net::quiet(1);
        net.heard = Some(Vec::new());
        net.call(host(1), &config, listener(), 0);
        net.wait(seconds(4));
        let sent = net.heard.take().unwrap();
        let first = &sent[0].bytes;
        let probes: Vec<_> = sent.iter().filter(|packet| packet.bytes[..2] != first[..2]).collect();
        assert!((1..=4).contains(&probes.len()), "{} probes in 4 s", probes.len());
        for (_, config) in all() {
            assert_eq!(answers(&config, &probes[0].bytes), Vec::<Vec<u8>>::new());
        }
    }
}

const SYN: &str = "f49a00020000000000000040010102020205b403010c0401030501070601000701400804000186a009040000c3500a1000000000000000000000000000000000";
const SYN_OFFERING_MESH: &str = "f49a00020000000000000040010102020205b403010c0401030501070601000701400804000186a009040000c3500c066d6573682f320a1000000000000000000000000000000000";
const HELLO_TOKEN: &str = "0109fffff49ab61b00000000000000000000000000000000c6618696bca653c7db0994f55b8aaec141ab4634c9ef25550802f90816022f4e513f1c4dbff18951e8511aa66210a86a12a7864bf5d6365e7a3626a0b9a56da8450596557549f39c317bba3c1da9e150b77acb3c2b199a28766eea7481657fb78bd017c0d489f803677a829cbccbb0d9a97acec4087cb20e739db3a9f57e6c80dec7c4a687c581f9";
const HELLO_KEYS: &str = "010afffff49ab61b0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000";
