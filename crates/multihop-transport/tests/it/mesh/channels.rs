//! Channels by script: order of segments, retransmissions and gaps, windows, and peers that break the rules.

use multihop_core::{Duration, Instant, LostSegment, Notice, Payload, SegmentId};
use multihop_testkit::LinkConfig;
use multihop_transport::channel::{ChannelError, ChannelId, Channels, Content, Options, Received};
use multihop_transport::connection::{Data, Event};
use multihop_transport::lifecycle::State;
use multihop_transport::mesh::{Config, MeshEnd, Output};
use multihop_wire::control::{Cause, ChannelLimits, Control, Features, Options as SynOptions, Reset, Syn};
use multihop_wire::mesh::{Ack, Bitmap, ChannelOptions, Chunk, Data as Wire, Segment};

use super::pair::{MeshPair, PORT, connect, established, syn_ack};

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

pub(super) fn config() -> Config {
    Config { channels: true, ..Config::default() }
}

/// An end that is connected to a peer with channels: the segments of both sides are counted from 0.
fn end(config: Config) -> MeshEnd {
    end_with(config, Features::default().with(1))
}

/// An end that is connected to a peer with these features.
fn end_with(config: Config, features: Features) -> MeshEnd {
    let mut end = MeshEnd::new(config, PORT, u32::MAX);
    end.connect();
    assert!(end.poll_output(Instant::ZERO).is_some(), "a SYN");
    let limits = ChannelLimits { channels: 4, credit: 1 << 20, message: 1 << 30 };
    let options = SynOptions { features, channels: Some(limits), ..syn_ack().options };
    end.receive(Instant::ZERO, Segment::Control(Control::Syn(Syn { options, ..syn_ack() })));
    while end.poll_output(Instant::ZERO).is_some() {}
    end
}

fn options(priority: u8) -> Options {
    Options { priority, ..Options::default() }
}

fn open(end: &mut MeshEnd, options: Options) -> ChannelId {
    end.open_channel(options).expect("the peer has channels")
}

fn send(end: &mut MeshEnd, now: Instant, channel: ChannelId, len: u64) {
    end.send_message(now, channel, Data::Virtual(len)).expect("there is room");
}

/// The segments with data, FIN or chunks that leave at this time.
fn leave(end: &mut MeshEnd, now: Instant) -> Vec<Wire> {
    end.handle_timeout(now);
    std::iter::from_fn(|| end.poll_output(now))
        .filter_map(|output| match output {
            Output::Segment(Segment::Data(data)) => Some(data),
            _ => None,
        })
        .collect()
}

/// Segments that leave up to this time.
fn run_until(end: &mut MeshEnd, until: Instant) -> Vec<Wire> {
    let mut sent = Vec::new();
    while let Some(now) = end.poll_timeout().filter(|&now| now <= until) {
        sent.extend(leave(end, now));
    }
    sent
}

/// Channels of the chunks of each segment; the stream is 99.
fn channels(sent: &[Wire]) -> Vec<u16> {
    sent.iter().map(|data| data.chunks.last().map_or(99, Chunk::channel)).collect()
}

fn ack(end: &mut MeshEnd, now: Instant, next: u32, newest: &Wire, arrived: &[u64]) {
    let mut bitmap = Bitmap::default();
    arrived.iter().for_each(|&offset| bitmap.insert(offset));
    let (newest, echo) = (newest.transmission, newest.sent);
    end.receive(now, Segment::Ack(Ack { window: 1000, next, newest, echo, bitmap, ..Ack::default() }));
}

#[test]
fn both_ends_must_have_channels() {
    assert_eq!(established(Config::default()).open_channel(options(0)), Err(ChannelError::Disabled));
    assert_eq!(established(config()).open_channel(options(0)), Err(ChannelError::Unsupported));
    assert_eq!(MeshEnd::new(config(), PORT, 1).open_channel(options(0)), Err(ChannelError::NotOpen));
    let mut end = end(config());
    assert_eq!(end.open_channel(options(9)), Err(ChannelError::Priority(9)));
    let opened: Vec<_> = (0..5).map(|_| end.open_channel(options(0))).collect();
    assert_eq!(opened[..4], [0, 2, 4, 6].map(|number| Ok(ChannelId(number))));
    assert_eq!(opened[4], Err(ChannelError::TooMany(4)));
    let unknown = ChannelId(8);
    assert_eq!(end.send_message(at(0), unknown, Data::Virtual(1)), Err(ChannelError::Unknown(unknown)));
    end.close();
    assert_eq!(end.open_channel(options(0)), Err(ChannelError::NotOpen));
}

