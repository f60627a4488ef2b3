//! Goodput and windows over queues of a known rate, in virtual time.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant, Machine, Notice, Rng, earliest};
use multihop_transport::connection::{Data, Event};
use multihop_transport::mesh::{Config, Output};
use multihop_wire::mesh::Segment;

use super::pair::Watched;

/// Flows over one queue with a constant rate; ACKs are only delayed.
pub(super) struct Bottleneck {
    flows: Vec<[Watched; 2]>,
    service: Duration,
    delay: Duration,
    /// Further delay of each flow, one way.
    pub(super) farther: Vec<Duration>,
    /// Period of losses: one of so many segments is lost; 0 loses none.
    lost: u64,
    /// Share of segments that are lost at random.
    pub(super) loss: f64,
    /// Share of ACKs that are lost at random.
    ack_loss: f64,
    /// When all is lost: ACKs, and segments.
    outages: [Vec<(Instant, Instant)>; 2],
    /// Data waits at its receiver for a random time, below `jitter` in three of four cases, and below four
    /// times `jitter` otherwise; what follows it waits too.
    pub(super) jitter: Duration,
    /// Maximum time by which a host handles arrivals and timers too late; it then handles all that wait.
    pub(super) late: Duration,
    /// Arrivals and timers that each end has not handled, if hosts are late.
    hosts: Vec<[Host; 2]>,
    pub(super) rng: Rng,
    newest: Instant,
    carried: u64,
    /// Number of times that a timer of an end was due.
    timers: u64,
    free: Instant,
    under_way: VecDeque<(Instant, usize, usize, Segment)>,
    delivered: Vec<u64>,
    pub(super) longest_queue: Duration,
    now: Instant,
}

/// Events of an end that its host has not handled yet.
#[derive(Debug, Default)]
struct Host {
    /// Time at which the host handles them.
    at: Option<Instant>,
    arrived: Vec<Segment>,
}

impl Bottleneck {
    pub(super) fn new(flows: usize, config: &Config, service: Duration, delay: Duration) -> Self {
        let config = Config { sink: true, ..config.clone() };
        let flows: Vec<_> = (0..flows).map(|_| Watched::two([&config; 2])).collect();
        Self {
            delivered: vec![0; flows.len()],
            farther: vec![Duration::ZERO; flows.len()],
            service,
            delay,
            lost: 0,
            loss: 0.0,
            ack_loss: 0.0,
            outages: [const { Vec::new() }; 2],
            jitter: Duration::ZERO,
            late: Duration::ZERO,
            hosts: flows.iter().map(|_| <[Host; 2]>::default()).collect(),
            rng: Rng::stream(1, "test/jitter", 0),
            newest: Instant::ZERO,
            carried: 0,
            timers: 0,
            free: Instant::ZERO,
            under_way: VecDeque::new(),
            longest_queue: Duration::ZERO,
            now: Instant::ZERO,
            flows,
        }
    }

    pub(super) fn start(&mut self, flow: usize) {
        self.flows[flow][0].end.send(Data::Endless).expect("the stream is open");
        self.drain(flow);
    }

    /// Tells all ends the length of the path.
    pub(super) fn know_hops(&mut self, hops: u8) {
        self.flows.iter_mut().flatten().for_each(|end| end.end.notice(Notice::PathInfo { hops }));
    }

    /// Ends a flow once its data in flight has arrived.
    pub(super) fn stop(&mut self, flow: usize) {
        self.flows[flow][0].end.shutdown();
        self.drain(flow);
    }

    fn drain(&mut self, flow: usize) {
        for side in 0..2 {
            while let Some(output) = self.flows[flow][side].poll_output(self.now) {
                match output {
                    Output::Segment(segment) => self.carry(flow, 1 - side, segment),
                    Output::Event(Event::Delivered(bytes)) => self.delivered[flow] += bytes,
                    Output::Event(_) => {}
                }
            }
        }
    }

