//! Over real sockets on this host.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use multihop_net::{Config, Listener, Security, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::run;

pub(crate) const LOCAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const LOCAL_6: SocketAddr = SocketAddr::new(std::net::IpAddr::V6(Ipv6Addr::LOCALHOST), 0);

pub(crate) fn plain() -> Config {
    Config::new(Security::Plain)
}

pub(crate) async fn pair(config: &Config) -> (Stream, Stream, Listener) {
    let listener = Listener::bind(LOCAL, config.clone()).await.expect("a free port");
    let addr = listener.local_addr();
    let (caller, answerer) = tokio::join!(Stream::connect(addr, config), listener.accept());
    (caller.expect("connects"), answerer.expect("is accepted"), listener)
}

pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from((i * 31 + i / 251) % 256).expect("below 256")).collect()
}

#[test]
fn bytes_and_closes_are_carried_in_both_directions() {
    run(async {
        let (mut caller, mut answerer, _listener) = pair(&plain()).await;
        let data = pattern(300_000);
        let echo = tokio::spawn(async move {
            let mut all = Vec::new();
            answerer.read_to_end(&mut all).await.unwrap();
            answerer.write_all(&all).await.unwrap();
            answerer.shutdown().await.unwrap();
            all.len()
        });
        caller.write_all(&data).await.unwrap();
        caller.shutdown().await.unwrap();
        let mut back = Vec::new();
        caller.read_to_end(&mut back).await.unwrap();
        assert!(back == data);
        assert_eq!(echo.await.unwrap(), data.len());
        let stats = caller.stats();
        assert_eq!((stats.counters.bytes_acked, stats.counters.bytes_delivered), (300_000, 300_000));
    });
}

#[test]
fn many_connections_share_one_socket() {
    run(async {
        let listener = Listener::bind(LOCAL, plain()).await.unwrap();
        let addr = listener.local_addr();
        let calls: Vec<_> = (0..50_u8)
            .map(|n| {
                tokio::spawn(async move {
                    let mut stream = Stream::connect(addr, &plain()).await.unwrap();
                    stream.write_all(&[n; 5000]).await.unwrap();
                    let mut back = [0; 5000];
                    stream.read_exact(&mut back).await.unwrap();
                    assert_eq!(back, [n; 5000]);
                })
            })
            .collect();
        for _ in 0..calls.len() {
            let mut stream = listener.accept().await.unwrap();
            assert_eq!(stream.local_addr(), addr);
            tokio::spawn(async move {
                let mut data = [0; 5000];
                stream.read_exact(&mut data).await.unwrap();
                stream.write_all(&data).await.unwrap();
            });
        }
        for call in calls {
            call.await.unwrap();
        }
    });
}

#[test]
fn written_data_arrives_although_the_stream_is_dropped() {
    run(async {
        let (mut caller, mut answerer, _listener) = pair(&plain()).await;
        caller.write_all(&pattern(50_000)).await.unwrap();
        drop(caller);
        let mut all = Vec::new();
        answerer.read_to_end(&mut all).await.unwrap();
        assert!(all == pattern(50_000));
    });
}

#[test]
fn a_closed_port_refuses_the_connection() {
    run(async {
        let (mut kept, _answerer, listener) = pair(&plain()).await;
        let addr = listener.local_addr();
        drop(listener);
        let error = Stream::connect(addr, &plain()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
        // The existing connection is not affected.
        kept.write_all(b"still").await.unwrap();
    });
}

#[test]
fn an_abort_resets_the_peer() {
    run(async {
        let (caller, mut answerer, _listener) = pair(&plain()).await;
        caller.abort();
        let error = answerer.read(&mut [0; 10]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}");
        let error = answerer.write(b"x").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}");
    });
}

#[test]
fn a_peer_that_never_answers_causes_a_timeout() {
    run(async {
        let silent = std::net::UdpSocket::bind(LOCAL).unwrap();
        let mut config = plain();
        config.lifecycle.syn_wait = multihop_core::Duration::from_millis(20);
        config.lifecycle.syn_retries = Some(1);
        let error = Stream::connect(silent.local_addr().unwrap(), &config).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
    });
}

#[test]
fn nothing_can_be_written_after_the_shutdown() {
    run(async {
        let (mut caller, mut answerer, _listener) = pair(&plain()).await;
        caller.write_all(b"last bytes").await.unwrap();
        let (shut, read) = tokio::join!(caller.shutdown(), async {
            let mut all = Vec::new();
            answerer.read_to_end(&mut all).await.unwrap();
            all
        });
        shut.unwrap();
        assert_eq!(read, b"last bytes");
        let error = caller.write(b"more").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{error}");
        // The other direction is still open.
        answerer.write_all(b"answer").await.unwrap();
        let mut answer = [0; 6];
        caller.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"answer");
    });
}

