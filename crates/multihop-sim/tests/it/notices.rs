//! Notices to transports when a node in the middle of their path leaves and returns.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use multihop_core::{Duration, Instant, LostSegment, Notice, Payload, SegmentId};
use multihop_transport::connection::{
    Connection, Counters, Data, Event as Happening, Message, Output, Segment, SendError, Trip,
};

use crate::routing::PROTOCOLS;
use crate::support::{Event, Ran, events, ran, ran_scenario, scenario, transport};

/// A chain of three hops. Node 2 is out of reach from second 33 to second 77.
pub(crate) fn chain(routing: &str) -> String {
    format!(
        "duration = 120.0\nrouting = {routing}\n[mac]\narp = \"oracle\"\n\
         [topology]\nkind = \"chain\"\nhops = 3\n\
         [mobility]\nkind = \"waypoints\"\n\
         waypoints = [[], [], [[30, 400, 0], [40, 400, 500], [70, 400, 500], [80, 400, 0]], []]\n\
         [[flow]]\nstart = 20.0\ntransport = \"newreno\"\n"
    )
}

const GONE: f64 = 33.0;
const BACK: f64 = 77.0;

/// The notices of an end with their times, s.
type NoticeLog = Arc<Mutex<Vec<(f64, Notice)>>>;

/// Sends a numbered message every 0.1 s, and records its notices.
struct Talker {
    next: Option<Instant>,
    number: u32,
    heard: NoticeLog,
    counters: Counters,
    out: VecDeque<Output>,
}

const PAUSE: Duration = Duration::from_millis(100);

impl Talker {
    fn new(heard: &NoticeLog) -> Self {
        Self {
            next: None,
            number: 0,
            heard: heard.clone(),
            counters: Counters::default(),
            out: VecDeque::new(),
        }
    }
}

impl Connection for Talker {
    fn send(&mut self, now: Instant, _data: Data) -> Result<(), SendError> {
        self.next = Some(now);
        self.handle_timeout(now);
        Ok(())
    }

    fn shutdown(&mut self, _now: Instant) {
        self.next = None;
    }

    fn receive(&mut self, _now: Instant, segment: Segment, _trip: Option<Trip>) {
        let Segment::Custom(message) = segment else { return };
        self.counters.delivered += 1;
        self.out.push_back(Output::Event(Happening::Delivered(message.data.len() as u64)));
    }

    fn notice(&mut self, now: Instant, notice: Notice) {
        let since = now - Instant::ZERO;
        self.heard.lock().unwrap().push((since.as_secs_f64(), notice));
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.next.is_some_and(|next| next <= now) {
            self.next = Some(now + PAUSE);
            let header = [self.number.to_be_bytes(), [0xab; 4]].concat();
            self.number += 1;
            self.counters.sent += 1;
            self.out
                .push_back(Output::Segment(Segment::Custom(Message { header, data: Payload::Virtual(512) })));
        }
    }

    fn poll_output(&mut self, _now: Instant) -> Option<Output> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

/// Runs with talkers at both ends of every flow; returns the notices of the first flow's sender.
pub(crate) fn talk(text: &str) -> (Ran, Vec<(f64, Notice)>) {
    let heard = NoticeLog::default();
    let of_sender = heard.clone();
    let talkers =
        transport(move || [Box::new(Talker::new(&of_sender)), Box::new(Talker::new(&NoticeLog::default()))]);
    let mut scenario = scenario(text);
    scenario.flows.iter_mut().for_each(|flow| flow.transport = talkers.clone());
    let ran = ran_scenario(&scenario);
    let heard = heard.lock().unwrap().clone();
    (ran, heard)
}

/// The kind of a notice.
fn name(notice: &Notice) -> &'static str {
    match notice {
        Notice::LinkFailed(_) => "link failed",
        Notice::RouteLost => "route lost",
        Notice::RouteRestored => "route restored",
        Notice::PathInfo { .. } => "path info",
    }
}

/// Checks the notices: first a path of three hops, then those in `broken` in any order, finally the restored path of
/// three hops.
fn assert_story(heard: &[(f64, Notice)], broken: &[&str]) {
    let mut names: Vec<_> = heard.iter().map(|(_, notice)| name(notice)).collect();
    assert_eq!(names.len(), broken.len() + 3, "{heard:#?}");
    names[1..=broken.len()].sort_unstable();
    let [first, middle @ .., restored, last] = &names[..] else { panic!("{names:?}") };
    assert_eq!((*first, middle, *restored, *last), ("path info", broken, "route restored", "path info"));
    for (at, notice) in [heard[0], heard[heard.len() - 1]] {
        assert_eq!(notice, Notice::PathInfo { hops: 3 }, "at {at} s");
    }
    let lost = heard[1..=broken.len()].iter().map(|&(at, _)| at);
    assert!(lost.clone().all(|at| (GONE..BACK).contains(&at)), "{heard:#?}");
    assert!(heard[broken.len() + 1].0 > BACK, "{heard:#?}");
}

