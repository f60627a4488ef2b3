//! Slots, waiting time and processor time that one sender can take from others.

use std::net::SocketAddr;
use std::sync::mpsc;

use multihop_apps::files::{Watcher, serve};
use multihop_net::{Config, Listener, Security, Stream, Token};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::bad_peers::{data, entry, file, frame, hello, listed};
use super::*;

/// A receiver of many senders with a patience that no test awaits.
async fn receiver(pair: &Pair) -> (SocketAddr, Config) {
    let to = pair.to.path().to_owned();
    let config = Config::new(Security::Token(Token::generate().unwrap()));
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), config.clone()).await.unwrap();
    let addr = listener.local_addr();
    tokio::spawn(async move {
        let (begin, end) = (|_| -> Watcher { Box::new(|_| ()) }, |_| std::ops::ControlFlow::Continue(()));
        serve(&listener, &to, PATIENT, begin, end).await
    });
    (addr, config)
}

#[test]
fn callers_without_a_request_keep_no_sender_waiting() {
    let pair = Pair::new();
    pair.write("a", "text");
    run(async {
        let (addr, config) = receiver(&pair).await;
        let mut silent = Vec::new();
        for _ in 0..17 {
            silent.push(Stream::connect(addr, &config).await.unwrap());
        }
        let stream = Stream::connect(addr, &config).await.unwrap();
        send(stream, pair.sources(&["a"]), PATIENT, &mut |_| ()).await.unwrap();
        // The receiver drops the connections long before their patience ends, with success or with an error.
        for mut stream in silent {
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
    });
}

#[test]
fn callers_that_stop_in_any_step_keep_no_sender_waiting() {
    let pair = Pair::new();
    pair.write("a", "text");
    let steps = |n: usize| {
        let name = format!("other{n}");
        let steps = [hello(), entry(1, 100_000, name.as_bytes()), listed(1), file(0, 0), data(b"text")];
        steps[..1 + n % 5].concat()
    };
    run(async {
        let (addr, config) = receiver(&pair).await;
        let mut stopped = Vec::new();
        for n in 0..40 {
            let mut stream = Stream::connect(addr, &config).await.unwrap();
            stream.write_all(&steps(n)).await.unwrap();
            stream.flush().await.unwrap();
            stopped.push(stream);
        }
        let stream = Stream::connect(addr, &config).await.unwrap();
        send(stream, pair.sources(&["a"]), PATIENT, &mut |_| ()).await.unwrap();
        drop(stopped);
    });
    assert_eq!(fs::read(pair.to.path().join("a")).unwrap(), b"text");
}

#[test]
fn a_sender_waits_for_its_turn_no_longer_than_its_patience() {
    let pair = Pair::new();
    pair.write("a", "text");
    let options = Options { patience: Duration::from_millis(500), ..QUICK };
    run(async {
        let (near, far) = duplex(BUFFER);
        let (mut input, mut output) = tokio::io::split(far);
        let busy = tokio::spawn(async move {
            while output.write_all(&frame(12, &[&[1]])).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        let told = tokio::spawn(async move {
            let mut told = Vec::new();
            input.read_to_end(&mut told).await.unwrap();
            told
        });
        let error = send(near, pair.sources(&["a"]), options, &mut |_| ()).await.unwrap_err();
        let reason = "the receiver has been serving other senders for 0.5 s";
        assert_eq!(error.to_string(), reason);
        busy.await.unwrap();
        assert!(told.await.unwrap().ends_with(&frame(11, &[reason.as_bytes()])));
    });
}

#[test]
fn a_list_that_does_not_go_on_ends_the_transfer() {
    let pair = Pair::new();
    let options = Options { patience: Duration::from_millis(500), ..QUICK };
    run(async {
        let (near, far) = duplex(BUFFER);
        let (mut input, mut output) = tokio::io::split(near);
        tokio::spawn(async move {
            output.write_all(&[hello(), entry(1, 4, b"a")].concat()).await.unwrap();
            while output.write_all(&frame(12, &[])).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        tokio::spawn(async move { input.read_to_end(&mut Vec::new()).await });
        let error = receive(far, pair.target(), options, &mut |_| ()).await.unwrap_err();
        assert_eq!(error.to_string(), "the next part of the file list did not arrive within 0.5 s");
    });
}

#[test]
fn hashing_for_a_sender_ends_when_it_leaves() {
    let pair = Pair::new();
    let huge = 1 << 40;
    if fs::File::create(pair.to.path().join("a")).unwrap().set_len(huge).is_err() {
        println!("skipped: this file system has no files of 1 TiB");
        return;
    }
    let (target, (ended, end)) = (pair.target(), mpsc::channel());
    std::thread::spawn(move || {
        // The runtime ends only when everything that was begun has ended.
        let result = run(async {
            let (mut near, far) = duplex(BUFFER);
            near.write_all(&[hello(), entry(1, huge, b"a"), listed(1)].concat()).await.unwrap();
            let receiver = tokio::spawn(async move { receive(far, target, QUICK, &mut |_| ()).await });
            // A keepalive shows that the receiver computes the hash.
            near.read_u8().await.unwrap();
            drop(near);
            receiver.await.unwrap()
        });
        ended.send(result).unwrap();
    });
    let result = end.recv_timeout(Duration::from_secs(60)).expect("hashing goes on");
    assert!(matches!(result, Err(Error::Stream(_))), "{result:?}");
}

const PATIENT: Options = Options { patience: Duration::from_secs(1000), ..QUICK };
