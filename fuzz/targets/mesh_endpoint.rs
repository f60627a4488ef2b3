//! An end of `mesh` handles any segments and notices at any time, with bounded memory and without a panic.

use multihop_core::{Duration, Instant, LostSegment, Notice, SegmentId};
use multihop_transport::connection::Data;
use multihop_transport::mesh::{Config, MeshEnd, Output};
use multihop_wire::control::{Control, Options, Syn, VERSION};
use multihop_wire::mesh::Segment;

pub fn fuzz(data: &[u8]) {
    let config = Config { mss: 100, recv_buffer: 10, window_max: 50, ..Config::default() };
    let mut end = MeshEnd::new(config, 1, NUMBER);
    // The first byte decides which side the end is, and whether the connection is established at once.
    match data.first().map_or(0, |first| first % 3) {
        0 => end.connect(),
        1 => end.listen(),
        _ => establish(&mut end),
    }
    let mut now = Instant::ZERO;
    let mut rest = data;
    while let Some((&[operation, argument], after)) = rest.split_first_chunk() {
        rest = after;
        match operation % 8 {
            0 => drop(end.send(Data::Virtual(u64::from(argument) * 10))),
            1 => drop(end.read(u32::from(argument))),
            2 if argument < 2 => end.shutdown(),
            2 if argument == 2 => end.close(),
            2 if argument == 3 => end.abort(),
            2 if argument == 4 => end.connect_again(),
            2 | 3 => {
                now += Duration::from_millis(u64::from(argument) * 4);
                end.handle_timeout(now);
            }
            4 => end.notice(notice(argument, rest)),
            _ => {
                let (bytes, after) = rest.split_at(rest.len().min(16 + usize::from(argument)));
                rest = after;
                if let Ok(segment) = Segment::parse(bytes) {
                    end.receive(now, segment);
                }
            }
        }
        drain(&mut end, now);
        assert!(end.unread() <= 10 * 300);
    }
}

/// Segments of both sides are counted from 1 then.
fn establish(end: &mut MeshEnd) {
    end.connect();
    while end.poll_output(Instant::ZERO).is_some() {}
    let options = Options { version: VERSION, ..Options::default() };
    let syn = Syn { number: NUMBER, attempt: 0, answers: Some(NUMBER), window: 50, options };
    end.receive(Instant::ZERO, Segment::Control(Control::Syn(syn)));
}

const NUMBER: u32 = 0;

fn notice(argument: u8, rest: &[u8]) -> Notice {
    let header = core::array::from_fn(|i| rest.get(i).copied().unwrap_or(0));
    match argument % 4 {
        0 => Notice::RouteLost,
        1 => Notice::RouteRestored,
        2 => Notice::PathInfo { hops: argument / 4 },
        _ => {
            Notice::LinkFailed(LostSegment { source: 1, destination: 1, segment: SegmentId::Custom(header) })
        }
    }
}

fn drain(end: &mut MeshEnd, now: Instant) {
    for _ in 0..1000 {
        let (flight, limit) = (end.flight(), end.flight_limit());
        let Some(output) = end.poll_output(now) else { return };
        if let Output::Segment(Segment::Data(_)) = output {
            assert!(end.flight() <= flight.max(limit) || end.phase() == "freeze");
        }
    }
    panic!("the output does not end");
}
