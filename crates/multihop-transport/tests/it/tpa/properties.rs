//! Whatever the network does, the stream arrives as it was sent, and the connection ends.

use core::ops::{Deref, DerefMut};
use multihop_transport::connection::Data;

use multihop_core::{BitRate, Duration, Instant, LostSegment, Machine, Notice, Payload, Rng};
use multihop_testkit::{LinkConfig, Pair, Port};
use multihop_transport::lifecycle;
use multihop_transport::pacing::PacingConfig;
use multihop_transport::tpa::{AckPolicy, Config, Event, Fill, Framing, Input, Output, Ports, State, TpaEnd};
use multihop_wire::tpa::{BlockSeq, Body, Segment};
use proptest::prelude::*;

pub(super) type TpaPair = Pair<Watched, Segment>;

/// An endpoint that must not send while its window is full.
pub(super) struct Watched {
    tpa: TpaEnd,
    /// Probability that a data segment is reported as lost at once, whether it is lost or not.
    alarm: f64,
    rng: Rng,
}

impl Machine for Watched {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Instant, input: Input) {
        self.tpa.handle(now, input);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.tpa.handle_timeout(now);
    }

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        let (flight, window) = (self.tpa.flight(), self.tpa.window());
        let output = self.tpa.poll_output(now);
        if let Some(Output::Segment(segment)) = &output
            && matches!(segment.body, Body::Data { .. } | Body::Fin { .. })
        {
            assert!(flight < window, "{flight} in flight, {window} allowed");
            if self.rng.chance(self.alarm) {
                let notice = link_failed(segment);
                self.tpa.handle(now, Input::Notice(notice));
            }
        }
        output
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.tpa.poll_timeout()
    }
}

fn link_failed(segment: &Segment) -> Notice {
    let (source, destination) = (segment.source, segment.destination);
    Notice::LinkFailed(LostSegment { source, destination, segment: segment.id() })
}

impl Deref for Watched {
    type Target = TpaEnd;
    fn deref(&self) -> &TpaEnd {
        &self.tpa
    }
}

impl DerefMut for Watched {
    fn deref_mut(&mut self) -> &mut TpaEnd {
        &mut self.tpa
    }
}

fn take(output: Output) -> Result<Segment, Output> {
    match output {
        Output::Segment(segment) => Ok(segment),
        event @ Output::Event(_) => Err(event),
    }
}

pub(super) fn connect(configs: [&Config; 2], link: LinkConfig, seed: u64) -> TpaPair {
    connect_alarmed(configs, link, seed, 0.0)
}

/// Two ends as in `connect`, whose senders get notices of link failures, true or false.
fn connect_alarmed(configs: [&Config; 2], link: LinkConfig, seed: u64, alarm: f64) -> TpaPair {
    // Close to where block numbers wrap.
    let ends = [(1, 2, 0xfffd), (2, 1, 5)];
    let mut configs = configs.into_iter();
    let ends = ends.map(|(local, remote, iss)| {
        let config = configs.next().expect("one for each end").clone();
        let tpa = TpaEnd::new(config, Ports { local, remote }, BlockSeq(iss));
        Watched { tpa, alarm, rng: Rng::stream(seed, "alarm", u64::from(local)) }
    });
    let mut pair = Pair::new(ends, Port { take, give: Input::Segment }, link, seed);
    pair.call(1, |tpa| tpa.listen());
    pair.call(0, |tpa| tpa.connect());
    for side in 0..2 {
        // This call is for senders that pace.
        pair.call(side, |tpa| tpa.handle(Instant::ZERO, Input::Notice(Notice::PathInfo { hops: 3 })));
    }
    pair
}

fn stream(side: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from((i * 31 + i / 251) % 256).expect("below 256") ^ side).collect()
}

fn links() -> impl Strategy<Value = LinkConfig> {
    (0.0..0.3, 0.0..0.3, 0.0..0.3, 1_u64..200).prop_map(|(loss, duplication, reordering, hold)| LinkConfig {
        delay: Duration::from_millis(20),
        loss,
        duplication,
        reordering,
        hold: Duration::from_millis(hold),
    })
}

pub(super) fn configs() -> impl Strategy<Value = Config> {
    let sizes = (1_u8..=12, 1_u8..=12, 100_u16..1500);
    (any::<[bool; 9]>(), sizes).prop_map(
        |(
            [net, block, window, end, notices, by_number, wait, over_ip, paced],
            (block_size, cwnd_max, mss),
        )| {
            let profile = if net { Config::net() } else { Config::paper() };
            Config {
                block_size,
                cwnd_max,
                mss,
                fill: if block { Fill::Block } else { Fill::Segment },
                ack_policy: if window { AckPolicy::EveryWindow } else { AckPolicy::EveryTwo },
                ack_block_end: end,
                notices,
                loss_by_txseq: by_number.then_some(3),
                block_fill: if wait { Duration::from_millis(5) } else { Duration::ZERO },
                pacing: paced.then(|| PacingConfig::new(BitRate(2_000_000))),
                framing: if over_ip { Framing::Ip } else { Framing::Udp },
                lifecycle: lifecycle::Config {
                    syn_retries: None,
                    user_timeout: None,
                    linger: Duration::from_secs(300),
                    ..profile.lifecycle
                },
                ..profile
            }
        },
    )
}