#[test]
fn a_syn_announces_channels_only_with_the_feature() {
    let syn = |config: Config| {
        let mut end = MeshEnd::new(config, PORT, 7);
        end.connect();
        match end.poll_output(at(0)) {
            Some(Output::Segment(Segment::Control(Control::Syn(syn)))) => syn.options,
            other => panic!("{other:?}"),
        }
    };
    let without = syn(Config::default());
    assert_eq!((without.features, without.channels), (Features::default(), None));
    let with = syn(Config { channel_count: 5000, channel_credit: 1, ..config() });
    let limits = ChannelLimits { channels: 1024, credit: 4096, message: 1 << 40 };
    assert_eq!((with.features, with.channels), (Features::default().with(1).with(2), Some(limits)));
}

#[test]
fn messages_leave_by_class_and_the_stream_between_classes_3_and_4() {
    let mut end = end(config());
    end.notice(Notice::PathInfo { hops: 160 });
    let [image, command] = [5, 0].map(|priority| open(&mut end, options(priority)));
    end.send(Data::Virtual(3000)).expect("the stream is open");
    send(&mut end, at(0), image, 3000);
    send(&mut end, at(0), command, 2000);
    let sent = leave(&mut end, at(0));
    assert_eq!(channels(&sent), [2, 2, 99, 99, 99, 0, 0, 0]);
    assert!(sent.iter().all(|data| data.payload.len() <= 1460));
}

#[test]
fn a_command_leaves_before_lost_segments_of_an_image() {
    let mut end = end(config());
    end.notice(Notice::PathInfo { hops: 32 });
    let [image, command] = [5, 0].map(|priority| open(&mut end, options(priority)));
    send(&mut end, at(0), image, 100_000);
    let sent = leave(&mut end, at(0));
    assert_eq!(channels(&sent), [2, 0, 0, 0], "the command's channel is announced first");
    // The second and third are lost, which four later transmissions show.
    ack(&mut end, at(40), 1, &sent[3], &[2]);
    let more = run_until(&mut end, at(200));
    let newest = more.last().expect("the window has room").clone();
    send(&mut end, at(200), command, 100);
    let arrived: Vec<u64> = (2..2 + more.len() as u64).collect();
    ack(&mut end, at(210), 1, &newest, &arrived);
    let mut then = leave(&mut end, at(210));
    then.extend(run_until(&mut end, at(400)));
    let numbers: Vec<_> = then.iter().map(|data| (data.chunks[0].channel(), data.number)).collect();
    assert_eq!(numbers[0].0, 2, "{numbers:?}");
    assert_eq!(numbers[1..3], [(0, 1), (0, 2)], "lost ones before new ones of their class: {numbers:?}");
}

#[test]
fn a_lost_message_past_its_deadline_is_retransmitted_as_a_gap() {
    let mut end = end(config());
    end.notice(Notice::PathInfo { hops: 48 });
    let deadline = Some(Duration::from_millis(65));
    let channel = open(&mut end, Options { deadline, ..Options::default() });
    (0..6).for_each(|_| send(&mut end, at(0), channel, 1400));
    let sent = leave(&mut end, at(0));
    assert_eq!(sent.len(), 6);
    // The second and the third are lost. The second is retransmitted in time, the third is not.
    ack(&mut end, at(40), 1, &sent[5], &[2, 3, 4]);
    let again = leave(&mut end, at(40));
    let chunk = |data: &Wire| data.chunks[0].clone();
    assert_eq!((again[0].number, again[0].payload.len()), (1, 1400));
    assert!(matches!(chunk(&again[0]), Chunk::Data { message: 1, slack: Some(50), .. }), "65 - 40 - 20 ms");
    let late =
        run_until(&mut end, at(1000)).into_iter().find(|data| data.number == 2).expect("a retransmission");
    assert_eq!(late.payload, Payload::EMPTY);
    assert_eq!(chunk(&late), Chunk::Gap { channel: 0, first: 2, count: 1, used: 1464 });
    let given_up = end.channel_counters(channel).map(|counters| counters.given_up);
    assert_eq!(given_up, Some(2), "the second one was not acknowledged either");
}

