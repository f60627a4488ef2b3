//! Three hops between network namespaces, whose kernels send ICMP errors.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use multihop_net::{Config, Listener, Security, Stats, Stream, Transport, tpa};
use multihop_testkit::impaired::Chain;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;

/// The chain; `None` if this machine does not allow namespaces.
#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
pub(crate) fn possible<T>(made: io::Result<T>) -> Option<T> {
    match made {
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotFound) => {
            println!("skipped: network namespaces need root and the command ip: {error}");
            None
        }
        made => Some(made.expect("a machine that allows namespaces makes all of it")),
    }
}

/// Runs a future on a runtime whose sockets are in the thread's namespace.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(crate::LIMIT, future).await.expect("in time") })
}

/// A pair: the end in one namespace waits for the second value until the other end drops the first.
///
/// An end that left as soon as it has read everything could not acknowledge a repeated FIN: the other end would fail.
pub(crate) fn until_dropped() -> (oneshot::Sender<()>, impl Future<Output = ()>) {
    let (held, dropped) = oneshot::channel();
    (held, async { drop(dropped.await) })
}

/// Sends as long as the sender's statistics fulfil a condition.
async fn send_while(stream: &mut Stream, is_so: impl Fn(&Stats) -> bool) {
    let chunk = [7; 4096];
    while is_so(&stream.stats()) {
        let _ = tokio::time::timeout(Duration::from_millis(5), stream.write(&chunk)).await;
    }
}

/// How soon exactly is tested in virtual time.
#[test]
fn a_sender_freezes_while_a_router_has_no_route_and_resumes_soon() {
    let Some(chain) = possible(Chain::new(3)) else { return };
    let address = SocketAddr::new(chain.address().into(), 7000);
    let (listens, listening) = std::sync::mpsc::channel();
    let (held, end) = until_dropped();
    let far = || {
        block_on(async {
            let listener = Listener::bind(address, Config::new(Security::Plain)).await.unwrap();
            listens.send(()).unwrap();
            let mut stream = listener.accept().await.unwrap();
            let mut sink = vec![0; 65536];
            while stream.read(&mut sink).await.unwrap() > 0 {}
            end.await;
        })
    };
    let near = || {
        let _held = held;
        block_on(async {
            let mut stream = Stream::connect(address, &Config::new(Security::Plain)).await.unwrap();
            send_while(&mut stream, |now| now.counters.bytes_acked < 100_000).await;
            chain.lose_route(1).unwrap();
            send_while(&mut stream, |now| now.phase != "freeze").await;
            assert!(stream.stats().counters.notices > 0, "no router reported anything");
            // Data that had passed the router is acknowledged first.
            let begun = Instant::now();
            send_while(&mut stream, |_| begun.elapsed() < Duration::from_secs(1)).await;
            let acked = stream.stats().counters.bytes_acked;
            send_while(&mut stream, |now| now.phase == "freeze" && begun.elapsed() < OUTAGE).await;
            assert_eq!(stream.stats().phase, "freeze", "after {:?}", begun.elapsed());
            chain.restore_route(1).unwrap();
            let back = Instant::now();
            send_while(&mut stream, |now| now.counters.bytes_acked == acked).await;
            assert!(back.elapsed() < SOON, "resumed after {:?}", back.elapsed());
            stream.shutdown().await.unwrap();
        });
    };
    thread::scope(|scope| {
        scope.spawn(|| chain.hosts[3].run(far).unwrap());
        listening.recv().unwrap();
        chain.hosts[0].run(near).unwrap();
    });
}

/// Duration of the loss of the route.
const OUTAGE: Duration = Duration::from_secs(10);
/// Time limit that a timer which had backed off for the whole failure would exceed. A busy machine needs a
/// part of it.
const SOON: Duration = Duration::from_secs(4);

/// The second link has a smaller MTU than the first; the router between them reports it to the sender.
#[test]
fn datagrams_are_not_fragmented_and_segments_fit_the_path_mtu() {
    let Some(chain) = possible(Chain::new(2)) else { return };
    chain.hosts[1].ip("link set right mtu 1100").unwrap();
    chain.hosts[2].ip("link set left mtu 1100").unwrap();
    let address = SocketAddr::new(chain.address().into(), 7000);
    let data = crate::loopback::pattern(300_000);
    // Batches leave with the largest window.
    let mut config = Config::new(Security::Plain);
    config.transport = Transport::tpa(tpa::Config { cwnd_max: 12, ..tpa::Config::net() });
    let (listens, listening) = std::sync::mpsc::channel();
    let (held, end) = until_dropped();
    let far = || {
        block_on(async {
            let listener = Listener::bind(address, config.clone()).await.unwrap();
            listens.send(()).unwrap();
            let mut stream = listener.accept().await.unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).await.unwrap();
            end.await;
            all
        })
    };
    let near = || {
        let _held = held;
        block_on(async {
            let mut stream = Stream::connect(address, &config).await.unwrap();
            stream.write_all(&data).await.unwrap();
            stream.shutdown().await.unwrap();
            stream.stats().mss
        })
    };
    let (mss, arrived) = thread::scope(|scope| {
        let arrived = scope.spawn(|| chain.hosts[2].run(far).unwrap());
        listening.recv().unwrap();
        (chain.hosts[0].run(near).unwrap(), arrived.join().unwrap())
    });
    assert!(arrived == data, "{} bytes arrived", arrived.len());
    assert_eq!(mss, 1100 - 40);
    let cut = |host: usize| chain.hosts[host].run(|| ip_counter("FragOKs")).unwrap();
    // The segments of one block had already been numbered; all of them fit into the window.
    assert_eq!((cut(0) <= 12, cut(1)), (true, 0), "{} at the sender", cut(0));
}

/// The kernel's counters of the namespace that the thread is in.
fn ip_counter(name: &str) -> u64 {
    let all = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let mut lines = all.lines().filter_map(|line| line.strip_prefix("Ip: "));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let mut pairs = names.split(' ').zip(values.split(' '));
    pairs.find(|(found, _)| *found == name).and_then(|(_, value)| value.parse().ok()).unwrap()
}
