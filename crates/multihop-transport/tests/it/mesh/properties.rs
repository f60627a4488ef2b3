//! Whatever the network does, the stream arrives as it was sent.

use multihop_core::{Duration, Instant, Payload};
use multihop_testkit::LinkConfig;
use multihop_transport::connection::{Data, Event};
use multihop_transport::lifecycle::State;
use multihop_transport::mesh::{Config, Output};
use proptest::prelude::*;

use super::pair::{MeshPair, connect};

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

fn configs() -> impl Strategy<Value = Config> {
    (100_u16..1500, 0.1..20.0, 0.01..1.0, 1_u8..64, 0_u64..500, 1_u32..100).prop_map(
        |(mss, backlog, gain, ack_every, hold, window_max)| Config {
            mss,
            backlog,
            gain,
            ack_every,
            ack_hold: Duration::from_millis(hold),
            window_max,
            ..Config::default()
        },
    )
}

/// Reads what has arrived, in the odd sizes of a slow application.
fn read(pair: &mut MeshPair, side: usize, into: &mut Vec<u8>) {
    let share = 100 + pair.ends[side].end.unread() / 2;
    let data = pair.call(side, |watched| watched.end.read(u32::try_from(share).unwrap_or(u32::MAX)));
    data.emit(into);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_streams_arrive_whole(
        configs in (configs(), configs()),
        link in links(),
        seed: u64,
        buffer in 1_u16..200,
    ) {
        let configs = [configs.0, configs.1].map(|config| Config { recv_buffer: buffer, ..config });
        let sent = [stream(0, 60_000), stream(1, 7_000)];
        let mut pair = connect(configs.each_ref(), link, seed);
        for (side, data) in sent.iter().enumerate() {
            let data = Data::from(Payload::Bytes(data.clone()));
            prop_assert_eq!(pair.call(side, |watched| watched.end.send(data)), Ok(()));
        }
        let mut received = [Vec::new(), Vec::new()];
        let limit = Instant::ZERO + Duration::from_secs(40_000);
        pair.drive(limit, |pair| {
            for (side, into) in received.iter_mut().enumerate() {
                read(pair, side, into);
            }
            received[0].len() == sent[1].len()
                && received[1].len() == sent[0].len()
                && pair.ends.iter().all(|watched| watched.end.is_idle())
        });
        while (0..2).any(|side| pair.ends[side].end.unread() > 0) {
            for (side, into) in received.iter_mut().enumerate() {
                read(&mut pair, side, into);
            }
        }
        prop_assert!(received[1] == sent[0], "{} of {} bytes", received[1].len(), sent[0].len());
        prop_assert!(received[0] == sent[1], "{} of {} bytes", received[0].len(), sent[1].len());
        prop_assert!(pair.ends.iter().all(|watched| watched.end.is_idle()));
        (0..2).for_each(|side| pair.call(side, |watched| watched.end.close()));
        pair.drive(limit, |pair| pair.ends.iter().all(|watched| watched.end.state() == State::Closed));
        for events in &pair.events {
            let last = events.last_chunk();
            prop_assert_eq!(last, Some(&[Output::Event(Event::PeerClosed), Output::Event(Event::Closed)]));
        }
    }

    #[test]
    fn bytes_count_once(config in configs(), link in links(), seed: u64) {
        let config = Config { sink: true, ..config };
        let mut pair = connect([&config, &config], link, seed);
        pair.call(0, |watched| watched.end.send(Data::Virtual(200_000))).unwrap();
        let limit = Instant::ZERO + Duration::from_secs(40_000);
        let done = pair.drive(limit, |pair| pair.ends[0].end.is_idle());
        prop_assert!(done, "not over at {}", pair.now());
        let count = |side: usize, of: fn(&Output) -> Option<u64>| -> u64 {
            pair.events[side].iter().filter_map(of).sum()
        };
        let delivered = count(1, |event| match event {
            Output::Event(Event::Delivered(n)) => Some(*n),
            _ => None,
        });
        let acked = count(0, |event| match event {
            Output::Event(Event::Acked(n)) => Some(*n),
            _ => None,
        });
        prop_assert_eq!((delivered, acked), (200_000, 200_000));
    }
}