#[test]
fn a_new_segment_skips_a_lost_one_whose_message_is_worthless() {
    let mut end = end_with(config(), Features::default().with(1).with(2));
    end.notice(Notice::PathInfo { hops: 48 });
    let deadline = Some(Duration::from_millis(65));
    let channel = open(&mut end, Options { deadline, ..Options::default() });
    (0..6).for_each(|_| send(&mut end, at(0), channel, 1400));
    let sent = leave(&mut end, at(0));
    ack(&mut end, at(40), 1, &sent[5], &[2, 3, 4]);
    let mut then = run_until(&mut end, at(59));
    assert!(then.is_empty(), "retransmissions would be late");
    send(&mut end, at(60), channel, 100);
    then.extend(leave(&mut end, at(60)));
    then.extend(run_until(&mut end, at(80)));
    let gap = |first| Chunk::Gap { channel: 0, first, count: 1, used: 1464 };
    let skips = |data: &&Wire| data.chunks[1..] == [gap(1), gap(2), Chunk::Skip { distance: 5, count: 2 }];
    let new = then.iter().find(skips).unwrap_or_else(|| panic!("{then:?}"));
    assert_eq!((new.number, new.payload.len()), (6, 100));
    // All have arrived: the skipped one, too.
    ack(&mut end, at(110), 7, new, &[]);
    assert!(end.is_idle());
}

#[test]
fn skipped_segments_count_as_arrived() {
    let mut end = end_with(config(), Features::default().with(1).with(2));
    let chunks = vec![
        Chunk::Open { channel: 0, options: ChannelOptions::default() },
        Chunk::Skip { distance: 3, count: 2 },
        Chunk::Skip { distance: Chunk::MAX_DISTANCE, count: Chunk::MAX_DISTANCE - 3 },
    ];
    end.receive(at(10), Segment::Data(Wire { number: 3, chunks, ask: true, ..Wire::default() }));
    let next = std::iter::from_fn(|| end.poll_output(at(10))).find_map(|output| match output {
        Output::Segment(Segment::Ack(ack)) => Some((ack.next, ack.bitmap.contains(1))),
        _ => None,
    });
    assert_eq!(next, Some((2, true)), "segments 0, 1 and 3; 2 is missing");
}

#[test]
fn messages_with_a_deadline_wait_for_room_while_nothing_is_lost() {
    let mut end = end(config());
    let deadline = Some(Duration::from_millis(200));
    let channel = open(&mut end, Options { deadline, ..Options::default() });
    let image = open(&mut end, options(6));
    send(&mut end, at(0), channel, 100);
    let sent = leave(&mut end, at(0));
    ack(&mut end, at(40), 1, &sent[0], &[]);
    send(&mut end, at(40), image, 100_000);
    assert!(!leave(&mut end, at(40)).is_empty());
    assert!(end.flight() >= end.flight_limit(), "the window is full");
    send(&mut end, at(50), channel, 100);
    assert!(run_until(&mut end, at(90)).is_empty());
    assert_eq!(end.counters().trickles, 0);
}

#[test]
fn messages_with_a_deadline_leave_a_silent_path_before_the_first_round_trip() {
    let mut end = end(config());
    let deadline = Some(Duration::from_millis(200));
    let channel = open(&mut end, Options { deadline, ..Options::default() });
    send(&mut end, at(0), channel, 100);
    assert_eq!(leave(&mut end, at(0)).len(), 1);
    run_until(&mut end, at(1950));
    assert_eq!(end.phase(), "freeze");
    let before = end.counters().trickles;
    for ms in (2000..4000).step_by(20) {
        send(&mut end, at(ms), channel, 100);
        run_until(&mut end, at(ms + 19));
    }
    let trickles = end.counters().trickles - before;
    // The initial timeout, 200 ms after a handshake without delay, takes the place of the round trip.
    assert!((8..=10).contains(&trickles), "{trickles} segments in 2 s");
}

/// Lets the peer send a message that uses two fifths of a credit of 4096 bytes, and the end grant credit.
fn grant(end: &mut MeshEnd) {
    let chunks = vec![
        Chunk::Open { channel: 0, options: ChannelOptions::default() },
        Chunk::Data { channel: 0, message: 0, offset: 0, len: 1600, is_last: true, slack: None },
    ];
    end.receive(at(0), Segment::Data(Wire { chunks, payload: Payload::Virtual(1600), ..Wire::default() }));
    assert!(end.poll_message(at(0)).is_some());
}

