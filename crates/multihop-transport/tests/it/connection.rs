//! Every transport carries data through `Connection`.

use multihop_core::{Duration, Instant};
use multihop_transport::connection::{Connection, Data, Event, Output, UdpReceiver, UdpSender};
use multihop_transport::{mesh, tcp, tpa};
use multihop_wire::tcp::SeqNumber;
use multihop_wire::tpa::BlockSeq;

type EndPair = [Box<dyn Connection>; 2];

const PORTS: tcp::Ports = tcp::Ports { local: 7, remote: 7 };

fn tcp() -> EndPair {
    let config = || tcp::Config { sink: true, ..tcp::Config::default() };
    [1, 2].map(|iss| Box::new(tcp::TcpEnd::new(config(), PORTS, SeqNumber(iss))) as Box<dyn Connection>)
}

fn tpa() -> EndPair {
    let config = || tpa::Config { sink: true, ..tpa::Config::default() };
    [1, 2].map(|iss| Box::new(tpa::TpaEnd::new(config(), PORTS, BlockSeq(iss))) as Box<dyn Connection>)
}

fn mesh() -> EndPair {
    let config = || mesh::Config { sink: true, ..mesh::Config::default() };
    [1, 2].map(|number| Box::new(mesh::MeshEnd::new(config(), PORTS.local, number)) as Box<dyn Connection>)
}

/// Exchanges segments and runs timers for ten seconds; returns the number of bytes that the second end
/// delivered.
fn run(ends: &mut EndPair) -> u64 {
    let (mut now, mut delivered) = (Instant::ZERO, 0);
    for _ in 0..1000 {
        for from in [0, 1] {
            while let Some(output) = ends[from].poll_output(now) {
                match output {
                    Output::Segment(segment) => ends[1 - from].receive(now, segment, None),
                    Output::Event(Event::Delivered(bytes)) if from == 1 => delivered += bytes,
                    Output::Event(_) => {}
                }
            }
        }
        now += Duration::from_millis(10);
        for end in ends.iter_mut() {
            end.handle_timeout(now);
        }
    }
    delivered
}

#[test]
fn connections_deliver_what_was_sent() {
    for mut ends in [tcp(), tpa(), mesh()] {
        ends[1].listen();
        ends[0].connect();
        ends[0].send(Instant::ZERO, Data::Virtual(10_000)).unwrap();
        assert_eq!(run(&mut ends), 10_000);
        assert!(ends[0].counters().sent > 0 && ends[0].round_trip().is_some());
        assert_eq!(ends[1].counters().delivered, ends[0].counters().sent);
    }
}

#[test]
fn datagrams_arrive_one_by_one_without_acks() {
    let mut ends: EndPair = [Box::new(UdpSender::new(7)), Box::new(UdpReceiver::default())];
    ends[0].send(Instant::ZERO, Data::Virtual(100)).unwrap();
    ends[0].send(Instant::ZERO, Data::Virtual(50)).unwrap();
    assert_eq!(run(&mut ends), 150);
    assert_eq!((ends[0].counters().sent, ends[1].counters().delivered), (2, 2));
    assert!(!ends[0].is_acknowledged() && ends[0].poll_output(Instant::ZERO).is_none());
}
