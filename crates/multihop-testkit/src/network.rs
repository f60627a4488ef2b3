//! Networks of machines with changing links.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use multihop_core::{Duration, Instant, Machine, Rng, earliest};

/// Connects the inputs and outputs of a machine to packets. Nodes are numbered from 0.
pub trait Adapter {
    /// The machine at each node.
    type Machine: Machine;
    /// The packets on links.
    type Packet: Clone;
    /// Whether nodes overhear unicast packets for others.
    const TAPS: bool = false;

    /// The action for an output of `node`.
    fn output(
        &mut self,
        now: Instant,
        node: usize,
        output: <Self::Machine as Machine>::Output,
    ) -> Action<Self::Packet>;

    /// Input of `node` when a packet arrives from the neighbour `from`. `None` if the machine does not handle the
    /// packet, for example data at its destination.
    fn arrived(
        &mut self,
        now: Instant,
        node: usize,
        from: usize,
        packet: Self::Packet,
    ) -> Option<<Self::Machine as Machine>::Input>;

    /// The input of `node` when a unicast packet failed because the link is down.
    fn failed(
        &mut self,
        now: Instant,
        node: usize,
        to: usize,
        packet: Self::Packet,
    ) -> Option<<Self::Machine as Machine>::Input>;

    /// The input of `node` when it overhears a unicast packet; only used with [`Self::TAPS`].
    fn overheard(
        &mut self,
        _now: Instant,
        _node: usize,
        _from: usize,
        _packet: Self::Packet,
    ) -> Option<<Self::Machine as Machine>::Input> {
        None
    }

    /// The form of a packet in the log.
    fn text(&self, packet: &Self::Packet) -> String;
}

/// How the network handles an output.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Action<P> {
    /// A packet for every current neighbour.
    Broadcast(P),
    /// A packet for one node.
    Unicast {
        /// Index of the receiving node.
        to: usize,
        /// Packet for that node.
        packet: P,
    },
    /// A line in the log.
    Log(String),
    /// The adapter has handled the output.
    Done,
}

/// A link of a [`TestNetwork`], in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestLink {
    /// Delay of every packet.
    pub delay: Duration,
    /// Fraction of packets, unicast included, that are lost without a report.
    pub loss: f64,
}

impl TestLink {
    /// A link with a delay of one millisecond and no losses.
    pub const GOOD: Self = Self { delay: Duration::from_millis(1), loss: 0.0 };
}

/// Any number of machines with changing links, in virtual time.
///
/// Whether a packet is lost is decided when it is sent. A unicast packet over a missing link is reported as a failure
/// one millisecond later.
pub struct TestNetwork<A: Adapter> {
    /// The machine of each node. Use [`TestNetwork::call`] to change one.
    pub machines: Vec<A::Machine>,
    /// Adapter between the network and the machines.
    pub adapter: A,
    /// Whether packets are logged; true at first.
    pub logging: bool,
    links: BTreeMap<(usize, usize), TestLink>,
    events: BTreeMap<(Instant, u64), TestEvent<A::Packet>>,
    deadlines: Vec<Option<Instant>>,
    log: String,
    rng: Rng,
    scheduled: u64,
    now: Instant,
    rounds: u32,
}

enum TestEvent<P> {
    Arrival { node: usize, from: usize, packet: P },
    Overheard { node: usize, from: usize, packet: P },
    Failure { node: usize, to: usize, packet: P },
}

impl<A: Adapter> TestNetwork<A> {
    /// Nodes without links; `seed` decides the losses.
    pub fn new(machines: Vec<A::Machine>, adapter: A, seed: u64) -> Self {
        let mut network = Self {
            deadlines: vec![None; machines.len()],
            machines,
            adapter,
            logging: true,
            links: BTreeMap::new(),
            events: BTreeMap::new(),
            log: String::new(),
            rng: Rng::stream(seed, "mesh", 0),
            scheduled: 0,
            now: Instant::ZERO,
            rounds: 0,
        };
        for node in 0..network.machines.len() {
            network.drain(node);
        }
        network
    }

    /// Good links from each node to the next.
    pub fn chain(machines: Vec<A::Machine>, adapter: A, seed: u64) -> Self {
        let mut network = Self::new(machines, adapter, seed);
        for node in 1..network.machines.len() {
            network.connect(node - 1, node, TestLink::GOOD);
        }
        network
    }

    /// Current virtual time of the network.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Sets the link between two nodes, in both directions.
    pub fn connect(&mut self, a: usize, b: usize, link: TestLink) {
        self.connect_one_way(a, b, link);
        self.connect_one_way(b, a, link);
    }

    /// Sets the link from one node to another.
    pub fn connect_one_way(&mut self, from: usize, to: usize, link: TestLink) {
        assert!(from != to && from.max(to) < self.machines.len(), "no link from {from} to {to}");
        self.links.insert((from, to), link);
    }