/// Times at which an end sends credit up to a time, ms.
fn credits(end: &mut MeshEnd, until: u64) -> Vec<u64> {
    let mut times = Vec::new();
    let mut now = at(0);
    while now <= at(until) {
        let has_credit = |data: &Wire| data.chunks.iter().any(|chunk| matches!(chunk, Chunk::Credit { .. }));
        let sent = leave(end, now).iter().filter(|data| has_credit(data)).count();
        times.extend(std::iter::repeat_n((now - at(0)).as_micros() / 1000, sent));
        now = end.poll_timeout().expect("the end waits for an ACK");
    }
    times
}

#[test]
fn credit_is_repeated_on_a_silent_path_before_the_first_round_trip() {
    let mut end = end(Config { channel_credit: 4096, ..config() });
    grant(&mut end);
    let times = credits(&mut end, 5000);
    assert!(times.len() > 10 && times[0] == 0, "{times:?}");
}

#[test]
fn credit_of_one_channel_leaves_together_with_credit_of_others() {
    let mut end = end(Config { channel_credit: 4096, ..config() });
    for (number, channel, len) in [(0, 0, 400), (1, 2, 1600)] {
        let options = ChannelOptions::default();
        let data = Chunk::Data { channel, message: 0, offset: 0, len, is_last: true, slack: None };
        let chunks = vec![Chunk::Open { channel, options }, data];
        let payload = Payload::Virtual(len.into());
        let segment = Wire { number, transmission: number, chunks, payload, ..Wire::default() };
        end.receive(at(0), Segment::Data(segment));
        assert!(end.poll_message(at(0)).is_some());
        let sent = leave(&mut end, at(0));
        let credits: Vec<usize> = sent.iter().map(|data| data.chunks.len()).collect();
        assert_eq!(credits, [vec![], vec![2]][usize::from(channel > 0)]);
    }
}

/// Numbers of the segments on whose arrival an end sends an ACK. The peer sends 16 segments, one each 10 ms: a message with this
/// priority in the first one, and with `has_second` another in the eighth and ninth, otherwise parts of an image. ACKs may wait
/// for `hold` units of 100 us.
fn acknowledged(priority: u8, has_second: bool, hold: u16) -> Vec<u32> {
    let mut end = end(config());
    let mut acknowledged = Vec::new();
    for number in 0..16 {
        let open = |channel, priority| Chunk::Open {
            channel,
            options: ChannelOptions { priority, ..ChannelOptions::default() },
        };
        let part = |channel, message, offset, is_last| Chunk::Data {
            channel,
            message,
            offset,
            len: 100,
            is_last,
            slack: None,
        };
        let chunks = match number {
            0 => vec![open(0, priority), part(0, 0, 0, true)],
            1 => vec![open(2, 6), part(2, 0, 0, false)],
            7 if has_second => vec![part(0, 1, 0, false)],
            8 if has_second => vec![part(0, 1, 100, true)],
            _ => {
                let others = if has_second && number > 8 { 3 } else { 1 };
                vec![part(2, 0, 100 * (u64::from(number) - others), false)]
            }
        };
        let (payload, every) = (Payload::Virtual(100), 8);
        let segment = Wire { number, transmission: number, every, hold, chunks, payload, ..Wire::default() };
        let now = at(10 * u64::from(number));
        end.receive(now, Segment::Data(segment));
        end.handle_timeout(now);
        while let Some(output) = end.poll_output(now) {
            if matches!(output, Output::Segment(Segment::Ack(_))) {
                acknowledged.push(number);
            }
        }
    }
    acknowledged
}

#[test]
fn the_ack_of_many_segments_waits_for_the_end_of_an_urgent_message() {
    let of = |priority| acknowledged(priority, true, 4000);
    assert_eq!((of(5), of(0)), (vec![7, 15], vec![8]));
}

#[test]
fn an_ack_without_the_end_of_an_urgent_message_waits_for_twice_as_many_segments_or_for_its_time() {
    let of = |hold| acknowledged(0, false, hold);
    assert_eq!((of(4000), of(1000)), (vec![15], vec![10]));
}

