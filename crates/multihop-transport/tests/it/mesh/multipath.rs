//! Connections with two paths over queues of known rates, in virtual time.

use std::collections::BTreeMap;

use multihop_core::{Duration, Instant, Payload, Rng};
use multihop_transport::Pool;
use multihop_transport::connection::{Data, Event};
use multihop_transport::lifecycle::State;
use multihop_transport::mesh::{Config, MeshEnd, Output};
use multihop_wire::mesh::Segment;
use proptest::prelude::*;

use super::paths::MS;

/// A route between two hosts: a queue towards the receiver, and a delay in both directions.
#[derive(Clone, Debug)]
struct Route {
    /// Time in which the queue passes on a segment.
    service: Duration,
    /// Delay of each way behind the queue.
    delay: Duration,
    /// Share of segments and ACKs that are lost.
    loss: f64,
    /// Share of segments and ACKs that arrive twice.
    duplication: f64,
    /// Random delay of each segment and ACK: what follows may overtake.
    jitter: Duration,
    /// Intervals in which everything is lost.
    outages: Vec<(Instant, Instant)>,
    free: Instant,
}

impl Route {
    fn new(service: Duration, delay: Duration) -> Self {
        let (outages, free) = (Vec::new(), Instant::ZERO);
        Self { service, delay, loss: 0.0, duplication: 0.0, jitter: Duration::ZERO, outages, free }
    }

    /// Number of segments that the route carries in this time.
    fn capacity(&self, time: Duration) -> f64 {
        time.as_secs_f64() / self.service.as_secs_f64()
    }
}

/// A connection, and the data that its receiver got.
struct Flow {
    ends: [MeshEnd; 2],
    /// The routes of the first path and of the second path.
    routes: Vec<usize>,
    /// Number of bytes delivered in order.
    delivered: u64,
    latest: Instant,
    /// The longest time without a delivery.
    pause: Duration,
    /// Segments with data that each path took.
    took: [u64; 2],
}

/// Connections over routes that they may share.
struct Hosts {
    routes: Vec<Route>,
    flows: Vec<Flow>,
    rng: Rng,
    under_way: BTreeMap<(Instant, u64), (usize, usize, Segment)>,
    launched: u64,
    /// Memory for the buffers of each end, beyond those of its configuration, bytes.
    pool: u64,
    now: Instant,
}

impl Hosts {
    fn new(routes: Vec<Route>, seed: u64) -> Self {
        let rng = Rng::stream(seed, "test/multipath", 0);
        Self {
            routes,
            flows: Vec::new(),
            rng,
            under_way: BTreeMap::new(),
            launched: 0,
            pool: 64 << 20,
            now: Instant::ZERO,
        }
    }

    /// Opens a connection whose one or two paths take these routes.
    fn open(&mut self, config: &Config, routes: &[usize]) -> usize {
        let config = Config { second_path: true, ..config.clone() };
        let mut ends =
            [7, 8].map(|number| MeshEnd::with_pool(config.clone(), 1024, number, Some(Pool::new(self.pool))));
        ends[0].connect();
        ends[1].listen();
        let latest = self.now;
        let (delivered, pause, took) = (0, Duration::ZERO, [0; 2]);
        self.flows.push(Flow { ends, routes: routes.to_vec(), delivered, latest, pause, took });
        self.flows.len() - 1
    }

    /// Opens a connection that sends without end.
    fn start(&mut self, config: &Config, routes: &[usize]) -> usize {
        let flow = self.open(&Config { sink: true, ..config.clone() }, routes);
        self.flows[flow].ends[0].send(Data::Endless).expect("the stream is open");
        self.drain(flow);
        flow
    }

    fn drain(&mut self, flow: usize) {
        for side in 0..2 {
            while let Some(output) = self.flows[flow].ends[side].poll_output(self.now) {
                match output {
                    Output::Segment(segment) => self.carry(flow, 1 - side, segment),
                    Output::Event(Event::Connected) if side == 0 && self.flows[flow].routes.len() > 1 => {
                        assert!(self.flows[flow].ends[0].add_path());
                    }
                    Output::Event(Event::Delivered(bytes)) if side == 1 => {
                        let flow = &mut self.flows[flow];
                        flow.delivered += bytes;
                        flow.pause = flow.pause.max(self.now.saturating_since(flow.latest));
                        flow.latest = self.now;
                    }
                    Output::Event(_) => {}
                }
            }
        }
    }