    fn carry(&mut self, flow: usize, to: usize, segment: Segment) {
        let delay = self.delay + self.farther[flow];
        let mut at = self.now + delay;
        if self.outages[to].iter().any(|&(from, until)| (from..until).contains(&self.now)) {
            return;
        }
        if to == 0 && self.rng.chance(self.ack_loss) {
            return;
        }
        if to == 1 {
            self.carried += 1;
            if self.lost > 0 && self.carried.is_multiple_of(self.lost) {
                return;
            }
            if self.rng.chance(self.loss) {
                return;
            }
            self.longest_queue = self.longest_queue.max(self.free.saturating_since(self.now));
            self.free = self.free.max(self.now) + self.service;
            let most = self.jitter * if self.rng.below(4) == 0 { 4 } else { 1 };
            let out = self.newest.max(self.free + self.rng.duration_below(most));
            (self.newest, at) = (out, out + delay);
        }
        let place = self.under_way.partition_point(|&(other, ..)| other <= at);
        self.under_way.insert(place, (at, flow, to, segment));
    }

    pub(super) fn run_until(&mut self, until: Instant) {
        loop {
            let ends = self.due().min();
            let next = earliest(ends, self.under_way.front().map(|&(at, ..)| at));
            let Some(at) = next.filter(|&at| at <= until) else { break };
            self.now = at;
            self.timers += u64::from(ends == Some(at));
            while self.under_way.front().is_some_and(|&(at, ..)| at == self.now) {
                let (_, flow, side, segment) = self.under_way.pop_front().expect("there is a first one");
                if self.late > Duration::ZERO {
                    self.hosts[flow][side].arrived.push(segment);
                } else {
                    self.flows[flow][side].handle(self.now, segment);
                    self.drain(flow);
                }
            }
            for flow in 0..self.flows.len() {
                if self.late > Duration::ZERO {
                    (0..2).for_each(|side| self.run_host(flow, side));
                } else {
                    self.flows[flow].iter_mut().for_each(|end| end.handle_timeout(at));
                }
                self.drain(flow);
            }
        }
        self.now = until;
    }

    /// The times at which each end has something to do.
    fn due(&self) -> impl Iterator<Item = Instant> {
        let ends = self.flows.iter().flatten().zip(self.hosts.iter().flatten());
        ends.filter_map(|(end, host)| host.at.or_else(|| end.poll_timeout()))
    }

    /// Lets the host of an end handle what waits for it, or begins the delay of the host.
    fn run_host(&mut self, flow: usize, side: usize) {
        let (host, end) = (&mut self.hosts[flow][side], &mut self.flows[flow][side]);
        let waits = !host.arrived.is_empty() || end.poll_timeout().is_some_and(|due| due <= self.now);
        if host.at.is_none() && waits {
            host.at = Some(self.now + self.rng.duration_below(self.late));
        }
        if host.at.is_some_and(|at| at <= self.now) {
            host.at = None;
            core::mem::take(&mut host.arrived).into_iter().for_each(|segment| end.handle(self.now, segment));
            end.handle_timeout(self.now);
        }
    }

    /// Number of segments that each flow delivered in these seconds.
    pub(super) fn measure(&mut self, seconds: u64) -> Vec<u64> {
        let before = self.delivered.clone();
        self.longest_queue = Duration::ZERO;
        self.run_until(self.now + Duration::from_secs(seconds));
        self.delivered.iter().zip(before).map(|(now, before)| (now - before) / 1460).collect()
    }
}

pub(super) const MS: Duration = Duration::from_millis(1);

#[test]
fn one_flow_fills_a_path_and_keeps_the_queue_short() {
    // From 30 segments per second to 50,000, with windows from 3 to 2000.
    for (service, delay) in [(MS * 30, MS * 30), (MS, MS * 20), (Duration::from_micros(20), MS * 20)] {
        let mut path = Bottleneck::new(1, &Config::default(), service, delay);
        path.start(0);
        path.measure(10);
        let carried = path.measure(5)[0];
        let most = 5_000_000_000 / service.as_nanos();
        assert!(carried * 100 >= most * 95, "{carried} of {most}");
        let queue = path.longest_queue;
        assert!(queue <= service * 6 + MS * 10, "{queue} with a service of {service}");
        let [sender, receiver] = &path.flows[0];
        assert_eq!(sender.end.counters().retransmitted, 0);
        assert!(receiver.acks * 7 < sender.end.counters().sent, "{} ACKs", receiver.acks);
    }
}