    /// Removes the link between two nodes, in both directions. Packets in flight still arrive.
    pub fn disconnect(&mut self, a: usize, b: usize) {
        self.links.remove(&(a, b));
        self.links.remove(&(b, a));
    }

    /// Whether packets of one node reach another directly.
    pub fn connected(&self, from: usize, to: usize) -> bool {
        self.links.contains_key(&(from, to))
    }

    /// The nodes that receive from `node`, in order.
    pub fn neighbours(&self, node: usize) -> Vec<usize> {
        self.links.range((node, 0)..(node + 1, 0)).map(|(&(_, to), _)| to).collect()
    }

    /// Gives one machine an input.
    pub fn input(&mut self, node: usize, input: <A::Machine as Machine>::Input) {
        self.call(node, |machine, now| machine.handle(now, input));
    }

    /// Calls any method of one machine.
    pub fn call<R>(&mut self, node: usize, action: impl FnOnce(&mut A::Machine, Instant) -> R) -> R {
        let result = action(&mut self.machines[node], self.now);
        self.drain(node);
        result
    }

    /// The time of the next event.
    pub fn next_event(&self) -> Option<Instant> {
        let event = self.events.first_key_value().map(|(&(at, _), _)| at);
        earliest(event, self.deadlines.iter().flatten().min().copied())
    }

    /// Advances to the next event; false if there is none.
    pub fn step(&mut self) -> bool {
        let Some(at) = self.next_event() else { return false };
        self.rounds = if at > self.now { 0 } else { self.rounds + 1 };
        assert!(self.rounds < 10_000, "no progress in time at {}", self.now);
        self.now = self.now.max(at);
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let event = entry.remove();
            self.happen(event);
        }
        for node in 0..self.machines.len() {
            if self.deadlines[node].is_some_and(|due| due <= self.now) {
                self.machines[node].handle_timeout(self.now);
                self.drain(node);
                let next = self.deadlines[node];
                assert!(next.is_none_or(|due| due > self.now), "{node}: a timer due at {} again", self.now);
            }
        }
        true
    }

    /// Runs all events up to `until`, and sets the clock to it.
    pub fn run_until(&mut self, until: Instant) {
        while self.next_event().is_some_and(|at| at <= until) {
            self.step();
        }
        self.now = self.now.max(until);
    }

    /// Runs all events of this duration.
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// Steps until `done`; false if there are no more events, or `limit` is reached first.
    pub fn drive(&mut self, limit: Instant, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        loop {
            if done(self) {
                return true;
            }
            if self.now > limit || !self.step() {
                return false;
            }
        }
    }

    /// The log since the last call: a line for each packet sent (`12.345 ms: 0 -> 1: text`, with
    /// `*` for a broadcast) and each [`Action::Log`] (`12.345 ms: 0: text`).
    pub fn take_log(&mut self) -> String {
        std::mem::take(&mut self.log)
    }

    fn happen(&mut self, event: TestEvent<A::Packet>) {
        let (node, input) = match event {
            TestEvent::Arrival { node, from, packet } => {
                (node, self.adapter.arrived(self.now, node, from, packet))
            }
            TestEvent::Overheard { node, from, packet } => {
                (node, self.adapter.overheard(self.now, node, from, packet))
            }
            TestEvent::Failure { node, to, packet } => {
                (node, self.adapter.failed(self.now, node, to, packet))
            }
        };
        if let Some(input) = input {
            self.machines[node].handle(self.now, input);
            self.drain(node);
        }
    }

    fn drain(&mut self, node: usize) {
        while let Some(output) = self.machines[node].poll_output(self.now) {
            match self.adapter.output(self.now, node, output) {
                Action::Broadcast(packet) => {
                    self.note(node, "-> *", &packet);
                    for to in self.neighbours(node) {
                        self.transmit(node, to, packet.clone());
                    }
                }
                Action::Unicast { to, packet } => {
                    self.note(node, &format!("-> {to}"), &packet);
                    self.let_overhear(node, to, &packet);
                    self.transmit(node, to, packet);
                }
                Action::Log(text) => self.line(node, &text),
                Action::Done => {}
            }
        }
        self.deadlines[node] = self.machines[node].poll_timeout();
    }

    fn let_overhear(&mut self, from: usize, to: usize, packet: &A::Packet) {
        // A packet to an unreachable receiver is not transmitted, so no node overhears it.
        if !A::TAPS || !self.connected(from, to) {
            return;
        }
        for node in self.neighbours(from) {
            let link = self.links[&(from, node)];
            if node != to && !self.rng.chance(link.loss) {
                let event = TestEvent::Overheard { node, from, packet: packet.clone() };
                self.events.insert((self.now + link.delay, self.scheduled), event);
                self.scheduled += 1;
            }
        }
    }

    fn transmit(&mut self, from: usize, to: usize, packet: A::Packet) {
        let (delay, event) = match self.links.get(&(from, to)) {
            None => (FAILURE_DELAY, TestEvent::Failure { node: from, to, packet }),
            Some(link) if self.rng.chance(link.loss) => return,
            Some(link) => (link.delay, TestEvent::Arrival { node: to, from, packet }),
        };
        self.events.insert((self.now + delay, self.scheduled), event);
        self.scheduled += 1;
    }

    fn note(&mut self, node: usize, way: &str, packet: &A::Packet) {
        if self.logging {
            let text = self.adapter.text(packet);
            self.write(&format!("{node} {way}"), &text);
        }
    }

    fn line(&mut self, node: usize, text: &str) {
        if self.logging {
            self.write(&node.to_string(), text);
        }
    }

    fn write(&mut self, who: &str, text: &str) {
        let micros = self.now.as_nanos() / 1_000;
        writeln!(self.log, "{}.{:03} ms: {who}: {text}", micros / 1_000, micros % 1_000)
            .expect("writing to a string cannot fail");
    }
}

