//! Datagrams that wait until the daemon has time for them: one queue for each neighbour on each interface, and one for
//! all other senders on the interface.
//!
//! Interfaces share the daemon's time equally, and on each interface its neighbours do. A flood from one
//! neighbour, or from forged addresses, therefore fills its own queue only, and delays others by one message.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use multihop_core::{Duration, Instant};

use crate::budget::{Allowance, Shares};
use crate::router::Arrival;

/// Datagram that waits for processing.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) arrival: Arrival,
    pub(crate) bytes: Box<[u8]>,
    /// Instant at which the kernel received the datagram.
    arrived: Instant,
    /// Instant at which the datagram was put into its queue.
    since: Instant,
}

/// The neighbour whose datagrams wait in a queue; `None`: all senders that are no neighbours.
type Sender = Option<IpAddr>;

/// All datagrams that wait, and the share of the processor's time for them.
#[derive(Debug)]
pub(crate) struct Inbox {
    interfaces: BTreeMap<u32, Interface>,
    shares: Shares<u32>,
    allowance: Allowance,
    /// Total length of all waiting datagrams, bytes.
    bytes: usize,
    /// Sender of the datagram that was taken last.
    served: Option<(u32, Sender)>,
    dropped: u64,
}

#[derive(Debug, Default)]
struct Interface {
    queues: BTreeMap<Sender, VecDeque<Waiting>>,
    shares: Shares<Sender>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            interfaces: BTreeMap::new(),
            shares: Shares::default(),
            allowance: Allowance::one_in(PART, MAX_SAVED),
            bytes: 0,
            served: None,
            dropped: 0,
        }
    }
}

impl Inbox {
    /// Puts a datagram into the queue of its sender. `is_neighbour`: the sender has been heard over this
    /// interface before. A full queue drops its oldest datagram.
    pub(crate) fn put(&mut self, now: Instant, arrival: Arrival, is_neighbour: bool, bytes: &[u8]) {
        let sender = is_neighbour.then_some(arrival.from);
        let queue = self.interfaces.entry(arrival.interface).or_default().queues.entry(sender).or_default();
        if queue.len() >= MAX_WAITING {
            self.bytes -= queue.pop_front().map_or(0, |oldest| oldest.bytes.len());
            self.dropped += 1;
        }
        let arrived = crate::budget::before(now, arrival.ago);
        queue.push_back(Waiting { arrival, bytes: bytes.into(), arrived, since: now });
        self.bytes += bytes.len();
        while self.bytes > MAX_BYTES {
            self.drop_from_longest();
        }
    }

    /// The next datagram to process, with its age; `None` if none waits or the share of time is used up.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Waiting> {
        if !self.allowance.is_ready(now) {
            return None;
        }
        self.drop_old(now);
        let waits = self.interfaces.iter().filter(|(_, interface)| !interface.queues.is_empty());
        let number = self.shares.next(waits.map(|(number, _)| *number))?;
        let interface = self.interfaces.get_mut(&number)?;
        let sender = interface.shares.next(interface.queues.keys().copied())?;
        let queue = interface.queues.get_mut(&sender)?;
        let mut taken = queue.pop_front()?;
        if queue.is_empty() {
            interface.queues.remove(&sender);
        }
        self.bytes -= taken.bytes.len();
        self.served = Some((number, sender));
        taken.arrival.ago = now.saturating_since(taken.arrived);
        Some(taken)
    }

    /// Counts the processing time of the datagram that was taken last.
    pub(crate) fn spend(&mut self, now: Instant, cost: Duration) {
        let Some((number, sender)) = self.served.take() else { return };
        let cost = cost.max(MIN_COST);
        self.allowance.spend(now, cost);
        self.shares.spend(number, cost);
        if let Some(interface) = self.interfaces.get_mut(&number) {
            interface.shares.spend(sender, cost);
        }
        self.interfaces.retain(|one, interface| *one == number || !interface.queues.is_empty());
    }

    /// When the next datagram may be taken; `None` if none waits.
    pub(crate) fn ready_at(&self) -> Option<Instant> {
        let waits = self.interfaces.values().any(|interface| !interface.queues.is_empty());
        waits.then(|| self.allowance.ready_at())
    }

    /// Number of dropped datagrams, whose senders sent more than the daemon had time for.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }

    fn drop_old(&mut self, now: Instant) {
        let (bytes, dropped) = (&mut self.bytes, &mut self.dropped);
        for interface in self.interfaces.values_mut() {
            interface.queues.retain(|_, queue| {
                while let Some(old) = queue.pop_front_if(|old| now.saturating_since(old.since) >= MAX_WAIT) {
                    *bytes -= old.bytes.len();
                    *dropped += 1;
                }
                !queue.is_empty()
            });
        }
    }

    fn drop_from_longest(&mut self) {
        let queues = self.interfaces.values_mut().flat_map(|interface| interface.queues.values_mut());
        let size = |queue: &VecDeque<Waiting>| queue.iter().map(|one| one.bytes.len()).sum::<usize>();
        let oldest = queues.max_by_key(|queue| size(queue)).and_then(VecDeque::pop_front);
        self.bytes -= oldest.map_or(self.bytes, |oldest| oldest.bytes.len());
        self.dropped += 1;
    }
}

