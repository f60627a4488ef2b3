//! Whatever the network does, reliable messages arrive once, in order where that was requested, and no message is lost
//! without a gap.

use multihop_core::{Duration, Instant};
use multihop_testkit::LinkConfig;
use multihop_transport::channel::{ChannelError, ChannelId, Channels, Content, Options};
use multihop_transport::connection::Data;
use multihop_transport::lifecycle::State;
use multihop_transport::mesh::Config;
use proptest::collection::vec;
use proptest::prelude::*;

use super::pair::{MeshPair, connect};

/// A channel and its messages: the length of each, and the time after which it is sent.
#[derive(Clone, Debug)]
struct Plan {
    options: Options,
    messages: Vec<(u64, Duration)>,
    /// Whether the application reads slowly.
    is_slow: bool,
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let deadline = prop_oneof![Just(None), (1_u64..2000).prop_map(|ms| Some(Duration::from_millis(ms)))];
    let options = (0_u8..8, any::<bool>(), deadline).prop_map(|(priority, is_ordered, deadline)| Options {
        priority,
        is_ordered,
        deadline,
        ..Options::default()
    });
    let len = prop_oneof![0_u64..200, 1000_u64..3000, 3000_u64..60_000];
    let message = (len, (0_u64..100).prop_map(Duration::from_millis));
    let plan = (options, vec(message, 1..25), any::<bool>()).prop_map(|(options, messages, is_slow)| Plan {
        options,
        messages,
        is_slow,
    });
    vec(plan, 1..5)
}

fn links() -> impl Strategy<Value = LinkConfig> {
    (0.0..0.3, 0.0..0.3, 0.0..0.3, 1_u64..200).prop_map(|(loss, duplication, reordering, hold)| LinkConfig {
        delay: DELAY,
        loss,
        duplication,
        reordering,
        hold: Duration::from_millis(hold),
    })
}

/// The data of a message, which differ from those of every other message.
fn bytes(channel: u16, message: u64, len: u64) -> Vec<u8> {
    let first = u64::from(channel) * 101 + message * 7;
    (0..len).map(|i| u8::try_from((first + i * 31 + i / 251) % 256).expect("below 256")).collect()
}

/// The messages of one channel: those that one end sends, and what the other end has read of them.
struct Flow {
    id: ChannelId,
    plan: Plan,
    /// Time at which each message was sent.
    sent: Vec<Instant>,
    /// Time at which the next message is sent.
    next: Instant,
    /// Bytes of each message that has arrived, and whether it is complete.
    arrived: Vec<(Vec<u8>, bool)>,
    /// Whether the sender has abandoned each message.
    gaps: Vec<bool>,
    /// The last message that was read to its end.
    last: Option<u64>,
}

impl Flow {
    fn new(id: ChannelId, plan: &Plan, now: Instant) -> Self {
        let count = plan.messages.len();
        Self {
            id,
            plan: plan.clone(),
            sent: Vec::new(),
            next: now,
            arrived: vec![(Vec::new(), false); count],
            gaps: vec![false; count],
            last: None,
        }
    }

    fn send(&mut self, pair: &mut MeshPair) {
        let now = pair.now();
        let number = self.sent.len();
        let Some(&(len, wait)) =
            self.plan.messages.get(number).filter(|_| self.next <= now || pair.ends[0].end.is_idle())
        else {
            return;
        };
        let data = Data::Bytes(bytes(self.id.0, number as u64, len));
        match pair.call(0, |watched| watched.end.send_message(now, self.id, data)) {
            Ok(message) => assert_eq!(message, number as u64),
            Err(error) => return assert_eq!(error, ChannelError::Full),
        }
        self.sent.push(now);
        self.next = now + wait;
    }

    fn read(&mut self, pair: &mut MeshPair) {
        let now = pair.now();
        let id = self.id.at_peer();
        while let Some(received) = pair.call(1, |watched| watched.end.poll_message_of(now, id)) {
            let number = usize::try_from(received.message).expect("few messages");
            let is_end = match received.content {
                Content::Gap(count) => {
                    for gap in number..number + usize::try_from(count).expect("few messages") {
                        assert!(!self.arrived[gap].1 && !self.gaps[gap], "a gap over message {gap}");
                        self.gaps[gap] = true;
                    }
                    assert!(self.plan.options.deadline.is_some(), "a reliable message was given up");
                    self.note_order(received.message);
                    self.last = Some(received.message + count - 1);
                    false
                }
                Content::Whole(data) => {
                    assert!(self.arrived[number].0.is_empty());
                    data.emit(&mut self.arrived[number].0);
                    true
                }
                Content::Part { offset, data, is_last } => {
                    assert_eq!(offset, self.arrived[number].0.len() as u64);
                    data.emit(&mut self.arrived[number].0);
                    is_last
                }
            };
            if is_end {
                assert!(!self.arrived[number].1 && !self.gaps[number], "message {number} arrived twice");
                self.arrived[number].1 = true;
                self.note_order(received.message);
                self.last = Some(received.message);
                self.check_age(now, number, received.is_late);
            }
            if self.plan.is_slow {
                return;
            }
        }
    }