    fn carry(&mut self, flow: usize, to: usize, segment: Segment) {
        let path = usize::from(segment.second_path().unwrap_or(false));
        self.flows[flow].took[path] += u64::from(to == 1 && !segment.payload().is_empty());
        let route = &mut self.routes[self.flows[flow].routes[path]];
        let is_dead = route.outages.iter().any(|&(from, until)| (from..until).contains(&self.now));
        if is_dead || self.rng.chance(route.loss) {
            return;
        }
        let mut at = self.now;
        if to == 1 {
            route.free = route.free.max(self.now) + route.service;
            at = route.free;
        }
        let (delay, jitter) = (route.delay, route.jitter);
        for _ in 0..=u8::from(self.rng.chance(route.duplication)) {
            let at = at + delay + self.rng.duration_below(jitter);
            self.under_way.insert((at, self.launched), (flow, to, segment.clone()));
            self.launched += 1;
        }
    }

    /// Handles the next event before `until`; false if there is none.
    fn step(&mut self, until: Instant) -> bool {
        let timers = self.flows.iter().flat_map(|flow| &flow.ends).filter_map(MeshEnd::poll_timeout);
        let arrival = self.under_way.first_key_value().map(|(&(at, _), _)| at);
        let Some(at) = timers.chain(arrival).min().filter(|&at| at <= until) else { return false };
        self.now = self.now.max(at);
        while let Some(first) = self.under_way.first_entry().filter(|first| first.key().0 <= at) {
            let (flow, side, segment) = first.remove();
            self.flows[flow].ends[side].receive(self.now, segment);
            self.drain(flow);
        }
        for flow in 0..self.flows.len() {
            let now = self.now;
            self.flows[flow].ends.iter_mut().for_each(|end| end.handle_timeout(now));
            self.drain(flow);
            let next = self.flows[flow].ends.iter().filter_map(MeshEnd::poll_timeout).min();
            assert!(next.is_none_or(|next| next > now), "a timer due at {now} again");
        }
        true
    }

    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
        self.now = until;
    }

    /// Number of segments that a flow delivers in this time.
    fn measure(&mut self, flow: usize, time: Duration) -> f64 {
        let before = self.flows[flow].delivered;
        self.run(time);
        (self.flows[flow].delivered - before) as f64 / 1460.0
    }
}

/// Mean and half the 95% interval of 20 values.
fn interval(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, 2.093 * (variance / n).sqrt())
}

fn uniform(rng: &mut Rng, from: f64, to: f64) -> f64 {
    from + (to - from) * rng.unit()
}

/// Two routes with rates, delays and losses at random.
fn any_routes(seed: u64) -> Vec<Route> {
    let mut rng = Rng::stream(seed, "test/routes", 0);
    let mut route = || {
        let service = Duration::from_secs_f64(0.0001 * uniform(&mut rng, 0.0, 3.9).exp());
        let delay = Duration::from_secs_f64(uniform(&mut rng, 0.001, 0.06));
        Route { loss: uniform(&mut rng, 0.0, 0.02), ..Route::new(service, delay) }
    };
    vec![route(), route()]
}

/// Wi-Fi with 47 Mb/s and LTE with 10.
fn wifi_and_lte() -> Vec<Route> {
    vec![Route::new(MS / 4, MS * 3), Route::new(Duration::from_micros(1200), MS * 30)]
}

#[test]
fn two_disjoint_paths_carry_their_sum() {
    let time = MS * 5_000;
    let shares: Vec<f64> = (1..=20)
        .map(|seed| {
            let mut hosts = Hosts::new(any_routes(seed), seed);
            let flow = hosts.start(&Config::default(), &[0, 1]);
            hosts.run(time);
            let sum: f64 = hosts.routes.iter().map(|route| route.capacity(time)).sum();
            hosts.measure(flow, time) / sum
        })
        .collect();
    let (mean, half) = interval(&shares);
    println!("goodput over the sum of both paths: {mean:.3} ± {half:.3}");
    assert!(shares.iter().all(|&share| share >= 0.9), "{shares:.3?}");
}

