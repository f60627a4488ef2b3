//! Measurements of queues and radios from the kernel, taken while routes are chosen by delay.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use multihop_core::{Duration, Instant};
use multihop_linux::netlink::{Channel, Queue, Station, Wifi, find_link_address, link_addresses, queues};
use serde::Serialize;

use crate::config::Routing;
use crate::delay::{Known, LocalDelay, Look, QueueGauge, Radio, transmissions};

/// Samples the queues of interfaces eight times between two HELLOs, and the counters of Wi-Fi cards once. While no interface
/// has a queue, one sample between two HELLOs checks whether there is one.
#[derive(Debug)]
pub(crate) struct LinkMonitor {
    /// Interval between two measurements.
    every: Duration,
    weight: u32,
    /// Whether HELLOs wait behind data in a queue that lets nothing overtake.
    hellos_wait: bool,
    due: Instant,
    looks: u32,
    interfaces: BTreeMap<u32, Interface>,
    stations: BTreeMap<(u32, [u8; 6]), Tracked>,
    /// Link addresses of neighbours on Wi-Fi interfaces.
    addresses: BTreeMap<(u32, IpAddr), [u8; 6]>,
}

/// Queue and channel measurements of one interface.
#[derive(Debug, Default)]
struct Interface {
    gauge: QueueGauge,
    queue: Option<Queue>,
    /// Whether HELLOs wait in the interface's queue.
    hellos_wait: bool,
    channel: Option<Channel>,
    /// Share of time for which the channel was busy between the last two samples.
    busy: Option<f64>,
}

/// A station in the table of a Wi-Fi card.
#[derive(Debug, Default)]
struct Tracked {
    last: Station,
    gauge: QueueGauge,
    transmissions: Option<u64>,
}

/// The queue of an interface.
#[derive(Clone, Debug, Serialize)]
pub struct QueueStatus {
    /// Kind of the queue, such as `fq_codel`.
    pub kind: String,
    /// Number of packets that wait.
    pub packets: u32,
    /// Number of bytes that wait.
    pub bytes: u32,
    /// Mean wait in the queue, s.
    pub wait: Option<f64>,
    /// Whether HELLOs wait in this queue, so that their delay includes it.
    pub hellos_wait: bool,
}

impl LinkMonitor {
    /// Monitor of the links; `None` if routes are not chosen by delay.
    pub(crate) fn new(now: Instant, routing: &Routing) -> Option<Self> {
        let Routing::Olsr(config) = routing else { return None };
        let metric = config.metric.filter(|metric| metric.kind.is_delay)?;
        let every = Duration::from_nanos(config.hello_interval.as_nanos() / u64::from(LOOKS)).max(SHORTEST);
        Some(Self {
            every,
            weight: metric.weight,
            hellos_wait: metric.hellos_wait,
            due: now,
            looks: 0,
            interfaces: BTreeMap::new(),
            stations: BTreeMap::new(),
            addresses: BTreeMap::new(),
        })
    }

    /// Instant of the next sample.
    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    /// Samples these interfaces, and the neighbours of each. Returns whether new averages exist.
    pub(crate) fn look(&mut self, now: Instant, interfaces: &[u32], neighbours: &[(u32, IpAddr)]) -> bool {
        self.interfaces.retain(|index, _| interfaces.contains(index));
        let mut done = self.look_at_queues(now, interfaces);
        let step = self.step();
        self.due = now + self.every * u64::from(step);
        self.looks += 1;
        let is_end = step == LOOKS || self.looks.is_multiple_of(LOOKS);
        if is_end {
            self.interfaces.values_mut().for_each(|one| one.gauge.average(self.weight));
            done = done.and(self.look_at_radios(now, interfaces));
            self.ask_for_addresses(neighbours);
        }
        if let Err(error) = done {
            tracing::debug!("cannot read the state of queues and radios: {error}");
        }
        is_end
    }

    /// Time until the next sample, in intervals between samples of queues.
    fn step(&self) -> u32 {
        if self.interfaces.values().any(|one| one.queue.is_some()) { 1 } else { LOOKS }
    }