#[test]
fn a_writer_waits_for_its_reader() {
    run(async {
        let (mut caller, mut answerer, _listener) = pair(&plain()).await;
        let data = pattern(3_000_000);
        let sent = data.clone();
        let writer = tokio::spawn(async move {
            caller.write_all(&sent).await.unwrap();
            caller.shutdown().await.unwrap();
        });
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!writer.is_finished(), "3 MB fit into the buffers");
        let mut all = Vec::new();
        answerer.read_to_end(&mut all).await.unwrap();
        assert!(all == data);
        writer.await.unwrap();
    });
}

#[test]
fn a_taken_port_is_addr_in_use() {
    run(async {
        let first = Listener::bind(LOCAL, plain()).await.unwrap();
        let error = Listener::bind(first.local_addr(), plain()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "{error}");
    });
}

/// The host reports the closed port by ICMP, so there is no timeout.
#[test]
#[cfg(target_os = "linux")]
fn a_closed_port_is_connection_refused_at_once() {
    run(async {
        let mut config = plain();
        config.lifecycle.syn_wait = multihop_core::Duration::from_secs(1000);
        for local in [LOCAL, LOCAL_6] {
            let closed = std::net::UdpSocket::bind(local).unwrap().local_addr().unwrap();
            let error = Stream::connect(closed, &config).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
        }
    });
}

#[test]
fn ipv6_and_the_length_of_the_path() {
    run(async {
        let listener = Listener::bind(LOCAL_6, plain()).await.unwrap();
        let (addr, config) = (listener.local_addr(), plain());
        let (caller, answerer) = tokio::join!(Stream::connect(addr, &config), listener.accept());
        let (mut caller, mut answerer) = (caller.unwrap(), answerer.unwrap());
        caller.write_all(&pattern(20_000)).await.unwrap();
        caller.shutdown().await.unwrap();
        let mut all = Vec::new();
        answerer.read_to_end(&mut all).await.unwrap();
        assert!(all == pattern(20_000));
        if cfg!(target_os = "linux") {
            assert_eq!((caller.stats().hops, answerer.stats().hops), (Some(1), Some(1)));
        }
    });
}

/// A peer that answers everything with resets of unknown blocks, and with garbage.
#[test]
fn garbage_neither_refuses_nor_connects() {
    run(async {
        let noisy = tokio::net::UdpSocket::bind(LOCAL).await.unwrap();
        let addr = noisy.local_addr().unwrap();
        let noise = tokio::spawn(async move {
            let mut datagram = [0; 2000];
            for n in 0.. {
                let (len, from) = noisy.recv_from(&mut datagram).await.unwrap();
                let block = u16::from_be_bytes([datagram[0], datagram[1]]);
                for other in (1..50).map(|i| block.wrapping_add(i * 7)) {
                    // RST and ACK of another SYN.
                    let mut reset = [0; 12];
                    reset[3] = 0b1100;
                    reset[4..6].copy_from_slice(&other.to_be_bytes());
                    noisy.send_to(&reset, from).await.unwrap();
                }
                noisy.send_to(&pattern(n % 40), from).await.unwrap();
                noisy.send_to(&datagram[..len / 2], from).await.unwrap();
            }
        });
        let mut config = plain();
        config.lifecycle.syn_wait = multihop_core::Duration::from_millis(50);
        config.lifecycle.syn_retries = Some(2);
        let error = Stream::connect(addr, &config).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        noise.abort();
    });
}

/// The host of a peer whose process was killed reports a closed port. The kernel's reports must be read
/// from the error queue, otherwise the socket would never be idle again.
#[test]
#[cfg(target_os = "linux")]
fn a_peer_that_is_gone_is_an_error_in_seconds_and_costs_no_time_until_then() {
    let there = tokio::runtime::Runtime::new().unwrap();
    let listener = there.block_on(Listener::bind(LOCAL, plain())).unwrap();
    let addr = listener.local_addr();
    let accepted = there.spawn(async move { (listener.accept().await.unwrap(), listener) });
    let here = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let test = async move {
        let mut stream = Stream::connect(addr, &plain()).await.unwrap();
        let held = accepted.await.unwrap();
        // Nothing is sent, because the driver ends first.
        there.shutdown_background();
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(held);
        stream.write_all(b"a question").await.unwrap();
        let (begun, cpu) = (std::time::Instant::now(), thread_seconds());
        let error = timeout(crate::LIMIT, stream.read(&mut [0; 10])).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}");
        let (elapsed, spent) = (begun.elapsed(), thread_seconds() - cpu);
        assert!(elapsed > Duration::from_secs(2), "{elapsed:?} is too soon");
        assert!(stream.stats().notices > 1);
        assert!(spent < 0.3, "{spent} s of CPU time in {elapsed:?}");
    };
    // A driver that is never idle blocks its thread, including time limits.
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        here.block_on(test);
        done.send(())
    });
    ended.recv_timeout(crate::LIMIT).expect("the test has failed, or hangs");
}

/// CPU time of this thread.
#[cfg(target_os = "linux")]
fn thread_seconds() -> f64 {
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux reports it");
    status.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).expect("a number") * 1e-9
}
