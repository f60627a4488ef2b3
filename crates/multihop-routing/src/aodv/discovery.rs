//! Route discovery: requests, expanding ring search and retries (RFC 3561, sections 6.3 to 6.5).

use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};
use multihop_wire::aodv::{Message, Request};

use super::table::Offer;
use super::{Agent, Config, Outgoing, Preset};

/// The search for one destination.
#[derive(Clone, Debug)]
pub(super) struct Discovery {
    ttl: u8,
    /// Number of network-wide requests sent so far.
    network_wide: u8,
    sent: Instant,
    /// End of the wait for a reply, or of the pause after an unsuccessful search.
    until: Instant,
    /// Instant of the next request; `None` until a packet needs the route.
    due: Option<Instant>,
    /// Whether the search sends a single request, as for a local repair.
    only_once: bool,
}

/// Round-trip times per hop of the last discoveries of a destination.
#[derive(Clone, Debug, Default)]
pub(super) struct Latencies {
    last: [Option<Duration>; 3],
    count: usize,
}

impl Latencies {
    fn record(&mut self, per_hop: Duration) {
        self.last[self.count % self.last.len()] = Some(per_hop);
        self.count += 1;
    }

    fn mean(&self) -> Option<Duration> {
        let known = self.last.iter().flatten();
        let sum = known.clone().fold(Duration::ZERO, |sum, &latency| sum + latency);
        let count = known.count() as u64;
        (count > 0).then(|| sum / count)
    }
}

impl Config {
    fn first_ring(&self, last_hops: Option<u8>) -> (u8, u8) {
        let known = last_hops.map(|hops| match self.preset {
            Preset::Ns2 => self.next_ring(hops, 0),
            Preset::Uu => (hops.saturating_add(self.ttl_increment).min(self.net_diameter), 0),
        });
        match (self.expanding_ring, self.preset) {
            (true, _) => known.unwrap_or((self.ttl_start, 0)),
            (false, Preset::Ns2) => (self.net_diameter, 1),
            (false, Preset::Uu) => (self.net_diameter, 0),
        }
    }

    fn next_ring(&self, ttl: u8, network_wide: u8) -> (u8, u8) {
        if ttl < self.ttl_threshold {
            (ttl + self.ttl_increment, network_wide)
        } else {
            (self.net_diameter, network_wide + 1)
        }
    }
}

impl Agent {
    /// Starts a route discovery, unless one is in progress.
    pub(super) fn seek(&mut self, now: Instant, destination: Ipv4Addr) {
        match self.discoveries.get_mut(&destination) {
            None => {
                let (ttl, network_wide) = self.config.first_ring(self.table.last_hops(destination));
                self.ask(now, destination, ttl, network_wide, false);
            }
            Some(_) if self.config.preset == Preset::Uu => {}
            Some(discovery) if discovery.until <= now => self.ask_again(now, destination),
            Some(discovery) => discovery.due = Some(self.config.on_tick(discovery.until)),
        }
    }

    /// Sends one request with this TTL.
    pub(super) fn ask(
        &mut self,
        now: Instant,
        destination: Ipv4Addr,
        ttl: u8,
        network_wide: u8,
        only_once: bool,
    ) {
        let until = now + self.reply_wait(destination, ttl, network_wide);
        let due = Some(self.config.on_tick(until));
        let discovery = Discovery { ttl, network_wide, sent: now, until, due, only_once };
        self.discoveries.insert(destination, discovery);
        // RFC 3561 §6.1: a node increments its sequence number before a route discovery.
        self.sequence = self.sequence.next();
        self.last_request = self.last_request.wrapping_add(1);
        let request = Request {
            join: false,
            repair: false,
            gratuitous: self.config.gratuitous_replies,
            destination_only: self.config.destination_only,
            hop_count: 0,
            id: self.last_request,
            destination,
            destination_sequence: self.table.sequence(destination),
            originator: self.address,
            originator_sequence: self.sequence,
        };
        self.send_request(now, ttl, request, false);
    }

    fn ask_again(&mut self, now: Instant, destination: Ipv4Addr) {
        let Some(last) = self.discoveries.get(&destination) else { return };
        if last.only_once || last.network_wide >= self.config.network_wide_requests {
            return self.give_up(now, destination);
        }
        let (ttl, network_wide) = self.config.next_ring(last.ttl, last.network_wide);
        self.ask(now, destination, ttl, network_wide, false);
    }

    fn give_up(&mut self, now: Instant, destination: Ipv4Addr) {
        if self.config.preset == Preset::Uu || self.discoveries[&destination].only_once {
            self.discoveries.remove(&destination);
        } else if let Some(discovery) = self.discoveries.get_mut(&destination) {
            // ns-2 waits, then continues with network-wide requests.
            discovery.network_wide = 0;
            discovery.until = now + self.config.max_wait;
            discovery.due = None;
        }
        self.drop_all_waiting(destination);
        self.repair_failed(now, destination);
        self.notify_lost(destination);
    }

