//! Transmission of packets: Hellos at their intervals, other TLVs when the first waiting one has waited long
//! enough.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::net::IpAddr;

use multihop_core::{Duration, Instant, Interface};
use multihop_routing::message::Message;

use super::host::{FIRST_HELLO, on_wire};
use super::neighbours::{Neighbour, clock};
use super::wire::{Centis, Hello, INFINITY, Ihu, Offer, Packet, Prefix, SeqnoRequest, Tlv, Update};
use super::{Agent, Config, Timer};

/// TLVs and announcements waiting for the next packet.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// Destinations whose routes will be announced.
    updates: BTreeSet<Prefix>,
    /// Requests to all neighbours.
    requests: Vec<SeqnoRequest>,
    /// TLVs for single neighbours, with their addresses.
    unicast: Vec<(IpAddr, Tlv)>,
    /// Whether all routes are to be announced.
    dump: bool,
    /// Whether all routes of neighbours are requested.
    all: bool,
}

impl Waiting {
    /// Number of TLVs and announcements.
    pub(super) fn len(&self) -> usize {
        self.updates.len() + self.requests.len() + self.unicast.len()
    }

    /// Requests all routes of all neighbours with the next packet.
    pub(super) fn request_all(&mut self) {
        self.all = true;
    }
}

impl Agent {
    pub(super) fn send_hello(&mut self, now: Instant) {
        self.hello_seqno = self.hello_seqno.next();
        self.counters.hellos += 1;
        let config = &self.config;
        let hello = Hello {
            unicast: false,
            seqno: self.hello_seqno,
            interval: centis(config.hello_interval),
            timestamp: config.rtt.is_some().then(|| clock(now)),
        };
        let jitter = self.rng.duration_below(self.config.hello_interval / 4);
        let another_follows = self.takes_start(now);
        let wait = if another_follows { FIRST_HELLO } else { self.config.hello_interval - jitter };
        self.timers.set(Timer::Hello, now + wait);
        let repeats = !another_follows && self.takes_repeat();
        if repeats || now + self.config.hello_interval / 2 >= self.next_dump {
            self.waiting.dump = true;
        }
        if self.config.hellos_wait {
            for interface in self.interfaces() {
                let tlvs = self.greeting(hello, interface);
                self.send(None, interface, tlvs);
            }
            self.flush(now, None);
        } else {
            self.flush(now, Some(hello));
        }
        if !another_follows {
            self.request_missing_reports(now);
        }
    }

    /// A Hello over an interface, after the IHUs for its neighbours.
    fn greeting(&self, hello: Hello, interface: Option<Interface>) -> Vec<Tlv> {
        // Every Hello comes with an IHU, although the announced interval is three times as long, because both
        // contain timestamps.
        let interval = centis(self.config.hello_interval.saturating_mul(3));
        let here =
            |neighbour: &&Neighbour| interface.is_none_or(|interface| neighbour.interface == interface);
        let ihus = self.neighbours.iter().filter(here);
        let ihus = ihus.map(|neighbour| Tlv::Ihu(ihu(neighbour, &self.config, interval)));
        // The Hello comes last because tshark reads too far if an IHU with timestamps ends a packet.
        ihus.chain([Tlv::Hello(hello)]).collect()
    }

    /// Sends waiting messages over all interfaces, after their Hellos if there are any.
    pub(super) fn flush(&mut self, now: Instant, hello: Option<Hello>) {
        self.timers.stop(Timer::Flush);
        let mut tlvs = Vec::new();
        let mut waiting = core::mem::take(&mut self.waiting);
        if waiting.dump {
            self.counters.dumps += 1;
            self.next_dump = now + self.config.update_interval;
            self.sources.expire(now);
            waiting.updates.extend(&self.originated);
            let known = self.routes.destinations().filter(|&to| self.routes.was_announced(to));
            waiting.updates.extend(known);
            waiting.updates.extend(self.routes.destinations().filter(|&to| self.routes.get(to).is_some()));
        }
        // DEVIATION babel-3: Urgent updates are sent once, and with each announcement. RFC 8966 (3.7.2) repeats them
        // or asks for acknowledgements. A lost retraction waits for the next announcement, without loops.
        for destination in waiting.updates {
            tlvs.push(Tlv::Update(self.update(now, destination)));
            self.counters.updates += 1;
        }
        tlvs.extend(waiting.all.then_some(Tlv::RouteRequest(None)));
        self.counters.requests += waiting.requests.len() as u64;
        tlvs.extend(waiting.requests.into_iter().map(Tlv::SeqnoRequest));
        for interface in self.interfaces() {
            let hello = hello.map(|hello| self.greeting(hello, interface));
            let rest = tlvs.iter().filter_map(|tlv| self.over(interface, *tlv));
            let all: Vec<Tlv> = hello.into_iter().flatten().chain(rest).collect();
            let most = match interface {
                _ if self.host.is_some() => TLVS_WITH_IPV6,
                Some(_) => TLVS_WITH_CHANNELS,
                None => TLVS_PER_PACKET,
            };
            for part in all.chunks(most) {
                self.send(None, interface, part.to_vec());
            }
        }
        for (neighbour, tlv) in waiting.unicast {
            self.counters.requests += u64::from(matches!(tlv, Tlv::SeqnoRequest(_)));
            self.send(Some(neighbour), None, Vec::from([tlv]));
        }
    }