/// Inverse of the largest share of the processor's time that datagrams of all neighbours may take.
const PART: u64 = 8;
/// Time for which unused processor time is saved: 12.5 ms of work may begin at once.
const MAX_SAVED: Duration = Duration::from_millis(100);
/// Smallest cost charged for a datagram: at most 2500 datagrams a second are processed even if each one is
/// cheap, because agents remember each message for seconds.
const MIN_COST: Duration = Duration::from_micros(50);
/// Largest number of waiting datagrams from one sender.
const MAX_WAITING: usize = 32;
/// Bytes of all datagrams that wait.
const MAX_BYTES: usize = 1 << 20;
/// Waiting time after which a datagram is dropped: by then its sender has usually repeated the message.
const MAX_WAIT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn host(n: u32) -> IpAddr {
        Ipv4Addr::from_bits(0x0a00_0000 + n).into()
    }

    /// A daemon in virtual time. In each millisecond datagrams arrive, and the daemon then processes as many
    /// as its share of time allows.
    struct Bench {
        inbox: Inbox,
        now: Instant,
        /// Instant until which the processor is busy.
        busy: Instant,
        spent: Duration,
        /// Sender and age of each datagram that was processed.
        processed: Vec<(IpAddr, Duration)>,
    }

    impl Bench {
        fn new() -> Self {
            let now = Instant::ZERO + Duration::from_secs(10);
            Self { inbox: Inbox::default(), now, busy: now, spent: Duration::ZERO, processed: Vec::new() }
        }

        fn put(&mut self, interface: u32, from: IpAddr, is_neighbour: bool, length: usize) {
            let arrival = Arrival { interface, from, to_all: true, ttl: 1, ago: Duration::ZERO };
            self.inbox.put(self.now, arrival, is_neighbour, &vec![0; length]);
        }

        /// Works until the end of this millisecond; `cost` is the processing time of a datagram of each
        /// sender.
        fn work(&mut self, cost: impl Fn(IpAddr) -> Duration) {
            let end = self.now + MS;
            while self.busy < end {
                let Some(taken) = self.inbox.take(self.busy.max(self.now)) else { break };
                let at = self.busy.max(self.now);
                let cost = cost(taken.arrival.from);
                self.processed.push((taken.arrival.from, taken.arrival.ago));
                self.busy = at + cost;
                self.spent += cost;
                self.inbox.spend(self.busy, cost);
            }
            self.now = end;
        }

        fn oldest(&self, from: IpAddr) -> Duration {
            let ages = self.processed.iter().filter(|(of, _)| *of == from).map(|(_, age)| *age);
            ages.max().unwrap_or(Duration::MAX)
        }

        fn count(&self, from: IpAddr) -> usize {
            self.processed.iter().filter(|(of, _)| *of == from).count()
        }
    }

    /// The genuine neighbour, which sends twice a second.
    const GENUINE: u32 = 1;

    /// Result of ten seconds in which `flood` adds datagrams to those of the genuine neighbour on interface
    /// 0.
    fn flooded(flood: impl Fn(&mut Bench, u64), cost: Duration) -> Bench {
        let mut bench = Bench::new();
        for n in 0..10_000 {
            if n % 500 == 0 {
                bench.put(0, host(GENUINE), true, 100);
            }
            flood(&mut bench, n);
            bench.work(|from| if from == host(GENUINE) { MS / 10 } else { cost });
        }
        bench
    }

    #[test]
    fn a_flood_of_costly_messages_takes_an_eighth_of_the_time_and_delays_others_by_a_pause() {
        for cost in [1, 5, 25].map(|n| MS * n) {
            let flood = |bench: &mut Bench, n: u64| bench.put(0, host(2), true, 1200 + (n % 7) as usize);
            let bench = flooded(flood, cost);
            assert!(bench.spent <= MS * 1_263 + cost, "{:?} of 10 s", bench.spent);
            assert_eq!(bench.count(host(GENUINE)), 20);
            // One costly message causes one pause.
            let oldest = bench.oldest(host(GENUINE));
            assert!(oldest <= cost * PART + MS * 2, "{oldest:?} with {cost:?}");
            assert!(bench.oldest(host(2)) < MAX_WAIT, "the flood is not processed later");
            assert!(bench.inbox.dropped() > 5_000);
        }
    }

    #[test]
    fn a_flood_from_addresses_that_nobody_has_counts_as_one_sender() {
        let flood = |bench: &mut Bench, n: u64| {
            for k in 0..5 {
                bench.put(0, host(1_000 + u32::try_from(5 * n + k).unwrap()), false, 1200);
            }
        };
        let bench = flooded(flood, MS);
        assert_eq!(bench.count(host(GENUINE)), 20);
        assert!(bench.oldest(host(GENUINE)) <= MS * 10, "{:?}", bench.oldest(host(GENUINE)));
        assert!(bench.inbox.interfaces[&0].queues.len() <= 2);
    }

    #[test]
    fn a_flood_in_the_name_of_all_neighbours_delays_the_genuine_one_by_one_round() {
        // 255 addresses that were heard before, each with an empty or full queue.
        let flood = |bench: &mut Bench, n: u64| {
            for k in 0..5 {
                bench.put(0, host(2 + u32::try_from((5 * n + k) % 255).unwrap()), true, 1200);
            }
        };
        let bench = flooded(flood, MS / 4);
        assert_eq!(bench.count(host(GENUINE)), 20);
        // In one round, each neighbour gets one message, which a pause pays for.
        let round = MS / 4 * (255 * PART);
        assert!(bench.oldest(host(GENUINE)) <= round + MS * 10, "{:?}", bench.oldest(host(GENUINE)));
        assert!(bench.inbox.bytes <= MAX_BYTES);
    }

    #[test]
    fn a_flood_on_one_interface_leaves_half_of_the_time_to_another() {
        let flood = |bench: &mut Bench, n: u64| {
            for k in 0..5 {
                bench.put(1, host(100 + u32::try_from((5 * n + k) % 255).unwrap()), true, 1200);
            }
            bench.put(0, host(2), true, 1200);
        };
        let bench = flooded(flood, MS);
        let here = bench.count(host(2)) + bench.count(host(GENUINE)) / 10;
        assert!(here.abs_diff(bench.processed.len() / 2) < 70, "{here} of {}", bench.processed.len());
    }

    #[test]
    fn an_interface_on_which_nothing_waits_keeps_no_other_waiting() {
        let mut bench = Bench::new();
        for n in 0..100 {
            bench.put(n % 3, host(2), true, 100);
            bench.work(|_| MS / 10);
            assert_eq!((bench.processed.len(), bench.inbox.ready_at()), (n as usize + 1, None));
        }
    }

    #[test]
    fn nothing_is_processed_after_it_has_waited_for_two_seconds() {
        let mut bench = Bench::new();
        for _ in 0..MAX_WAITING {
            bench.put(0, host(2), true, 100);
        }
        bench.work(|_| MS * 400);
        let paused = bench.inbox.ready_at().unwrap();
        assert!(paused > bench.now + MAX_WAIT);
        bench.now = paused;
        assert!(bench.inbox.take(bench.now).is_none());
        assert_eq!(bench.inbox.ready_at(), None);
        assert_eq!(bench.inbox.bytes, 0);
    }

    #[test]
    fn what_waits_has_a_bound_in_bytes_that_the_longest_queue_pays() {
        let mut bench = Bench::new();
        bench.put(0, host(GENUINE), true, 100);
        for n in 0..1_000_u32 {
            bench.put(0, host(2 + n % 200), true, 60_000);
        }
        assert!(bench.inbox.bytes <= MAX_BYTES);
        bench.work(|_| MS / 10);
        assert_eq!(bench.count(host(GENUINE)), 1);
    }
}
