//! Metrics of flows with scripted messages, computed by hand.

use std::collections::{BTreeSet, VecDeque};

use multihop_core::{Duration, Instant, Payload};
use multihop_transport::connection::{
    Connection, Counters, Data, Event, Message, Output, Segment, SendError, Trip,
};

use crate::support::{ran_scenario, scenario, transport};

/// Sends messages by a script: the time in ms, and the number of the message.
struct Scripted {
    script: VecDeque<(u64, u8)>,
    seen: BTreeSet<u8>,
    counters: Counters,
    out: VecDeque<Output>,
}

impl Scripted {
    fn new(script: &[(u64, u8)]) -> Box<Self> {
        Box::new(Self {
            script: script.iter().copied().collect(),
            seen: BTreeSet::new(),
            counters: Counters::default(),
            out: VecDeque::new(),
        })
    }
}

impl Connection for Scripted {
    fn send(&mut self, _now: Instant, _data: Data) -> Result<(), SendError> {
        Ok(())
    }

    fn receive(&mut self, _now: Instant, segment: Segment, _trip: Option<Trip>) {
        if let Segment::Custom(message) = segment
            && self.seen.insert(message.header[0])
        {
            self.counters.delivered += 1;
            self.out.push_back(Output::Event(Event::Delivered(message.data.len() as u64)));
        }
    }

    fn handle_timeout(&mut self, _now: Instant) {
        if let Some((_, number)) = self.script.pop_front() {
            self.counters.sent += 1;
            self.counters.retransmitted += u64::from(!self.seen.insert(number));
            let message = Message { header: vec![number], data: Payload::Virtual(1000) };
            self.out.push_back(Output::Segment(Segment::Custom(message)));
        }
    }

    fn poll_output(&mut self, _now: Instant) -> Option<Output> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.script.front().map(|&(at, _)| Instant::ZERO + Duration::from_millis(at))
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[test]
fn retransmission_index_and_fairness_agree_with_hand_computed_ones() {
    // In 8 s, flow 0 delivers four messages and retransmits three of them, one twice; flow 1 delivers two.
    let scripts: [&'static [(u64, u8)]; 2] = [
        &[(500, 0), (900, 0), (1500, 1), (1600, 1), (1700, 1), (4500, 2), (7000, 3), (7500, 3)],
        &[(1000, 0), (5000, 1)],
    ];
    let text = "duration = 8.0\n[mac]\narp = \"oracle\"\n[topology]\nkind = \"chain\"\nhops = 1\n\
                [[flow]]\ntransport = \"newreno\"\n\
                [[flow]]\nfrom = 0\nto = 1\ntransport = \"newreno\"\n";
    let mut scenario = scenario(text);
    for (flow, script) in scenario.flows.iter_mut().zip(scripts) {
        flow.transport = transport(move || [Scripted::new(script), Scripted::new(&[])]);
    }
    let result = ran_scenario(&scenario).result;
    let of = |flow: usize| {
        let flow = &result.flows[flow];
        (flow.segments_sent, flow.segments_retransmitted, flow.segments_delivered, flow.retransmission_index)
    };
    assert_eq!(of(0), (8, 4, 4, Some(1.0)));
    assert_eq!(of(1), (2, 0, 2, Some(0.0)));
    // (1 * 4 + 0 * 2) / 6
    assert_eq!(result.totals.retransmission_index, Some(4.0 / 6.0));
    // 4 kB and 2 kB: 6^2 / (2 (4^2 + 2^2)).
    assert_eq!(result.totals.jain, Some(0.9));
    // 0..2 s: two and one, 3^2 / (2 (2^2 + 1)); 2..4 s: none, skipped; 4..6 s: one each; 6..8 s: one and
    // none.
    let expected = (0.9 + 1.0 + 0.5) / 3.0;
    let found = result.totals.jain_instant.unwrap();
    assert!((found - expected).abs() < 1e-12, "{found}");
}
