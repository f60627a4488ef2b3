//! A TPA endpoint handles any segments at any time, with bounded memory and without a panic.

use multihop_core::{Duration, Instant, Machine};
use multihop_transport::connection::Data;
use multihop_transport::lifecycle;
use multihop_transport::tpa::{Config, Input, Output, Ports, TpaEnd};
use multihop_wire::tpa::{Ack, BlockSeq, Body, Options, Segment};

pub fn fuzz(data: &[u8]) {
    let config = Config {
        mss: 100,
        recv_buffer: Some(1000),
        lifecycle: lifecycle::Config { linger: Duration::from_secs(9), ..lifecycle::Config::USUAL },
        ..Config::net()
    };
    let mut tpa = TpaEnd::new(config, Ports { local: 1, remote: 2 }, BlockSeq(0));
    tpa.connect();
    let mut now = Instant::ZERO;
    drain(&mut tpa, now);
    let syn = Body::Syn(Options::default());
    give(&mut tpa, now, Segment { body: syn, ack: Some(Ack::default()), window: 9, ..Segment::default() });
    let mut rest = data;
    while let Some((&[operation, argument], after)) = rest.split_first_chunk() {
        rest = after;
        match operation % 8 {
            0 => drop(tpa.send(Data::Virtual(u64::from(argument) * 10))),
            1 => drop(tpa.read(u32::from(argument))),
            2 if argument == 0 => tpa.shutdown(),
            2 | 3 => {
                now += Duration::from_millis(u64::from(argument) * 4);
                tpa.handle_timeout(now);
            }
            _ => {
                let (bytes, after) = rest.split_at(rest.len().min(12 + usize::from(argument)));
                rest = after;
                if let Ok(segment) = Segment::parse_in_udp(bytes, 2, 1) {
                    tpa.handle(now, Input::Segment(segment));
                }
            }
        }
        drain(&mut tpa, now);
        assert!(tpa.unread() <= 1000 + 12 * 100);
    }
}

fn give(tpa: &mut TpaEnd, now: Instant, segment: Segment) {
    tpa.handle(now, Input::Segment(segment));
    drain(tpa, now);
}

fn drain(tpa: &mut TpaEnd, now: Instant) {
    for _ in 0..100 {
        let (flight, window) = (tpa.flight(), tpa.window());
        let Some(output) = tpa.poll_output(now) else { return };
        if let Output::Segment(Segment { body: Body::Data { .. } | Body::Fin { .. }, .. }) = output {
            assert!(flight < window);
        }
    }
    panic!("the output does not end");
}
