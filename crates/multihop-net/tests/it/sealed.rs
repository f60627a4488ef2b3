//! Tokens and keys over real sockets on this host.

use std::io;
use std::net::SocketAddr;

use multihop_core::Rng;
use multihop_net::{
    AuthorizedKeys, Config, Identity, KnownPeers, Listener, Peers, PublicKey, Security, Stream, Token,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;
use tokio::sync::oneshot;

use crate::loopback::{LOCAL, pattern};
use crate::run;

fn token(n: u8) -> Config {
    Config::new(Security::Token(Token::from_bytes([n; 15])))
}

fn identity(n: u8) -> Identity {
    Identity::from_secret([n; 32])
}

fn key(n: u8) -> PublicKey {
    identity(n).public()
}

fn keys(n: u8, peers: Peers) -> Config {
    Config::new(Security::Keys { identity: identity(n), peers })
}

/// Sends data in both directions between a listener and a caller.
async fn echo(listens: Config, calls: &Config) -> io::Result<(Stream, Stream)> {
    let listener = Listener::bind(LOCAL, listens).await?;
    let addr = listener.local_addr();
    let answers = tokio::spawn(async move {
        let mut stream = listener.accept().await?;
        let mut data = vec![0; 100_000];
        stream.read_exact(&mut data).await?;
        stream.write_all(&data).await?;
        io::Result::Ok(stream)
    });
    let mut stream = Stream::connect(addr, calls).await?;
    stream.write_all(&pattern(100_000)).await?;
    let mut back = vec![0; 100_000];
    stream.read_exact(&mut back).await?;
    assert!(back == pattern(100_000));
    Ok((stream, answers.await??))
}

/// The error of a caller.
async fn fails(listens: Config, calls: &Config) -> io::Error {
    let listener = Listener::bind(LOCAL, listens).await.unwrap();
    Stream::connect(listener.local_addr(), calls).await.unwrap_err()
}

#[test]
fn with_a_token_no_end_has_a_key() {
    run(async {
        let (caller, answerer) = echo(token(1), &token(1)).await.unwrap();
        assert_eq!((caller.peer_key(), answerer.peer_key()), (None, None));
    });
}

#[test]
fn with_keys_each_end_knows_the_other() {
    run(async {
        let (caller, answerer) = echo(keys(1, Peers::Any), &keys(2, Peers::Exactly(key(1)))).await.unwrap();
        assert_eq!((caller.peer_key(), answerer.peer_key()), (Some(key(1)), Some(key(2))));
    });
}

#[test]
fn a_security_mismatch_gives_a_clear_error() {
    run(async {
        let any = || keys(1, Peers::Any);
        let plain = || Config::new(Security::Plain);
        let cases = [
            (token(1), token(2), io::ErrorKind::PermissionDenied, "another token"),
            (token(1), any(), io::ErrorKind::ConnectionRefused, "requires a token"),
            (any(), token(1), io::ErrorKind::ConnectionRefused, "requires a key"),
            (plain(), token(1), io::ErrorKind::ConnectionRefused, "only plain connections"),
            (token(1), plain(), io::ErrorKind::ConnectionRefused, "no plain connections"),
        ];
        for (listens, calls, kind, part) in cases {
            let error = fails(listens, &calls).await;
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(part), "{error}");
        }
    });
}

#[test]
fn a_listener_refuses_unknown_keys() {
    run(async {
        let peers = Peers::Authorized(AuthorizedKeys::in_memory([key(2)]));
        echo(keys(1, peers.clone()), &keys(2, Peers::Any)).await.unwrap();
        let error = echo(keys(1, peers), &keys(3, Peers::Any)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        assert!(error.to_string().contains("the listener does not accept this end's key"), "{error}");
    });
}

#[test]
fn a_key_learnt_at_first_contact_authorises_nobody() {
    run(async {
        let known = KnownPeers::in_memory();
        known.remember("127.0.0.1:7000", key(2)).unwrap();
        let bound = Listener::bind(LOCAL, keys(1, Peers::Known(known.clone()))).await;
        assert_eq!(bound.unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let authorized = Peers::Authorized(AuthorizedKeys::in_memory([key(2)]));
        let called = Stream::connect(LOCAL, &keys(1, authorized)).await;
        assert_eq!(called.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    });
}

#[test]
fn the_key_of_a_first_contact_is_stored_and_a_changed_one_is_an_error() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("known_peers");
        let calls = || keys(9, Peers::Known(KnownPeers::load(&file).unwrap()));
        let listener = Listener::bind(LOCAL, keys(1, Peers::Any)).await.unwrap();
        let addr = listener.local_addr();
        for _ in 0..2 {
            let stream = Stream::connect(addr, &calls()).await.unwrap();
            assert_eq!(stream.peer_key(), Some(key(1)));
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{addr} {}\n", key(1)));
        // The file has another key for this address, so that the listener looks like a man in the middle.
        std::fs::write(&file, format!("# known\n{addr} {}\n", key(2))).unwrap();
        let error = Stream::connect(addr, &calls()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        let place = format!("known is {} ({}, line 2)", key(2), file.display());
        let text = error.to_string();
        assert!(text.contains("HAS CHANGED") && text.contains(&place), "{text}");
    });
}

/// Forwards datagrams, each preceded by forgeries of it, until `over` ends. Returns the number of forgeries.
async fn forward_with_forgeries(
    listener: SocketAddr,
    socket: UdpSocket,
    mut over: oneshot::Receiver<()>,
) -> u32 {
    let (mut rng, mut caller, mut forged) = (Rng::stream(1, "test/meddle", 0), None, 0);
    let mut bytes = [0; 2000];
    loop {
        let (len, from) = tokio::select! {
            _ = &mut over => return forged,
            got = socket.recv_from(&mut bytes) => got.unwrap(),
        };
        let to = if from == listener { caller } else { Some(listener) };
        if from != listener {
            caller = Some(from);
        }
        let Some(to) = to else { continue };
        for _ in 0..COPIES {
            let mut copy = bytes[..len].to_vec();
            for _ in 0..=rng.below(3) {
                let at = rng.below(u32::try_from(len).unwrap()) as usize;
                copy[at] ^= 1 << rng.below(8);
            }
            copy.truncate(len - rng.below(2) as usize);
            // Datagrams that the socket does not accept count as lost.
            forged += u32::from(socket.try_send_to(&copy, to).is_ok());
        }
        socket.send_to(&bytes[..len], to).await.unwrap();
    }
}

#[test]
fn garbage_on_a_socket_does_not_disturb_a_transfer() {
    run(async {
        let listener = Listener::bind(LOCAL, token(1)).await.unwrap();
        let socket = UdpSocket::bind(LOCAL).await.unwrap();
        let between = socket.local_addr().unwrap();
        let (end, over) = oneshot::channel();
        let meddler = tokio::spawn(forward_with_forgeries(listener.local_addr(), socket, over));
        let answers = tokio::spawn(async move {
            let mut stream = listener.accept().await.unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).await.unwrap();
            all
        });
        let mut stream = Stream::connect(between, &token(1)).await.unwrap();
        stream.write_all(&pattern(1_000_000)).await.unwrap();
        stream.shutdown().await.unwrap();
        assert!(answers.await.unwrap() == pattern(1_000_000));
        end.send(()).unwrap();
        let forged = meddler.await.unwrap();
        assert!(forged > 1000, "{forged}");
    });
}

/// Number of forged datagrams for each genuine one.
const COPIES: u32 = 5;