#[test]
fn a_path_that_is_lost_for_ten_seconds_causes_no_pause() {
    let (mut pauses, mut during, mut after) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 1..=20 {
        let mut rng = Rng::stream(seed, "test/outage", 0);
        let mut routes = wifi_and_lte();
        for route in &mut routes {
            (route.loss, route.jitter) = (uniform(&mut rng, 0.0, 0.01), MS);
        }
        let from = Instant::ZERO + Duration::from_secs_f64(uniform(&mut rng, 3.0, 5.0));
        routes[0].outages.push((from, from + MS * 10_000));
        let lte = routes[1].capacity(MS * 8_000);
        let sum: f64 = routes.iter().map(|route| route.capacity(MS * 3_000)).sum();
        let mut hosts = Hosts::new(routes, seed);
        let flow = hosts.start(&Config::net(), &[0, 1]);
        hosts.run(from - Instant::ZERO - MS * 100);
        hosts.flows[flow].pause = Duration::ZERO;
        hosts.run(MS * 1100);
        during.push(hosts.measure(flow, MS * 8_000) / lte);
        hosts.run(MS * 3_000);
        after.push(hosts.measure(flow, MS * 3_000) / sum);
        pauses.push(hosts.flows[flow].pause.as_secs_f64());
    }
    let [pause, rate, again] = [&pauses, &during, &after].map(|values| interval(values));
    println!("longest pause: {:.0} ± {:.0} ms", pause.0 * 1e3, pause.1 * 1e3);
    println!("goodput over that of LTE during the outage: {:.3} ± {:.3}", rate.0, rate.1);
    println!("goodput over the sum 2 s after it: {:.3} ± {:.3}", again.0, again.1);
    assert!(pauses.iter().all(|&pause| pause < 0.5), "{pauses:.3?}");
    assert!(during.iter().all(|&share| share > 0.9), "{during:.3?}");
    assert!(after.iter().all(|&share| share > 0.9), "{after:.3?}");
}

#[test]
fn a_slow_path_does_not_hold_up_a_fast_one_where_the_receiver_has_little_room() {
    let time = MS * 10_000;
    let alone = |routes: &[usize]| {
        let mut hosts = Hosts::new(wifi_and_lte(), 1);
        hosts.pool = 0;
        let flow = hosts.start(&Config::net(), routes);
        hosts.run(time);
        hosts.measure(flow, time)
    };
    let (fast, slow, both) = (alone(&[0]), alone(&[1]), alone(&[0, 1]));
    println!("{fast} and {slow} alone, {both} together");
    assert!(both >= fast, "{fast} and {slow} alone, {both} together");
    let mut hosts = Hosts::new(wifi_and_lte(), 1);
    hosts.pool = 0;
    hosts.routes[0].outages.push((Instant::ZERO + time, Instant::ZERO + time * 2));
    let flow = hosts.start(&Config::net(), &[0, 1]);
    hosts.run(time + MS * 1000);
    let during = hosts.measure(flow, time - MS * 1000);
    hosts.run(MS * 2000);
    let after = hosts.measure(flow, time);
    println!("{during} while the fast one is lost, {after} later");
    assert!(during >= slow * 0.8, "{slow} alone, {during} while the fast one is lost");
    assert!(after >= fast, "{fast} alone, {after} after the outage");
}

/// When a lost path is back, the delay of its queue before the loss no longer counts.
#[test]
fn a_path_that_is_back_is_used_again_also_if_little_data_is_queued() {
    for lost in 0..2 {
        let mut routes = vec![Route { jitter: MS, ..Route::new(MS * 3 / 2, MS) }; 2];
        let at = |s: u64| Instant::ZERO + MS * (1000 * s);
        routes[lost].outages.push((at(3), at(5)));
        let mut hosts = Hosts::new(routes, 1);
        let flow = hosts.open(&Config { sink: true, ..Config::net() }, &[0, 1]);
        let mut before = 0;
        let mut work = |hosts: &mut Hosts, until: Instant| {
            while hosts.now < until {
                while hosts.flows[flow].ends[0].unacked() < 65_536 {
                    hosts.flows[flow].ends[0].send(Data::Virtual(16_384)).expect("the stream is open");
                }
                hosts.drain(flow);
                let next = hosts.now + MS * 10;
                hosts.run(next.saturating_since(hosts.now));
            }
            let carried = hosts.flows[flow].delivered / 1460 - before;
            before += carried;
            carried
        };
        work(&mut hosts, at(7));
        let took = hosts.flows[flow].took;
        let carried = work(&mut hosts, at(12));
        let now = hosts.flows[flow].took;
        let took = [now[0] - took[0], now[1] - took[1]];
        assert!(carried >= 5_700, "{carried} of 6667, by the paths {took:?}");
        assert!(took.iter().all(|&took| took > 2_500), "{took:?}");
    }
}