#[test]
fn segments_leave_together_where_a_timer_for_each_would_cost_more() {
    let service = Duration::from_micros(20);
    let mut path = Bottleneck::new(1, &Config::default(), service, MS * 20);
    path.start(0);
    path.measure(10);
    let timers = path.timers;
    let [carried] = path.measure(1)[..] else { panic!("one flow") };
    let timers = path.timers - timers;
    assert!(carried > 47_500, "{carried} of 50000");
    assert!(timers < 4_000, "{timers} timers");
}

#[test]
fn losses_leave_the_window_alone() {
    let mut path = Bottleneck::new(1, &Config::default(), MS, MS * 20);
    path.lost = 10;
    path.start(0);
    path.measure(5);
    let carried = path.measure(10)[0];
    assert!(carried >= 8_500, "{carried} of 10000");
}

/// The first window over one hop is a single segment, so that losses of data and ACKs cause timeouts.
#[test]
fn a_timeout_does_not_end_the_start() {
    for seed in 1..=40 {
        let mut path = Bottleneck::new(1, &Config::net(), MS * 6, MS * 20);
        path.rng = Rng::stream(seed, "test/loss", 0);
        (path.loss, path.ack_loss) = (0.1, 0.1);
        path.flows[0][0].end.notice(Notice::PathInfo { hops: 1 });
        path.start(0);
        path.measure(1);
        let carried = path.measure(5)[0];
        assert!(carried >= 700, "{carried} of 833 with seed {seed}");
    }
}

#[test]
fn losses_in_bursts_cost_little_more_than_their_time() {
    let exponential = |rng: &mut Rng, mean: f64| Duration::from_secs_f64(-mean * (1.0 - rng.unit()).ln());
    let mut carried = 0;
    for seed in 1..=20 {
        let mut path = Bottleneck::new(1, &Config::net(), MS * 6, MS * 20);
        let mut rng = Rng::stream(seed, "test/bursts", 0);
        for outages in &mut path.outages {
            let mut at = Instant::ZERO;
            while at < Instant::ZERO + MS * 20_000 {
                let from = at + exponential(&mut rng, 0.95);
                at = from + exponential(&mut rng, 0.05);
                outages.push((from, at));
            }
        }
        path.start(0);
        carried += path.measure(20)[0];
    }
    let most = 20 * 20_000 / 6;
    assert!(carried * 100 >= most * 88, "{carried} of {most}");
}

#[test]
fn flows_that_meet_are_fair_within_ten_seconds() {
    for (flows, service) in [(2, MS * 30), (4, MS * 8)] {
        let mut path = Bottleneck::new(flows, &Config::default(), service, MS * 20);
        path.start(0);
        path.measure(10);
        (1..flows).for_each(|flow| path.start(flow));
        path.measure(10);
        let shares = path.measure(20);
        let most = 20_000_000_000 / service.as_nanos();
        let fair = most / flows as u64;
        assert!(shares.iter().sum::<u64>() * 100 >= most * 95, "{shares:?} of {most}");
        assert!(shares.iter().all(|&share| share * 100 >= fair * 75), "{shares:?}, fair {fair}");
    }
}

#[test]
fn flows_that_meet_keep_the_queue_short_for_ever() {
    let mut path = Bottleneck::new(2, &Config::default(), MS, MS * 20);
    path.start(0);
    path.measure(10);
    path.start(1);
    path.measure(130);
    let shares = path.measure(20);
    assert!(shares.iter().sum::<u64>() >= 19_000, "{shares:?} of 20000");
    assert!(path.longest_queue <= MS * 25, "{}", path.longest_queue);
    assert!(shares.iter().all(|&share| share >= 8_000), "{shares:?}");
}

#[test]
fn a_flow_far_below_its_path_grows_at_once() {
    let mut path = Bottleneck::new(1, &Config::default(), MS * 500, MS * 10);
    path.start(0);
    path.measure(60);
    path.service = MS * 4;
    path.measure(10);
    let carried = path.measure(5)[0];
    assert!(carried >= 100, "half a segment in each round trip of 24 ms makes 104, not {carried}");
}

#[test]
fn the_jitter_of_a_busy_host_does_not_bound_the_rate() {
    // 4.4 ms in the mean, at 2 Mb/s.
    let mut path = Bottleneck::new(1, &Config::default(), MS * 6, MS * 20);
    path.jitter = MS * 5;
    path.start(0);
    path.measure(10);
    let carried = path.measure(20)[0];
    assert!(carried * 100 >= 3333 * 95, "{carried} of 3333");
}