/// The ACK of the peer's images meets no message of the peer.
#[test]
fn an_ack_does_not_wait_for_urgent_messages_of_its_own_end() {
    let mut end = end(config());
    let options = Options { priority: 0, ..Options::default() };
    let id = end.open_channel(options).expect("the peer has channels");
    end.send_message(at(0), id, Data::Virtual(100)).expect("room");
    leave(&mut end, at(0));
    let mut acknowledged = Vec::new();
    for number in 0..16 {
        let options = ChannelOptions { priority: 6, ..ChannelOptions::default() };
        let offset = 100 * u64::from(number);
        let data = Chunk::Data { channel: 2, message: 0, offset, len: 100, is_last: false, slack: None };
        let chunks = if number == 0 { vec![Chunk::Open { channel: 2, options }, data] } else { vec![data] };
        let (payload, every, hold) = (Payload::Virtual(100), 8, 4000);
        let segment = Wire { number, transmission: number, every, hold, chunks, payload, ..Wire::default() };
        end.receive(at(10), Segment::Data(segment));
        end.handle_timeout(at(10));
        while let Some(output) = end.poll_output(at(10)) {
            if matches!(output, Output::Segment(Segment::Ack(_))) {
                acknowledged.push(number);
            }
        }
    }
    assert_eq!(acknowledged, [7, 15]);
}

/// An end that a peer with channels has connected: the round trip of its SYN was not measured.
fn listener(config: Config) -> MeshEnd {
    let mut end = MeshEnd::new(config, PORT, u32::MAX);
    end.listen();
    let limits = ChannelLimits { channels: 4, credit: 1 << 20, message: 1 << 30 };
    let features = Features::default().with(1);
    let options = SynOptions { features, channels: Some(limits), ..syn_ack().options };
    end.receive(at(0), Segment::Control(Control::Syn(Syn { answers: None, options, ..syn_ack() })));
    assert!(end.poll_output(at(0)).is_some(), "a SYN ACK");
    end
}

#[test]
fn a_listener_repeats_credit_ever_later_until_the_first_round_trip() {
    let mut end = listener(Config { channel_credit: 4096, ..config() });
    grant(&mut end);
    assert_eq!(credits(&mut end, 3000)[..5], [0, 200, 400, 800, 1600]);
}

#[test]
fn segments_of_the_peer_let_a_listener_repeat_credit_soon_again() {
    let mut end = listener(Config { channel_credit: 4096, ..config() });
    grant(&mut end);
    assert_eq!(credits(&mut end, 900), [0, 200, 400, 800]);
    end.receive(at(900), Segment::Data(Wire { number: 1, transmission: 1, ..Wire::default() }));
    assert!(leave(&mut end, at(900)).is_empty());
    let next = run_until(&mut end, at(1100));
    assert_eq!(next.len(), 1, "200 ms after the newest one");
    let (newest, echo) = (next[0].transmission, next[0].sent);
    end.receive(at(1110), Segment::Ack(Ack { window: 100, next: 1, newest, echo, ..Ack::default() }));
    assert!(run_until(&mut end, at(3000)).is_empty(), "the credit has arrived");
}

/// The segments that leave at once when a message of this class and length is sent on an idle path with a window of one segment.
fn burst(priority: u8, len: u64) -> usize {
    let mut end = end(config());
    end.notice(Notice::PathInfo { hops: 4 });
    let channel = open(&mut end, options(priority));
    send(&mut end, at(0), channel, 10);
    let sent = leave(&mut end, at(0));
    ack(&mut end, at(40), 1, &sent[0], &[]);
    assert!(leave(&mut end, at(1000)).is_empty() && end.window() <= 2.0, "{}", end.window());
    send(&mut end, at(1000), channel, len);
    leave(&mut end, at(1000)).len()
}

#[test]
fn a_message_of_up_to_three_segments_leaves_at_once_on_an_idle_path() {
    let few = burst(3, 4000);
    assert!(few < 3, "{few} segments of the usual class");
    assert_eq!((burst(0, 4000), burst(0, 5000)), (3, few), "a longer message waits for the window");
}