    pub(super) fn send(&mut self, to: Option<IpAddr>, interface: Option<Interface>, tlvs: Vec<Tlv>) {
        let packet = Packet { tlvs };
        if self.host.is_some() {
            return self.send_on_host(to, interface, &packet);
        }
        self.counters.packets += 1;
        self.counters.bytes += packet.wire_len() as u64;
        let to = to.and_then(|to| if let IpAddr::V4(to) = to { Some(to) } else { None });
        self.forwarder.send(to, interface, Message::custom(packet));
    }

    /// The update for a destination. Its metric determines which routes are feasible from now on.
    fn update(&mut self, now: Instant, destination: Prefix) -> Update {
        let (seqno, offer) = if self.originated.contains(&destination) {
            (self.seqno, Some(Offer { router_id: self.router_id, metric: 0 }))
        } else if let Some(route) = self.routes.get(destination) {
            let (router_id, seqno, metric) = (route.router_id, route.seqno, route.metric);
            self.sources.announce(now, destination, router_id, seqno, metric);
            (seqno, Some(Offer { router_id, metric }))
        } else {
            (self.seqno, None)
        };
        let channels = offer.and_then(|_| self.channels_to(destination));
        self.routes.note_announced(destination, offer.map_or(INFINITY, |offer| offer.metric), channels);
        let (prefix, interval) = (destination, centis(self.config.update_interval));
        Update { prefix, next_hop: None, interval, seqno, offer, channels }
    }

    /// Schedules an early IHU for a neighbour.
    pub(super) fn report_soon(&mut self, now: Instant, neighbour: IpAddr) {
        let interval = centis(self.config.hello_interval.saturating_mul(3));
        if let Some(found) = self.neighbours.get(neighbour) {
            let report = Tlv::Ihu(ihu(found, &self.config, interval));
            self.queue_for(now, neighbour, report);
        }
    }

    pub(super) fn announce_soon(&mut self, now: Instant, destination: Prefix) {
        self.waiting.updates.insert(destination);
        self.flush_soon(now);
    }

    /// Schedules an announcement of all routes, at most one per second.
    pub(super) fn dump_soon(&mut self, now: Instant) {
        self.waiting.dump = true;
        let last = self.next_dump.saturating_since(Instant::ZERO).saturating_sub(self.config.update_interval);
        let earliest = Instant::ZERO + last + Duration::from_secs(1);
        self.flush_soon(earliest.max(now));
    }

    /// Requests a newer sequence number from a neighbour or all neighbours, unless such a request is pending.
    pub(super) fn request_once(&mut self, now: Instant, request: SeqnoRequest, to: Option<IpAddr>) {
        if self.requests.add(now, &request, to) {
            self.request_soon(now, request, to);
        }
    }

    pub(super) fn request_soon(&mut self, now: Instant, request: SeqnoRequest, to: Option<IpAddr>) {
        match to {
            Some(neighbour) => self.waiting.unicast.push((neighbour, Tlv::SeqnoRequest(request))),
            None => self.waiting.requests.push(request),
        }
        self.flush_soon(now);
    }

    pub(super) fn queue_for(&mut self, now: Instant, neighbour: IpAddr, tlv: Tlv) {
        if self.waiting.unicast.len() < MAX_WAITING {
            self.waiting.unicast.push((neighbour, tlv));
        }
        self.flush_soon(now);
    }

    fn flush_soon(&mut self, now: Instant) {
        let at = now + self.rng.duration_below(self.config.max_jitter);
        self.timers.set(Timer::Flush, self.timers.at(Timer::Flush).map_or(at, |before| before.min(at)));
    }
}

fn ihu(neighbour: &Neighbour, config: &Config, interval: Centis) -> Ihu {
    let echo = if config.rtt.is_some() { neighbour.heard } else { None };
    Ihu { address: Some(on_wire(neighbour.address)), rxcost: neighbour.rxcost(), interval, echo }
}

/// Rounds a time up to centiseconds; times beyond the limit become the longest one.
fn centis(time: Duration) -> Centis {
    Centis(u16::try_from(time.as_nanos().div_ceil(10_000_000)).unwrap_or(u16::MAX))
}

/// Largest number of TLVs in a packet. The longest TLV has 28 bytes, and 50 of them fit into 1500 bytes with
/// all headers.
const TLVS_PER_PACKET: usize = 50;
/// Largest number of TLVs in a packet on real hosts. An update with its router-id has at most 40 bytes, and
/// 24 updates with a signature fit into 1280 bytes, the least MTU of IPv6.
const TLVS_WITH_IPV6: usize = 24;
/// Largest number of TLVs for single neighbours that wait, a limit of memory.
const MAX_WAITING: usize = 4096;
/// Largest number of TLVs in a packet if they list channels; the longest TLV then has 38 bytes.
const TLVS_WITH_CHANNELS: usize = 36;