    fn note_order(&self, message: u64) {
        let follows = self.last.map_or(0, |last| last + 1);
        assert!(!self.plan.options.is_ordered || message == follows, "{message} in place of {follows}");
    }

    /// A message that is not marked as late is fresh. The receiver only knows by how much a segment was
    /// slower than the fastest one, and the sender the shortest round trip: before there was one without
    /// losses, both may be wrong by the time for which a packet is held back.
    fn check_age(&self, now: Instant, number: usize, is_late: bool) {
        let Some(deadline) = self.plan.options.deadline else { return assert!(!is_late) };
        let age = now - self.sent[number];
        assert!(is_late || age <= deadline + DELAY + HOLD, "message {number} is {age} old");
    }

    fn is_over(&self) -> bool {
        let over = self.arrived.iter().zip(&self.gaps).all(|((_, arrived), gap)| *arrived || *gap);
        over && self.sent.len() == self.plan.messages.len()
    }

    fn check(&self) {
        for (number, (&(len, _), (data, is_whole))) in
            self.plan.messages.iter().zip(&self.arrived).enumerate()
        {
            assert!(!is_whole || *data == bytes(self.id.0, number as u64, len), "bytes of message {number}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_arrive_once_or_leave_a_gap(
        plans in plans(),
        link in links(),
        seed: u64,
        mss in 128_u16..1500,
        credit in 4096_u32..80_000,
        buffer in 1_u16..100,
    ) {
        let growth = 50_000;
        let config = Config {
            channels: true,
            channel_credit: credit,
            channel_growth: growth,
            mss,
            recv_buffer: buffer,
            rto_max: Duration::from_millis(500),
            ..Config::default()
        };
        let mut pair = connect([&config, &config], link, seed);
        let limit = Instant::ZERO + Duration::from_secs(40_000);
        let is_open = |pair: &mut MeshPair| pair.ends.iter().all(|end| end.end.state() == State::Established);
        prop_assert!(pair.drive(limit, is_open));
        let stream = bytes(9, 9, 20_000);
        let sent = pair.call(0, |watched| watched.end.send(Data::Bytes(stream.clone())));
        prop_assert_eq!(sent, Ok(()));
        let now = pair.now();
        let mut flows: Vec<Flow> = plans
            .iter()
            .map(|plan| {
                let id = pair.call(0, |watched| watched.end.open_channel(plan.options.clone()));
                Flow::new(id.expect("fewer than 64"), plan, now)
            })
            .collect();
        let mut read = Vec::new();
        let most = u64::from(credit) * flows.len() as u64 + u64::from(growth);
        let mut step = |pair: &mut MeshPair| {
            for flow in &mut flows {
                flow.send(pair);
                flow.read(pair);
            }
            pair.call(1, |watched| watched.end.read(500)).emit(&mut read);
            assert!(pair.ends[1].end.kept_messages() <= most);
            flows.iter().all(Flow::is_over) && read.len() == stream.len()
        };
        // A slow application may have something to read when no packet is under way.
        let done = (0..10_000).any(|_| pair.drive(limit, &mut step));
        prop_assert!(done, "not over at {}", pair.now());
        prop_assert!(read == stream);
        flows.iter().for_each(Flow::check);
        prop_assert!(pair.drive(limit, |pair| pair.ends[0].end.is_idle()));
        prop_assert_eq!(pair.ends[1].end.kept_messages(), 0);
        (0..2).for_each(|side| pair.call(side, |watched| watched.end.close()));
        prop_assert!(pair.drive(limit, |pair| pair.ends.iter().all(|end| end.end.state() == State::Closed)));
        prop_assert!(pair.events.iter().flatten().count() > 0);
    }
}

/// One-way delay of every packet.
const DELAY: Duration = Duration::from_millis(20);
/// The longest time for which a packet is held back.
const HOLD: Duration = Duration::from_millis(200);
