//! Messages of several channels, and the measurement of timely arrivals. Messages use channels of the
//! transport, a byte stream in sequence, or one datagram each.

mod age;

use std::collections::{BTreeMap, VecDeque};

use multihop_core::{Duration, Instant};
use multihop_scenario::MessageChannel;
use multihop_transport::channel::{ChannelId, Content, Options, Received};

use self::age::Age;
use crate::results::ChannelResult;
use crate::stats::Histogram;

/// Both ends of an application that sends messages over channels.
#[derive(Clone, Debug)]
pub(crate) struct Messages {
    channels: Vec<State>,
    /// Messages in the byte stream or in datagrams, in the order in which they were sent: channel, number and bytes that have
    /// not arrived.
    in_stream: VecDeque<(usize, u64, u64)>,
    /// Bytes of the messages in the byte stream that have not arrived.
    under_way: u64,
    /// Messages in datagrams that were sent.
    datagrams: u64,
}

/// A channel, its next message, and the measurements since the end of the warm-up.
#[derive(Clone, Debug)]
struct State {
    plan: MessageChannel,
    /// Instant of the next message; `None` for a channel that sends as soon as there is room.
    next: Option<Instant>,
    /// Number of the next message.
    number: u64,
    /// Number of the first message that is measured.
    first: u64,
    /// Sending times of messages that have neither arrived nor been given up.
    pending: BTreeMap<u64, Instant>,
    /// Messages that found their channel full.
    refused: u64,
    delivered: u64,
    in_time: u64,
    delay: Histogram,
    age: Age,
}

impl Messages {
    pub(crate) fn new(plans: &[MessageChannel]) -> Self {
        let state = |plan: &MessageChannel| State {
            plan: plan.clone(),
            next: None,
            number: 0,
            first: 0,
            pending: BTreeMap::new(),
            refused: 0,
            delivered: 0,
            in_time: 0,
            delay: Histogram::default(),
            age: Age::default(),
        };
        Self {
            channels: plans.iter().map(state).collect(),
            in_stream: VecDeque::new(),
            under_way: 0,
            datagrams: 0,
        }
    }

    /// Options with which the channels are opened, in their order.
    pub(crate) fn options(&self) -> impl Iterator<Item = Options> {
        self.channels.iter().map(|State { plan, .. }| Options {
            priority: plan.priority,
            is_ordered: plan.ordered,
            deadline: plan.deadline,
            name: plan.name.clone(),
        })
    }

    /// Makes the first message of each channel with an interval due now.
    pub(crate) fn begin(&mut self, now: Instant) {
        for state in &mut self.channels {
            state.next = (state.plan.interval > Duration::ZERO).then_some(now);
        }
    }