/// Longest time in ms for which short messages of a class wait at their sender, ten a second, while the path has a queue of
/// 200 ms in which they have no share.
fn longest_wait(priority: u8) -> u64 {
    let mut end = end(config());
    let channel = open(&mut end, options(priority));
    let (mut longest, mut next) = (0, 0);
    for message in 0..100 {
        let begin = at(100 * message);
        send(&mut end, begin, channel, 100);
        let mut sent = leave(&mut end, begin).pop().map(|data| (begin, data));
        while let Some(now) = end.poll_timeout().filter(|_| sent.is_none()) {
            sent = leave(&mut end, now).pop().map(|data| (now, data));
        }
        let (left, data) = sent.expect("the message leaves");
        longest = longest.max((left - begin).as_micros() / 1000);
        next += 1;
        let (newest, echo, delay) = (data.transmission, data.sent, 200_000);
        let ack = Ack { window: 1000, next, newest, echo, delay, ..Ack::default() };
        end.receive(left + Duration::from_millis(40), Segment::Ack(ack));
        if left > begin + Duration::from_millis(50) {
            break;
        }
    }
    longest
}

#[test]
fn short_messages_of_urgent_classes_do_not_wait_for_the_pace() {
    assert_eq!(longest_wait(2), 0);
    assert!(longest_wait(3) > 50, "{} ms", longest_wait(3));
}

/// Time between two segments of an image after 2 s in which the path has a queue of 50 ms, beside a number of commands a second.
fn gap_beside(commands: u64) -> Duration {
    let mut end = end(config());
    let [image, command] = [5, 0].map(|priority| open(&mut end, options(priority)));
    send(&mut end, at(0), image, 200_000);
    let (mut next, mut arriving): (u32, Vec<(Instant, Wire)>) = (0, Vec::new());
    for ms in 0..4000 {
        if commands > 0 && ms % (1000 / commands) == 0 {
            send(&mut end, at(ms), command, 100);
        }
        while arriving.first().is_some_and(|(arrival, _)| *arrival <= at(ms)) {
            let (_, data) = arriving.remove(0);
            next += 1;
            let (newest, echo, delay) = (data.transmission, data.sent, if ms < 2000 { 3000 } else { 50_000 });
            let ack = Ack { window: 1000, next, newest, echo, delay, ..Ack::default() };
            end.receive(at(ms), Segment::Ack(ack));
        }
        let arrival = at(ms + 40);
        arriving.extend(leave(&mut end, at(ms)).into_iter().map(|data| (arrival, data)));
    }
    end.gap().expect("a round trip is known")
}

#[test]
fn images_yield_faster_to_a_queue_beside_commands() {
    let (alone, beside) = (gap_beside(0), gap_beside(10));
    assert!(beside > alone * 2, "{beside:?} and {alone:?}");
}

#[test]
fn what_only_earlier_classes_have_overtaken_is_lost_later() {
    let retransmitted = |overtaking: u8| {
        let mut end = end(config());
        end.notice(Notice::PathInfo { hops: 32 });
        let [image, other] = [5, overtaking].map(|priority| open(&mut end, options(priority)));
        send(&mut end, at(0), image, 1400);
        let first = leave(&mut end, at(0));
        let missing = u32::try_from(first.len()).expect("two at most");
        ack(&mut end, at(40), missing, first.last().expect("the window has room"), &[]);
        send(&mut end, at(40), image, 1400);
        assert_eq!(leave(&mut end, at(40)).len(), 1);
        send(&mut end, at(60), other, 100);
        let newest = leave(&mut end, at(60)).pop().expect("the window has room");
        ack(&mut end, at(100), missing, &newest, &[1]);
        leave(&mut end, at(100));
        // The usual patience is a round trip of 40 ms, and a quarter of it.
        run_until(&mut end, at(40 + 75));
        let early = end.counters().retransmitted;
        run_until(&mut end, at(40 + 110));
        (early, end.counters().retransmitted)
    };
    assert_eq!((retransmitted(5), retransmitted(0)), ((1, 1), (0, 1)));
}

#[test]
fn messages_expire_while_nothing_can_leave() {
    let mut end = end(config());
    let deadline = Some(Duration::from_millis(100));
    let channel = open(&mut end, Options { deadline, ..Options::default() });
    (0..50).for_each(|_| send(&mut end, at(0), channel, 1400));
    let sent = leave(&mut end, at(0));
    assert_eq!((sent.len(), end.unacked()), (2, 70_000));
    assert_eq!(end.poll_timeout(), Some(at(100)));
    end.handle_timeout(at(100));
    assert_eq!(end.unacked(), 2800);
    let deadline = end.poll_timeout();
    assert!(deadline > Some(at(100)), "{deadline:?}");
    ack(&mut end, at(140), 2, &sent[1], &[]);
    assert_eq!(leave(&mut end, at(140))[0].chunks, [Chunk::Gap { channel: 0, first: 2, count: 48, used: 0 }]);
}

