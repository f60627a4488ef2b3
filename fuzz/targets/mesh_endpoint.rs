//! An end of `mesh` handles any segments and notices at any time, with bounded memory and without a panic.

use multihop_core::{Duration, Instant, LostSegment, Notice, SegmentId};
use multihop_transport::channel::{ChannelId, Channels, Options as ChannelOptions};
use multihop_transport::connection::Data;
use multihop_transport::mesh::{Config, MeshEnd, Output};
use multihop_wire::control::{ChannelLimits, Control, Features, Options, Syn, VERSION};
use multihop_wire::mesh::Segment;

pub fn fuzz(data: &[u8]) {
    let channels = Config {
        channels: true,
        channel_count: 4,
        channel_credit: 4096,
        channel_growth: 8192,
        ..Config::default()
    };
    let config = Config { mss: 200, recv_buffer: 10, window_max: 50, ..channels };
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
            2 if argument >= 128 => use_channels(&mut end, now, argument - 128),
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
        // Four channels of the peer, and four of this end.
        assert!(end.kept_messages() <= 8 * 4096 + 8192);
    }
}

/// Segments of both sides are counted from 1 then.
fn establish(end: &mut MeshEnd) {
    end.connect();
    while end.poll_output(Instant::ZERO).is_some() {}
    let limits = ChannelLimits { channels: 4, credit: 1000, message: 5000 };
    let features = Features::default().with(1).with(2);
    let options = Options { version: VERSION, features, channels: Some(limits), ..Options::default() };
    let syn = Syn { number: NUMBER, attempt: 0, answers: Some(NUMBER), window: 50, options };
    end.receive(Instant::ZERO, Segment::Control(Control::Syn(syn)));
}

/// Opens a channel, sends in one of the first channels, or reads.
fn use_channels(end: &mut MeshEnd, now: Instant, argument: u8) {
    let channel = ChannelId(u16::from(argument / 8 % 8));
    let deadline = Some(Duration::from_millis(u64::from(argument))).filter(|_| argument % 2 == 1);
    let (priority, is_ordered, name) = (argument / 16, argument % 16 < 8, String::new());
    let data = Data::Virtual(u64::from(argument) * 20);
    match argument % 8 {
        0 | 1 => drop(end.open_channel(ChannelOptions { priority, is_ordered, deadline, name })),
        2 | 3 => drop(end.send_message(now, channel, data)),
        4 => drop(end.send_part(now, channel, data, argument > 64)),
        5 => drop(end.poll_message_of(now, channel)),
        _ => drop(end.poll_message(now)),
    }
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
        let (flight, limit, trickles) = (end.flight(), end.flight_limit(), end.counters().trickles);
        let Some(output) = end.poll_output(now) else { return };
        if let Output::Segment(Segment::Data(_)) = output {
            // Messages with a deadline may leave without room in the window, and two segments of a short message.
            let has_room = end.flight() <= flight.max(limit + 2) || end.counters().trickles > trickles;
            assert!(has_room || end.phase() == "freeze");
        }
    }
    panic!("the output does not end");
}
