//! A silent listener answers nobody who does not prove a key or the token.

use super::*;

fn identity(n: u8) -> Identity {
    Identity::from_secret([n; 32])
}

fn keys_of(n: u8, peers: Peers) -> Config {
    Config::new(Security::Keys { identity: identity(n), peers })
}

/// Number of bytes that silent listeners, with a token and with keys, send to a caller that does not connect
/// within 20 s.
fn silence(config: &Config, caller: &Config) -> u64 {
    let config = Config { silent: true, ..config.clone() };
    let mut net = Net::quiet(1);
    net.listen(listener(), &config);
    net.heard = Some(Vec::new());
    let mut calls = [net.call(host(1), caller, listener(), 10)];
    assert!(!net.run(seconds(20), &mut calls, |all| all[0].is_done()));
    assert!(
        net.heard.as_ref().unwrap().iter().any(|packet| packet.from == host(1)),
        "the caller sent nothing"
    );
    net.heard.unwrap().iter().filter(|packet| packet.from == listener()).count() as u64
}

#[test]
fn a_silent_listener_does_not_answer_strangers() {
    let key = |n| identity(n).public();
    let with_keys = keys_of(1, Peers::Exactly(key(2)));
    let strangers = [
        ("plain", plain()),
        ("another token", Config::new(Security::Token(Token::from_bytes([66; 15])))),
        ("the listener's key is not known", keys_of(2, Peers::Any)),
        ("a key that is not authorised", keys_of(66, Peers::Exactly(key(1)))),
        ("another key of the listener", keys_of(2, Peers::Exactly(key(66)))),
    ];
    for (name, stranger) in &strangers {
        assert_eq!(silence(&with_keys, stranger), 0, "keys: {name}");
        assert_eq!(silence(&token(), stranger), 0, "token: {name}");
    }
}

#[test]
fn a_silent_listener_answers_whom_it_knows() {
    let key = |n| identity(n).public();
    for (config, caller) in
        [(token(), token()), (keys_of(1, Peers::Exactly(key(2))), keys_of(2, Peers::Exactly(key(1))))]
    {
        let config = Config { silent: true, ..config };
        let mut net = Net::quiet(1);
        net.listen(listener(), &config);
        let mut calls = [net.call(host(1), &caller, listener(), 1000)];
        net.finish(seconds(1), &mut calls);
    }
}

#[test]
fn garbage_gets_no_answer_from_a_silent_listener() {
    let mut net = Net::quiet(1);
    let config = Config { silent: true, ..keys_of(1, Peers::Exactly(identity(2).public())) };
    net.listen(listener(), &config);
    let from = address("203.0.113.1:1");
    for kind in 0..=9 {
        for variant in 0..=6 {
            for len in [8, 12, 24, 40, 160, 200] {
                let mut bytes = vec![7; len];
                bytes[..4].copy_from_slice(&[kind, variant, 255, 255]);
                net.inject(from, listener(), &bytes);
                bytes[2..4].copy_from_slice(&[0, 2]);
                net.inject(from, listener(), &bytes);
            }
        }
    }
    net.wait(seconds(1));
    assert!(net.astray.is_empty(), "{:?}", net.astray);
}