    fn look_at_queues(&mut self, now: Instant, interfaces: &[u32]) -> io::Result<()> {
        let mut found: BTreeMap<u32, Vec<Queue>> = BTreeMap::new();
        for queue in queues()?.into_iter().filter(|queue| interfaces.contains(&queue.interface)) {
            found.entry(queue.interface).or_default().push(queue);
        }
        for index in interfaces {
            let interface = self.interfaces.entry(*index).or_default();
            let all = found.remove(index).unwrap_or_default();
            let overtakes = all.iter().any(|queue| OVERTAKEN.contains(&&*queue.kind));
            interface.hellos_wait = self.hellos_wait && !overtakes;
            interface.queue = all.into_iter().find(|queue| queue.is_root && queue.kind != NO_QUEUE);
            if let Some(queue) = &interface.queue {
                interface.gauge.look(Look { at: now, waiting: queue.bytes.into(), sent: queue.sent });
            }
        }
        Ok(())
    }

    fn look_at_radios(&mut self, now: Instant, interfaces: &[u32]) -> io::Result<()> {
        let Some(wifi) = Wifi::open()? else { return Ok(()) };
        let mut found = BTreeMap::new();
        for &index in interfaces {
            let Some(stations) = wifi.stations(index)? else { continue };
            for station in stations.into_iter().take(MAX_STATIONS) {
                let mut tracked = self.stations.remove(&(index, station.address)).unwrap_or_default();
                tracked.take(now, station, self.weight);
                found.insert((index, station.address), tracked);
            }
            if let Some(interface) = self.interfaces.get_mut(&index) {
                interface.take_channel(wifi.channel(index)?);
            }
        }
        self.stations = found;
        let found = if self.stations.is_empty() { Vec::new() } else { link_addresses()? };
        self.addresses = found.into_iter().map(|one| ((one.interface, one.address), one.link)).collect();
        Ok(())
    }

    /// Sends packets to neighbours whose link address the kernel lacks, so that it resolves the address.
    /// Without a link address, an unused neighbour would seem nearer than a used one.
    fn ask_for_addresses(&self, neighbours: &[(u32, IpAddr)]) {
        let has_radio = |interface| self.stations.keys().any(|(of, _)| *of == interface);
        for to in neighbours.iter().filter(|to| has_radio(to.0) && !self.addresses.contains_key(to)) {
            if let Err(error) = find_link_address(to.0, to.1) {
                tracing::debug!("cannot look up the link address of {}: {error}", to.1);
            }
        }
    }

    /// Measurements of the link to a neighbour in addition to the delay of HELLOs.
    fn known(&self, interface: u32, neighbour: IpAddr) -> Known {
        let port = self.interfaces.get(&interface);
        let overtaken = port.filter(|port| port.queue.is_some() && !port.hellos_wait);
        let station = self.station(interface, neighbour);
        let card = station.filter(|station| station.last.waiting.is_some());
        Known {
            queue: overtaken.and_then(|port| port.gauge.wait()),
            card: card.and_then(|station| station.gauge.wait()),
            radio: station.map(Tracked::radio),
        }
    }

    /// Delay of data to a neighbour in addition to the delay that HELLOs measure.
    pub(crate) fn local_delay(&self, interface: u32, neighbour: IpAddr) -> LocalDelay {
        self.known(interface, neighbour).local_delay()
    }

    /// How the card transmits to a neighbour, if it is a Wi-Fi card.
    pub(crate) fn radio(&self, interface: u32, neighbour: IpAddr) -> Option<Radio> {
        self.station(interface, neighbour).map(Tracked::radio)
    }

    /// The queue of an interface, if it has one.
    pub(crate) fn queue(&self, interface: u32) -> Option<QueueStatus> {
        let interface = self.interfaces.get(&interface)?;
        let Queue { kind, packets, bytes, .. } = interface.queue.clone()?;
        let wait = interface.gauge.wait().map(Duration::as_secs_f64);
        Some(QueueStatus { kind, packets, bytes, wait, hellos_wait: interface.hellos_wait })
    }

    /// The share of time for which the channel of a Wi-Fi interface is busy.
    pub(crate) fn busy(&self, interface: u32) -> Option<f64> {
        self.interfaces.get(&interface)?.busy
    }

    fn station(&self, interface: u32, neighbour: IpAddr) -> Option<&Tracked> {
        self.stations.get(&(interface, *self.addresses.get(&(interface, neighbour))?))
    }
}