/// Reads what has arrived, in the odd sizes of a slow application.
fn read(pair: &mut TpaPair, side: usize, into: &mut Vec<u8>) {
    let share = 100 + pair.ends[side].unread() / 2;
    let data = pair.call(side, |tpa| tpa.read(u32::try_from(share).unwrap_or(u32::MAX)));
    data.emit(into);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_streams_arrive_whole_and_the_connection_closes(
        configs in (configs(), configs()),
        link in links(),
        seed: u64,
        buffer in prop::option::of(2000_u32..200_000),
    ) {
        let framing = configs.0.framing;
        let configs = [configs.0, configs.1].map(|config| Config { recv_buffer: buffer, framing, ..config });
        let sent = [stream(0, 60_000), stream(1, 7_000)];
        let mut pair = connect(configs.each_ref(), link, seed);
        for (side, data) in sent.iter().enumerate() {
            prop_assert_eq!(pair.call(side, |tpa| tpa.send(Payload::Bytes(data.clone()))), Ok(()));
        }
        pair.call(0, |tpa| tpa.shutdown());
        let mut received = [Vec::new(), Vec::new()];
        let limit = Instant::ZERO + Duration::from_secs(40_000);
        let whole = |pair: &mut TpaPair| {
            for (side, into) in received.iter_mut().enumerate() {
                read(pair, side, into);
            }
            received[0].len() == sent[1].len() && received[1].len() == sent[0].len()
        };
        pair.drive(limit, whole);
        while (0..2).any(|side| pair.ends[side].unread() > 0) {
            for (side, into) in received.iter_mut().enumerate() {
                read(&mut pair, side, into);
            }
        }
        prop_assert!(received[1] == sent[0], "{} of {} bytes", received[1].len(), sent[0].len());
        prop_assert!(received[0] == sent[1], "{} of {} bytes", received[0].len(), sent[1].len());
        pair.call(1, |tpa| tpa.close());
        let over = pair.drive(pair.now() + Duration::from_secs(20_000), |pair| {
            pair.ends.iter().all(|tpa| matches!(tpa.state(), State::Linger | State::Closed))
        });
        let states = pair.ends.each_ref().map(|tpa| tpa.state());
        prop_assert!(over, "{states:?} at {}", pair.now());
        let ends = [Event::TimedOut, Event::Reset].map(Output::Event);
        prop_assert!(!pair.events.iter().flatten().any(|event| ends.contains(event)));
    }

    #[test]
    fn nothing_is_sent_while_the_window_is_full_and_bytes_count_once(
        config in configs(),
        link in links(),
        seed: u64,
    ) {
        let config = Config { sink: true, ..config };
        let mut pair = connect([&config, &config], link, seed);
        pair.call(0, |tpa| tpa.send(Data::Virtual(200_000))).unwrap();
        let limit = Instant::ZERO + Duration::from_secs(40_000);
        let done = pair.drive(limit, |pair| pair.ends[0].unacked() == 0);
        prop_assert!(done, "{} left at {}", pair.ends[0].unacked(), pair.now());
        let delivered: u64 = pair.events[1]
            .iter()
            .map(|event| if let Output::Event(Event::Delivered(n)) = event { *n } else { 0 })
            .sum();
        prop_assert_eq!(delivered, 200_000);
        prop_assert_eq!(pair.ends[0].counters().bytes_acked, 200_000);
        prop_assert_eq!(pair.ends[1].counters().dropped, 0);
    }

    #[test]
    fn notices_right_or_wrong_do_not_stop_the_stream(
        config in configs(),
        link in links(),
        seed: u64,
        alarm in prop_oneof![0.0..1.0, Just(1.0)],
    ) {
        let framing = Framing::Udp;
        let config = Config { sink: true, notices: true, framing, ..config };
        let mut pair = connect_alarmed([&config, &config], link, seed, alarm);
        pair.call(0, |tpa| tpa.send(Data::Virtual(30_000))).unwrap();
        let limit = Instant::ZERO + Duration::from_secs(40_000);
        let done = pair.drive(limit, |pair| pair.ends[0].unacked() == 0);
        prop_assert!(done, "{} left at {}", pair.ends[0].unacked(), pair.now());
        prop_assert_eq!(pair.ends[1].counters().bytes_delivered, 30_000);
    }
}