    /// Takes the channels with a due message, and the length of the message.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<(usize, u64)> {
        let mut due = Vec::new();
        for (index, state) in self.channels.iter_mut().enumerate() {
            if state.next.is_some_and(|next| next <= now) {
                state.next = Some(now + state.plan.interval);
                due.push((index, state.plan.size));
            }
        }
        due
    }

    /// Instant of the next message.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.channels.iter().filter_map(|state| state.next).min()
    }

    /// Channels that send as soon as there is room, with the length of each message.
    pub(crate) fn saturating(&self) -> Vec<(usize, u64)> {
        let saturating =
            self.channels.iter().enumerate().filter(|(_, state)| state.plan.interval == Duration::ZERO);
        saturating.map(|(index, state)| (index, state.plan.size)).collect()
    }

    /// Number of a channel at the end that opened it.
    pub(crate) fn id(channel: usize) -> ChannelId {
        ChannelId(2 * u16::try_from(channel).expect("at most 64 channels"))
    }

    /// Records that a message was sent.
    pub(crate) fn sent(&mut self, now: Instant, channel: usize) -> u64 {
        let state = &mut self.channels[channel];
        let number = state.number;
        state.number += 1;
        state.pending.insert(number, now);
        if state.pending.len() > MOST_PENDING {
            state.pending.pop_first();
        }
        number
    }

    /// Records that a message found its channel full.
    pub(crate) fn refused(&mut self, channel: usize) {
        self.channels[channel].refused += 1;
    }

    /// Records that a message was sent in the byte stream.
    pub(crate) fn sent_in_stream(&mut self, now: Instant, channel: usize, bytes: u64) {
        let number = self.sent(now, channel);
        self.in_stream.push_back((channel, number, bytes));
        self.under_way += bytes;
    }

    /// Records that a message was sent in the next datagram.
    pub(crate) fn sent_in_datagram(&mut self, now: Instant, channel: usize, bytes: u64) {
        self.sent_in_stream(now, channel, bytes);
        self.datagrams += 1;
        if self.in_stream.len() > MOST_PENDING {
            self.in_stream.pop_front();
        }
    }

    /// Bytes of the messages in the byte stream that have not arrived.
    pub(crate) fn under_way(&self) -> u64 {
        self.under_way
    }

    /// Handles bytes of the stream that have arrived in order.
    pub(crate) fn arrived_in_stream(&mut self, now: Instant, mut bytes: u64) {
        self.under_way = self.under_way.saturating_sub(bytes);
        while let Some((channel, number, left)) = self.in_stream.front_mut() {
            let taken = bytes.min(*left);
            *left -= taken;
            bytes -= taken;
            if *left > 0 {
                return;
            }
            let (channel, number) = (*channel, *number);
            self.in_stream.pop_front();
            self.channels[channel].arrived(now, number);
        }
    }

    /// Handles the arrival of the datagram with this serial number, from 0.
    pub(crate) fn arrived_in_datagram(&mut self, now: Instant, serial: u64) {
        let behind = self.datagrams.checked_sub(serial).and_then(|behind| usize::try_from(behind).ok());
        let index = behind.and_then(|behind| self.in_stream.len().checked_sub(behind));
        if let Some(&(channel, number, _)) = index.and_then(|index| self.in_stream.get(index)) {
            self.channels[channel].arrived(now, number);
        }
    }

    /// Handles what a channel of the transport delivers; returns its bytes.
    pub(crate) fn received(&mut self, now: Instant, received: &Received) -> u64 {
        let Some(state) = self.channels.get_mut(usize::from(received.channel.0 / 2)) else { return 0 };
        match &received.content {
            Content::Gap(count) => {
                let given_up = received.message..received.message + count;
                state.pending.retain(|number, _| !given_up.contains(number));
                0
            }
            Content::Part { data, is_last: false, .. } => data.len() as u64,
            Content::Whole(data) | Content::Part { data, .. } => {
                state.arrived(now, received.message);
                data.len() as u64
            }
        }
    }

    /// Restarts the measurements at the end of the warm-up.
    pub(crate) fn restart(&mut self, now: Instant) {
        for state in &mut self.channels {
            (state.first, state.refused, state.delivered, state.in_time) = (state.number, 0, 0, 0);
            state.delay = Histogram::default();
            state.age.restart(now);
        }
    }

    /// Results of the channels over this many seconds up to `now`.
    pub(crate) fn results(&self, now: Instant, seconds: f64) -> BTreeMap<String, ChannelResult> {
        self.channels.iter().map(|state| (state.plan.name.clone(), state.result(now, seconds))).collect()
    }
}

impl State {
    fn arrived(&mut self, now: Instant, number: u64) {
        let Some(sent) = self.pending.remove(&number) else { return };
        self.age.arrived(now, sent);
        if number < self.first {
            return;
        }
        let delay = now - sent;
        self.delivered += 1;
        self.in_time += u64::from(self.plan.deadline.is_none_or(|deadline| delay <= deadline));
        self.delay.add(delay);
    }

    fn result(&self, now: Instant, seconds: f64) -> ChannelResult {
        let undecided = |sent: &Instant| self.plan.deadline.is_some_and(|deadline| now - *sent <= deadline);
        let open = self.pending.range(self.first..).filter(|(_, sent)| undecided(sent)).count() as u64;
        let sent = self.number - self.first - open + self.refused;
        let goodput_kbps =
            if seconds > 0.0 { (self.in_time * self.plan.size) as f64 * 8e-3 / seconds } else { 0.0 };
        let age = self.age.summary_ms(now);
        ChannelResult {
            sent,
            delivered: self.delivered,
            in_time: (sent > 0).then(|| self.in_time as f64 / sent as f64),
            delay_ms: self.delay.summary_ms(),
            age_mean_ms: age.map(|[mean, _]| mean),
            age_p99_ms: age.map(|[_, p99]| p99),
            goodput_kbps,
        }
    }
}