impl Interface {
    fn take_channel(&mut self, now: Option<Channel>) {
        if let (Some(before), Some(now)) = (self.channel, now)
            && let (Some(time), Some(busy)) =
                (now.time.checked_sub(before.time), now.busy.checked_sub(before.busy))
            && time > 0
        {
            self.busy = Some(busy as f64 / time as f64);
        }
        self.channel = now;
    }
}

impl Tracked {
    /// Takes the card's counters at the end of an interval.
    fn take(&mut self, now: Instant, station: Station, weight: u32) {
        let growth = |count: fn(&Station) -> Option<u32>| {
            let (before, after) = (count(&self.last)?, count(&station)?);
            after.checked_sub(before).map(u64::from)
        };
        let packets = growth(|station| station.sent_packets);
        let retries = growth(|station| station.retries);
        let seen = packets.zip(retries).and_then(|(packets, retries)| transmissions(packets, retries));
        // Without transmitted packets the earlier value stays.
        self.transmissions = seen.or(self.transmissions);
        if let (Some(waiting), Some(sent)) = (station.waiting, station.sent_bytes) {
            self.gauge.look(Look { at: now, waiting, sent });
            self.gauge.average(weight);
        }
        self.last = station;
    }

    fn radio(&self) -> Radio {
        let Station { rate, throughput, signal, .. } = self.last;
        Radio { rate, transmissions: self.transmissions, throughput, signal }
    }
}

/// Number of checks between two HELLOs.
const LOOKS: u32 = 8;
const SHORTEST: Duration = Duration::from_millis(20);
/// Kinds of queues in which a packet of a quiet flow, such as a HELLO, overtakes the packets of busy flows.
const OVERTAKEN: [&str; 7] = ["fq_codel", "fq", "cake", "fq_pie", "sfq", "hhf", "dualpi2"];
/// Queue kind that the kernel reports for interfaces without a queue.
const NO_QUEUE: &str = "noqueue";
/// Largest number of stations that are read from one card.
const MAX_STATIONS: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_card_become_shares() {
        let station = |packets, retries| Station {
            sent_packets: Some(packets),
            retries: Some(retries),
            rate: Some(54_000_000),
            ..Station::default()
        };
        let mut tracked = Tracked::default();
        let mut take = |packets, retries| {
            tracked.take(Instant::ZERO, station(packets, retries), 200_000);
            tracked.radio().transmissions
        };
        assert_eq!(take(900, 500), None, "the first counts are those of a long time");
        assert_eq!(take(1_000, 550), Some(1_500));
        assert_eq!(take(1_000, 550), Some(1_500), "no packets");
        assert_eq!(take(100, 50), Some(1_500), "the card counts anew");
        assert_eq!(take(200, 50), Some(1_000));
        assert_eq!(tracked.radio().rate, Some(54_000_000));
    }

    #[test]
    fn interfaces_without_queues_are_sampled_once_between_two_hellos() {
        let metric = multihop_routing::olsr::Metric::default();
        let config = multihop_routing::olsr::Config::rfc().with_metric(metric);
        let mut links = LinkMonitor::new(Instant::ZERO, &Routing::Olsr(config)).unwrap();
        links.interfaces.insert(7, Interface::default());
        assert_eq!(links.every * u64::from(links.step()), Duration::from_secs(2));
        let kind = "fq_codel".to_owned();
        let queue = Queue { interface: 7, kind, is_root: true, packets: 0, bytes: 0, sent: 0 };
        links.interfaces.insert(8, Interface { queue: Some(queue), ..Interface::default() });
        assert_eq!(links.every * u64::from(links.step()), Duration::from_millis(250));
    }

    #[test]
    fn the_channel_is_busy_for_a_share_of_the_time() {
        let mut interface = Interface::default();
        let mut take = |time, busy| {
            interface.take_channel(Some(Channel { time, busy }));
            interface.busy
        };
        assert_eq!(take(1_000, 900), None);
        assert_eq!(take(3_000, 1_400), Some(0.25));
        assert_eq!(take(3_000, 1_400), Some(0.25), "the card has not counted since");
        assert_eq!(take(10, 5), Some(0.25), "the card counts anew");
    }
}