#[test]
fn a_notice_of_a_failed_link_names_a_segment_of_channels() {
    let mut end = end(config());
    let channel = open(&mut end, options(0));
    send(&mut end, at(0), channel, 100);
    let sent = leave(&mut end, at(0));
    let segment = SegmentId::Custom(Segment::Data(sent[0].clone()).start());
    end.notice(Notice::LinkFailed(LostSegment { source: PORT, destination: PORT, segment }));
    assert_eq!((end.counters().notices, end.phase()), (1, "freeze"));
}

/// Two ends that have channels, after the handshake.
fn pair(configs: [Config; 2], link: LinkConfig) -> MeshPair {
    let mut pair = connect(configs.each_ref(), link, 1);
    let limit = at(10_000);
    let is_open = |pair: &mut MeshPair| pair.ends.iter().all(|end| end.end.state() == State::Established);
    assert!(pair.drive(limit, is_open));
    pair
}

fn link() -> LinkConfig {
    LinkConfig { delay: Duration::from_millis(20), ..LinkConfig::default() }
}

fn received(pair: &mut MeshPair, side: usize) -> Vec<Received> {
    let now = pair.now();
    std::iter::from_fn(|| pair.call(side, |watched| watched.end.poll_message(now))).collect()
}

#[test]
fn an_unread_stream_and_an_unread_channel_stop_no_other_channel() {
    let mut pair = pair([config(), Config { recv_buffer: 4, ..config() }], link());
    let now = pair.now();
    let [slow, fast] =
        [2, 6].map(|priority| pair.call(0, |watched| open(&mut watched.end, options(priority))));
    pair.call(0, |watched| {
        watched.end.send(Data::Virtual(100_000)).expect("the stream is open");
        (0..200).for_each(|_| send(&mut watched.end, now, slow, 1000));
        (0..200).for_each(|_| send(&mut watched.end, now, fast, 1000));
    });
    let mut count = 0;
    let done = pair.drive(at(60_000), |pair| {
        let now = pair.now();
        while let Some(message) = pair.call(1, |watched| watched.end.poll_message_of(now, fast.at_peer())) {
            assert_eq!((message.message, message.content), (count, Content::Whole(Payload::Virtual(1000))));
            count += 1;
        }
        count == 200
    });
    assert!(done, "{count} of 200 messages");
    let [sender, receiver] = pair.ends.each_ref().map(|watched| &watched.end);
    assert!(receiver.unread() > 0 && receiver.unread() < 100_000);
    assert!((50_000..=65_536).contains(&receiver.kept_messages()), "{}", receiver.kept_messages());
    assert!(sender.writable(slow) > 0 && sender.unacked() > 200_000, "{}", sender.unacked());
}

#[test]
fn messages_of_gigabytes_stream_through_a_bounded_memory() {
    let mut pair = pair([config(), config()], LinkConfig { delay: Duration::from_millis(1), ..link() });
    let now = pair.now();
    let len = 3_000_000;
    let channel = pair.call(0, |watched| open(&mut watched.end, options(3)));
    pair.call(0, |watched| send(&mut watched.end, now, channel, len));
    let (mut end, mut most) = (0, 0);
    let done = pair.drive(at(600_000), |pair| {
        most = most.max(pair.ends[1].end.kept_messages());
        received(pair, 1).into_iter().any(|part| {
            let Content::Part { offset, data, is_last } = part.content else { panic!("{part:?}") };
            assert_eq!((part.message, offset), (0, end));
            end += data.len() as u64;
            is_last
        })
    });
    assert!(done && end == len, "{end} of {len} bytes");
    assert!(most <= 64 * 1024 + 4 * 1024 * 1024, "{most}");
}