/// Goodput of a connection over that of one with a single path that begins 5 s later and shares its queue, with each of 20 seeds.
fn ratios(routes: &[usize]) -> Vec<f64> {
    let ratio = |seed| {
        let mut rng = Rng::stream(seed, "test/shared", 0);
        let service = Duration::from_secs_f64(0.001 * uniform(&mut rng, 0.0, 3.0).exp());
        let mut hosts = Hosts::new(vec![Route { jitter: MS, ..Route::new(service, MS * 20) }], seed);
        let first = hosts.start(&Config::default(), routes);
        hosts.run(MS * 5_000);
        let second = hosts.start(&Config::default(), &[0]);
        hosts.run(MS * 20_000);
        let before = hosts.flows[second].delivered;
        let carried = hosts.measure(first, MS * 40_000);
        carried * 1460.0 / (hosts.flows[second].delivered - before) as f64
    };
    (1..=20).map(ratio).collect()
}

#[test]
fn two_paths_over_one_queue_take_little_more_than_one() {
    let (one, two) = (interval(&ratios(&[0])), interval(&ratios(&[0, 0])));
    println!("one path: {:.2} ± {:.2} of a later connection, two: {:.2} ± {:.2}", one.0, one.1, two.0, two.1);
    assert!(two.0 < one.0 * 1.5, "{two:.2?}, with one path {one:.2?}");
}

fn stream(side: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from((i * 31 + i / 251) % 256).expect("below 256") ^ side).collect()
}

fn routes() -> impl Strategy<Value = Route> {
    let faults = (0.0..0.3, 0.0..0.3, 0_u64..100);
    let outages = prop::collection::vec((0_u64..4000, 0_u64..3000), 0..3);
    (1_u64..20, 1_u64..100, faults, outages).prop_map(
        |(service, delay, (loss, duplication, jitter), outages)| {
            let at = |ms| Instant::ZERO + MS * ms;
            let outages = outages.into_iter().map(|(from, len)| (at(from), at(from + len))).collect();
            let jitter = MS * jitter;
            Route { loss, duplication, jitter, outages, ..Route::new(MS * service, MS * delay) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_streams_arrive_whole_on_two_paths(
        routes in (routes(), routes()),
        buffer in 1_u16..200,
        mss in 100_u16..1500,
        seed: u64,
    ) {
        let mut hosts = Hosts::new(vec![routes.0, routes.1], seed);
        hosts.pool = 0;
        let config = Config { mss, recv_buffer: buffer, ..Config::default() };
        let flow = hosts.open(&config, &[0, 1]);
        let sent = [stream(0, 60_000), stream(1, 7_000)];
        for (side, data) in sent.iter().enumerate() {
            let data = Data::from(Payload::Bytes(data.clone()));
            prop_assert_eq!(hosts.flows[flow].ends[side].send(data), Ok(()));
        }
        hosts.drain(flow);
        let mut received = [Vec::new(), Vec::new()];
        let until = Instant::ZERO + MS * 40_000_000;
        while received[0].len() < sent[1].len() || received[1].len() < sent[0].len() {
            let is_unread = hosts.flows[flow].ends.iter().any(|end| end.unread() > 0);
            let goes_on = hosts.step(until) || is_unread;
            prop_assert!(goes_on, "{} and {} bytes", received[0].len(), received[1].len());
            for (end, into) in hosts.flows[flow].ends.iter_mut().zip(&mut received) {
                end.read(1000).emit(into);
            }
            hosts.drain(flow);
        }
        prop_assert!(received[0] == sent[1] && received[1] == sent[0]);
        hosts.flows[flow].ends.iter_mut().for_each(MeshEnd::close);
        hosts.drain(flow);
        while hosts.flows[flow].ends.iter().any(|end| end.state() != State::Closed) {
            prop_assert!(hosts.step(until), "it closes");
        }
    }
}