/// Largest number of messages of a channel that may be in transit; earlier ones count as lost.
const MOST_PENDING: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;
    use multihop_core::Payload;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// A channel that sends a message per `interval` milliseconds, with a deadline of 100 ms.
    fn channel(size: u64, interval: u64) -> MessageChannel {
        let (interval, deadline) = (Duration::from_millis(interval), Some(Duration::from_millis(100)));
        MessageChannel { size, interval, deadline, ..MessageChannel::default() }
    }

    #[test]
    fn messages_leave_at_their_intervals() {
        let mut messages = Messages::new(&[channel(10, 20), channel(20, 50), channel(30, 0)]);
        assert_eq!(messages.next(), None);
        messages.begin(at(5));
        assert_eq!((messages.take_due(at(5)), messages.next()), (vec![(0, 10), (1, 20)], Some(at(25))));
        assert_eq!((messages.take_due(at(25)), messages.next()), (vec![(0, 10)], Some(at(45))));
        assert_eq!(messages.saturating(), [(2, 30)]);
    }

    #[test]
    fn a_stream_delivers_messages_behind_each_other() {
        let mut messages =
            Messages::new(&[channel(100, 10), MessageChannel { name: "b".into(), ..channel(1000, 10) }]);
        messages.sent_in_stream(at(0), 1, 1000);
        messages.sent_in_stream(at(0), 0, 100);
        messages.arrived_in_stream(at(50), 999);
        messages.arrived_in_stream(at(120), 101);
        let results = messages.results(at(200), 1.0);
        assert_eq!(
            results.values().map(|result| (result.delivered, result.in_time)).collect::<Vec<_>>(),
            [(1, Some(0.0)); 2]
        );
    }

    #[test]
    fn datagrams_are_known_by_their_number_and_messages_of_the_warm_up_do_not_count() {
        let mut messages = Messages::new(&[channel(100, 10)]);
        (0..4).for_each(|n| messages.sent_in_datagram(at(10 * n), 0, 100));
        messages.arrived_in_datagram(at(40), 0);
        messages.restart(at(50));
        (5..9).for_each(|n| messages.sent_in_datagram(at(10 * n), 0, 100));
        for (ms, serial) in [(60, 3), (70, 4), (90, 6), (90, 6), (200, 7), (200, 99)] {
            messages.arrived_in_datagram(at(ms), serial);
        }
        let result = &messages.results(at(300), 1.0)[""];
        assert_eq!((result.sent, result.delivered, result.in_time), (4, 3, Some(0.5)));
        assert!((result.goodput_kbps - 1.6).abs() < 1e-9, "{}", result.goodput_kbps);
    }

    #[test]
    fn messages_that_were_given_up_are_not_delivered_and_those_that_may_be_in_time_do_not_count() {
        let mut messages = Messages::new(&[channel(100, 10)]);
        (0..5).for_each(|n| assert_eq!(messages.sent(at(20 * n), 0), n));
        let receive = |messages: &mut Messages, message, content| {
            let channel = Messages::id(0).at_peer();
            messages.received(at(90), &Received { channel, message, content, is_late: false })
        };
        assert_eq!(receive(&mut messages, 0, Content::Gap(2)), 0);
        assert_eq!(receive(&mut messages, 2, Content::Whole(Payload::Virtual(100))), 100);
        let part = |offset, is_last| Content::Part { offset, data: Payload::Virtual(50), is_last };
        assert_eq!(receive(&mut messages, 3, part(0, false)), 50);
        assert_eq!(receive(&mut messages, 3, part(50, true)), 50);
        let result = &messages.results(at(110), 1.0)[""];
        assert_eq!((result.sent, result.delivered, result.in_time), (4, 2, Some(0.5)));
    }
}