/// Roughly the time that a MAC needs to report a failure.
const FAILURE_DELAY: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// Forwards a number plus one to the node of that number; logs a failure.
    #[derive(Default)]
    struct Counter {
        out: Vec<Result<u32, u32>>,
        alarm: Option<Instant>,
    }

    impl Machine for Counter {
        type Input = Result<u32, u32>;
        type Output = Result<u32, u32>;

        fn handle(&mut self, now: Instant, input: Self::Input) {
            self.out.push(input.map(|n| n + 1));
            self.alarm = Some(now + Duration::from_secs(1));
        }

        fn handle_timeout(&mut self, now: Instant) {
            if self.alarm.take_if(|at| *at <= now).is_some() {
                self.out.push(Err(0));
            }
        }

        fn poll_output(&mut self, _now: Instant) -> Option<Self::Output> {
            self.out.pop()
        }

        fn poll_timeout(&self) -> Option<Instant> {
            self.alarm
        }
    }

    struct Numbers;

    impl Adapter for Numbers {
        type Machine = Counter;
        type Packet = u32;

        fn output(&mut self, _now: Instant, _node: usize, output: Result<u32, u32>) -> Action<u32> {
            match output {
                Ok(9) => Action::Broadcast(9),
                Ok(n) => Action::Unicast { to: n as usize, packet: n },
                Err(0) => Action::Log("quiet".into()),
                Err(n) => Action::Log(format!("{n} is out of reach")),
            }
        }

        fn arrived(&mut self, _: Instant, _: usize, _: usize, packet: u32) -> Option<Result<u32, u32>> {
            (packet != 9).then_some(Ok(packet))
        }

        fn failed(&mut self, _: Instant, _: usize, _: usize, packet: u32) -> Option<Result<u32, u32>> {
            Some(Err(packet))
        }

        fn text(&self, packet: &u32) -> String {
            format!("number {packet}")
        }
    }

    fn machines() -> Vec<Counter> {
        (0..4).map(|_| Counter::default()).collect()
    }

    #[test]
    fn packets_cross_existing_links() {
        let mut network = TestNetwork::chain(machines(), Numbers, 1);
        network.disconnect(2, 3);
        network.input(0, Ok(0));
        network.input(0, Ok(8));
        network.run_for(Duration::from_millis(100));
        assert_eq!(
            network.take_log(),
            "0.000 ms: 0 -> 1: number 1\n\
             0.000 ms: 0 -> *: number 9\n\
             1.000 ms: 1 -> 2: number 2\n\
             2.000 ms: 2 -> 3: number 3\n\
             3.000 ms: 2: 3 is out of reach\n"
        );
        network.connect(2, 3, TestLink { delay: Duration::from_millis(5), ..TestLink::GOOD });
        assert!(network.connected(3, 2));
        assert_eq!(network.neighbours(2), [1, 3]);
        assert!(
            network.drive(Instant::FAR_FUTURE, |network| network.now()
                >= Instant::ZERO + Duration::from_secs(1))
        );
        assert_eq!(network.take_log(), "1000.000 ms: 0: quiet\n");
        network.logging = false;
        assert!(!network.drive(Instant::FAR_FUTURE, |_| false));
        assert_eq!(network.take_log(), "");
    }

    #[test]
    fn packets_are_lost_at_the_configured_rate() {
        let mut network = TestNetwork::new(machines(), Numbers, 1);
        network.connect(0, 1, TestLink { loss: 0.3, ..TestLink::GOOD });
        network.connect(1, 2, TestLink::GOOD);
        for _ in 0..1000 {
            network.input(0, Ok(0));
        }
        network.run_for(Duration::from_millis(10));
        let arrived = network.take_log().matches("1 -> 2").count();
        assert!((650..750).contains(&arrived), "{arrived}");
    }
}
