use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use multihop_testkit::impaired::{Chain, Path, Settings};
use nix::sys::socket::{setsockopt, sockopt};

/// A busy machine may do nothing for a second.
const LIMIT: Duration = Duration::from_secs(30);

/// The created object; `None` if this machine does not allow it.
#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
fn possible<T>(made: std::io::Result<T>) -> Option<T> {
    match made {
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotFound) => {
            println!("skipped: network namespaces need root and the command ip: {error}");
            None
        }
        made => Some(made.expect("a machine that allows namespaces makes all of it")),
    }
}

#[test]
fn a_path_carries_tcp_at_its_rate() {
    let delay = multihop_core::Duration::from_millis(5);
    let settings = Settings { rate: Some(8_000_000), delay, ..Settings::default() };
    let Some(path) = possible(Path::start(&settings, 1500, 1)) else { return };
    let listener = path.far.run(|| TcpListener::bind("10.77.0.2:7000")).unwrap().unwrap();
    let server = thread::spawn(move || {
        let mut received = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
        received.len()
    });
    let begin = Instant::now();
    let mut stream = path.near.run(|| TcpStream::connect("10.77.0.2:7000")).unwrap().unwrap();
    stream.write_all(&[7; 500_000]).unwrap();
    drop(stream);
    assert_eq!(server.join().unwrap(), 500_000);
    assert!(begin.elapsed() >= Duration::from_millis(500), "{:?}", begin.elapsed());
    assert!(path.counters()[0].bytes > 500_000);
}

#[test]
fn a_router_without_a_route_sends_icmp_unreachable() {
    let Some(chain) = possible(Chain::new(3)) else { return };
    let address = (chain.address(), 7000);
    let far = chain.hosts[3].run(|| UdpSocket::bind(address)).unwrap().unwrap();
    far.set_read_timeout(Some(LIMIT)).unwrap();
    let near = chain.hosts[0].run(|| UdpSocket::bind("10.0.0.1:0")).unwrap().unwrap();
    near.set_read_timeout(Some(LIMIT)).unwrap();
    // Linux tells programs of it that ask for such errors.
    setsockopt(&near, sockopt::Ipv4RecvErr, &true).unwrap();
    near.connect(address).unwrap();

    let mut buffer = [0; 10];
    near.send(b"before").unwrap();
    assert_eq!(far.recv(&mut buffer).unwrap(), 6);
    chain.lose_route(1).unwrap();
    near.send(b"lost").unwrap();
    assert_eq!(near.recv(&mut buffer).unwrap_err().kind(), ErrorKind::NetworkUnreachable);
    chain.restore_route(1).unwrap();
    near.send(b"after").unwrap();
    assert_eq!(far.recv(&mut buffer).unwrap(), 5);
}