/// The lost segment and the time of the only link failure.
fn link_failure(heard: &[(f64, Notice)]) -> (f64, LostSegment) {
    let mut failures = heard.iter().filter_map(|(at, notice)| match notice {
        Notice::LinkFailed(lost) => Some((*at, *lost)),
        _ => None,
    });
    let failure = failures.next().unwrap();
    assert_eq!(failures.next(), None);
    failure
}

/// The lost segment is a message that the sender sent shortly before.
fn assert_own(at: f64, lost: &LostSegment) {
    assert_eq!((lost.source, lost.destination), (1024, 1024));
    let SegmentId::Custom(header) = lost.segment else { panic!("{lost:?}") };
    let number = u32::from_be_bytes(header[..4].try_into().unwrap());
    assert_eq!(header[4..8], [0xab; 4]);
    let sent = 20.0 + 0.1 * f64::from(number);
    assert!((0.0..0.2).contains(&(at - sent)), "message {number}, notice at {at} s");
}

#[test]
fn aodv_notifies_the_source_by_icmp() {
    for routing in ["{ protocol = \"aodv\" }", "{ protocol = \"aodv\", preset = \"uu\" }"] {
        let (ran, heard) = talk(&chain(routing));
        assert_story(&heard, &["link failed", "route lost"]);
        let (at, lost) = link_failure(&heard);
        assert_own(at, &lost);
        // The notice comes with the ICMP message from the node at the link failure.
        let icmp: Vec<Event<'_>> = events(&ran.trace).filter(|event| event.kind == "icmp").collect();
        let [sent, received] = icmp[..] else { panic!("{icmp:?}") };
        assert_eq!((sent.what, sent.node, sent.to), ("s", 1, 0));
        assert_eq!((received.what, received.node), ("r", 0));
        assert!((received.at - at).abs() < 1e-9);
        let lost = events(&ran.trace).find(|event| event.reason == "RET" && event.kind == "data").unwrap();
        assert_eq!((lost.node, lost.at), (1, sent.at));
    }
}

#[test]
fn the_route_error_of_dsr_carries_the_quote() {
    let (ran, heard) = talk(&chain("{ protocol = \"dsr\" }"));
    assert_story(&heard, &["link failed", "route lost"]);
    let (at, lost) = link_failure(&heard);
    assert_own(at, &lost);
    let trace = || events(&ran.trace);
    assert_eq!(trace().filter(|event| event.kind == "icmp").count(), 0);
    let error = trace().find(|event| (event.what, event.kind, event.node) == ("r", "rerr", 0)).unwrap();
    assert_eq!(error.from, 1);
    assert!((error.at - at).abs() < 1e-9);
}

/// HELLOs of node 2 are missing from second 33 on; the last came up to 2.5 s earlier. They are valid for 6 s, after which
/// the neighbour's next HELLO or TC announces the loss.
#[test]
fn olsr_detects_the_link_failure_after_the_hold_time() {
    let (ran, heard) = talk(&chain("{ protocol = \"olsr\", tell_source = false }"));
    assert_story(&heard, &["route lost"]);
    let lost = heard[1].0;
    assert!((GONE - 2.5 + 6.0..GONE + 6.0 + 5.5).contains(&lost), "{lost}");
    let given_up: Vec<f64> = events(&ran.trace)
        .filter(|event| event.reason == "RET" && event.node == 1)
        .map(|event| event.at)
        .collect();
    assert!(given_up.len() > 20 && given_up.iter().all(|at| (GONE..lost).contains(at)), "{given_up:?}");
}

#[test]
fn fixed_routes_are_known_from_the_start() {
    let text = chain("{ protocol = \"static\" }").replace("duration = 120.0", "duration = 25.0");
    let (_, heard) = talk(&text);
    assert_eq!(heard, [(0.0, Notice::PathInfo { hops: 3 })]);
}

/// Standard TCP uses no notices: there is no ICMP traffic for it, and it does not get those of other flows.
#[test]
fn connections_without_notices_cause_no_icmp() {
    for (_, routing) in PROTOCOLS {
        let ran = ran(&chain(routing));
        assert_eq!(events(&ran.trace).filter(|event| event.kind == "icmp").count(), 0, "{routing}");
    }
    // A connection that uses notices beside one that does not.
    let text = format!(
        "{}[[flow]]\nfrom = 0\nto = 3\nstart = 20.5\ntransport = \"newreno\"\n",
        chain("{ protocol = \"aodv\" }")
    );
    let heard = NoticeLog::default();
    let of_both = heard.clone();
    let mut scenario = scenario(&text);
    scenario.flows[0].transport =
        transport(move || [Box::new(Talker::new(&of_both)), Box::new(Talker::new(&of_both))]);
    let ran = ran_scenario(&scenario);
    let trace = || events(&ran.trace);
    let lost = |kind: &str| trace().filter(|e| (e.what, e.kind, e.node) == ("D", kind, 1)).count();
    let told = trace().filter(|e| (e.what, e.kind) == ("s", "icmp")).count();
    assert!(lost("tcp") > 0, "the other connection also lost segments");
    assert!((1..=lost("data")).contains(&told), "{told} messages for {} packets", lost("data"));
    for (_, notice) in heard.lock().unwrap().iter() {
        assert!(!matches!(notice, Notice::LinkFailed(lost) if lost.source != 1024), "{notice:?}");
    }
}