#[test]
fn both_ends_send_in_both_channels_and_close_behind_all_messages() {
    let mut pair = pair([config(), config()], link());
    let now = pair.now();
    let own = [0, 1].map(|side| pair.call(side, |watched| open(&mut watched.end, options(3))));
    pair.drive(at(10_000), |pair| {
        (0..2).all(|side| pair.ends[side].end.channel_options(own[1 - side].at_peer()).is_some())
    });
    for side in 0..2 {
        pair.call(side, |watched| {
            for channel in [own[side], own[1 - side].at_peer()] {
                (0..50).for_each(|_| send(&mut watched.end, now, channel, 5000));
            }
            watched.end.shutdown();
        });
    }
    let mut counts = [0, 0];
    pair.drive(at(600_000), |pair| {
        for (side, count) in counts.iter_mut().enumerate() {
            *count += received(pair, side).len();
        }
        pair.ends.iter().all(|watched| watched.end.state() == State::Closed)
    });
    assert_eq!(counts, [100, 100], "credit of one end leaves behind its FIN");
    for events in &pair.events {
        assert_eq!(events.last(), Some(&Output::Event(Event::Closed)));
    }
}

#[test]
fn a_closed_end_resets_a_peer_that_sends_messages() {
    let mut pair = pair([config(), config()], link());
    let now = pair.now();
    let channel = pair.call(0, |watched| open(&mut watched.end, options(3)));
    pair.call(1, |watched| watched.end.close());
    pair.call(0, |watched| send(&mut watched.end, now, channel, 10));
    assert!(pair.drive(at(60_000), |pair| pair.ends[0].end.reset().is_some()));
    assert_eq!(pair.ends[0].end.reset().map(|reset| reset.cause), Some(Cause::ABORTED));
}

/// Gives the end a segment of its peer with these chunks and a payload; returns the text of the reset that
/// they cause.
fn refused(chunks: Vec<Chunk>, len: u32) -> Option<String> {
    let mut end = end(Config { message_max: 100_000, ..config() });
    let data = Wire { chunks, payload: Payload::Virtual(len), ..Wire::default() };
    end.receive(at(10), Segment::Data(data));
    std::iter::from_fn(|| end.poll_output(at(10))).find_map(|output| match output {
        Output::Segment(Segment::Control(Control::Reset(Reset { cause: Cause::CHANNEL, text, .. }))) => {
            Some(text)
        }
        _ => None,
    })
}

#[test]
fn a_peer_that_breaks_a_rule_is_reset_with_the_reason() {
    let open = |channel: u16, deadline: u32| Chunk::Open {
        channel,
        options: ChannelOptions { deadline, ..ChannelOptions::default() },
    };
    let data = |channel: u16, message: u64, offset: u64, len: u16| Chunk::Data {
        channel,
        message,
        offset,
        len,
        is_last: false,
        slack: Some(0),
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(refused(vec![open(0, 0), data(0, 0, 0, 100)], 100), None);
    assert_eq!(refused(vec![open(0, ChannelOptions::MAX_DEADLINE), data(0, 0, 0, 100)], 100), None);
    assert_eq!(refused((0..64).map(|n| open(2 * n, 1)).collect(), 0), None);
    assert_eq!(
        refused((0..65).map(|n| open(2 * n, 1)).collect(), 0),
        text("channel 129: a number above the limit, or never opened")
    );
    assert_eq!(refused(vec![open(2, 0), open(2, 0)], 0), text("channel 3: opened twice"));
    assert_eq!(
        refused(vec![data(1, 0, 0, 100)], 100),
        text("channel 0: a number above the limit, or never opened")
    );
    assert_eq!(refused(vec![data(0, 0, 99_901, 100)], 100), text("channel 1: a message above the limit"));
    assert_eq!(refused(vec![data(0, 0, 65_400, 100)], 100), text("channel 1: more than the credit"));
    assert_eq!(
        refused(vec![data(0, 0, 0, 100), data(0, 0, 50, 100)], 200),
        text("channel 1: chunks that overlap")
    );
    assert_eq!(
        refused(vec![Chunk::Credit { channel: 4, limit: 1 }], 0),
        text("channel 5: credit for a channel that was never opened")
    );
}

#[test]
fn chunks_without_the_feature_reset_the_connection() {
    let mut end = established(Config::default());
    let chunks = vec![Chunk::Credit { channel: 0, limit: 1 }];
    end.receive(at(10), Segment::Data(Wire { chunks, ..Wire::default() }));
    assert_eq!(end.state(), State::Closed);
}