    /// Instant of the next request for a destination, if no reply arrives.
    pub(super) fn search_ends(&self, destination: Ipv4Addr) -> Option<Instant> {
        self.discoveries.get(&destination).map(|discovery| discovery.until)
    }

    fn reply_wait(&self, destination: Ipv4Addr, ttl: u8, network_wide: u8) -> Duration {
        let config = &self.config;
        match config.preset {
            Preset::Ns2 => {
                let measured = self.latencies.get(&destination).and_then(Latencies::mean);
                let per_hop = measured.unwrap_or(config.node_traversal);
                let times = 2 * u64::from(ttl) * u64::from(network_wide.max(1));
                per_hop.saturating_mul(times).min(config.max_wait)
            }
            Preset::Uu => {
                let slack = if config.expanding_ring { config.timeout_buffer } else { 0 };
                config.node_traversal * (2 * (u64::from(ttl) + u64::from(slack)))
            }
        }
    }

    pub(super) fn expire_discoveries(&mut self, now: Instant) {
        let due = |discovery: &Discovery| discovery.due.is_some_and(|due| due <= now);
        while let Some(destination) = self
            .discoveries
            .iter()
            .find_map(|(&destination, discovery)| due(discovery).then_some(destination))
        {
            // ns-2 repeats a request only while packets wait.
            if self.config.preset == Preset::Ns2 && !self.buffer.holds(destination) {
                self.discoveries.entry(destination).and_modify(|discovery| discovery.due = None);
            } else {
                self.ask_again(now, destination);
            }
        }
    }

    pub(super) fn next_discovery(&self) -> Option<Instant> {
        self.discoveries.values().filter_map(|discovery| discovery.due).min()
    }

    /// Records the round-trip time of a route discovery: from this node's request to its reply.
    // DEVIATION aodv-4: A node measures the time of a route discovery from its latest request. ns-2's messages
    // contain the time of the request. The measured time is too short if a reply to an earlier request arrives.
    pub(super) fn measure(&mut self, now: Instant, destination: Ipv4Addr, hops: u8) {
        if self.config.preset == Preset::Ns2
            && let Some(discovery) = self.discoveries.get(&destination)
        {
            let per_hop = (now - discovery.sent) / u64::from(hops.max(1));
            self.latencies.entry(destination).or_default().record(per_hop);
        }
    }

    /// Forwards the packets that waited for a route to a destination, which has become valid.
    pub(super) fn on_route(&mut self, now: Instant, destination: Ipv4Addr) {
        self.discoveries.remove(&destination);
        self.repaired(now, destination);
        self.notify(destination);
        self.release(now, destination);
    }

    /// Handles a request that arrived from a neighbour. Returns false if it is ignored as a duplicate or as
    /// this node's own request.
    pub(super) fn on_request(
        &mut self,
        now: Instant,
        at: Instant,
        from: Ipv4Addr,
        ttl: u8,
        request: Request,
    ) -> bool {
        let until = now + self.config.request_id_life;
        if request.originator == self.address
            || request.hop_count == u8::MAX
            || !self.seen.is_new(now, request.originator, request.id, until)
        {
            return false;
        }
        self.prefetch();
        let request = Request { hop_count: request.hop_count + 1, ..request };
        self.learn_reverse_route(now, at, from, &request);
        if self.has(request.destination) {
            self.reply_as_destination(now, &request);
        } else if self.can_reply(&request) {
            self.reply_from_table(now, &request);
        } else if ttl > 1 {
            // RFC 3561 §6.5: a forwarded request carries the newest known sequence number.
            let known = self.table.sequence(request.destination);
            let asked = request.destination_sequence;
            let newest = known.map_or(asked, |known| Some(asked.map_or(known, |asked| asked.newest(known))));
            let request = Request { destination_sequence: newest, ..request };
            self.send_request(now, ttl - 1, request, true);
        }
        true
    }

    fn learn_reverse_route(&mut self, now: Instant, at: Instant, from: Ipv4Addr, request: &Request) {
        let hops = request.hop_count;
        let spent = self.config.reverse_life_per_hop.saturating_mul(hops.into());
        let expires = at + self.config.reverse_route_life.saturating_sub(spent);
        let sequence = request.originator_sequence;
        // RFC 3561 §6.5: a request does not shorten the lifetime of a route.
        let expires =
            self.table.valid(request.originator).map_or(expires, |route| route.expires.max(expires));
        if self.table.offer(request.originator, Offer { next_hop: from, hops, sequence, expires }) {
            self.on_route(now, request.originator);
        } else {
            self.table.extend(request.originator, expires);
        }
    }

    fn send_request(&mut self, now: Instant, ttl: u8, request: Request, forwarded: bool) {
        if self.request_limit.allows(now) {
            self.send(
                now,
                Outgoing { to: None, interface: None, ttl, message: Message::Request(request), forwarded },
            );
        }
    }
}
