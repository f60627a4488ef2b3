//! The parameters of AODV (RFC 3561, section 10), their presets and their keys.

use alloc::format;

use multihop_core::settings::{Field, Settings, Visitor};
use multihop_core::{Duration, Instant};
use multihop_wire::aodv::Message;

use crate::settings::{JITTER, TIMEOUT};

/// The implementation that the agent follows.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Preset {
    /// The agent of ns-2.35.
    Ns2,
    /// AODV-UU 0.9 as ported to ns-2.
    Uu,
}

/// How link failures are detected.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum LinkFailure {
    /// The MAC reports packets that it could not deliver. No HELLOs are sent.
    Mac,
    /// A neighbour's HELLOs are missing. Reports of the MAC are ignored.
    Hello,
}

/// Repair by a node on the path when its link fails: none, that of the RFC or that of ns-2. Needs [`LinkFailure::Mac`].
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum LocalRepair {
    /// The node sends a route error and repairs nothing.
    Off,
    /// The node searches for a new route once, and sends a route error if it finds none (RFC 3561, section 6.12).
    Rfc,
    /// The node searches for a new route if the packet has crossed more than half of its path, and never sends a route
    /// error.
    Ns2,
}

/// Parameters of AODV; [`Config::new`] has the values of a preset.
#[derive(Clone, Debug, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct Config {
    /// Implementation whose values and rules hold: ns2 is the agent of ns-2.35, uu is AODV-UU 0.9.
    ///
    /// Decides also what the other parameters cannot express: see `docs/models/aodv.md`.
    #[key(then = Self::take_preset)]
    pub preset: Preset,
    /// Detection of link failures: the MAC gives up on a packet (mac), or HELLOs are missing (hello).
    #[key(then = Self::take_preset)]
    pub link_failure: LinkFailure,
    /// Repair by a node on the path when its link fails: off only reports the failure; rfc searches for a new route once (RFC
    /// 3561); ns2 searches if the packet has crossed more than half of its path, and never reports. Not with `link_failure` =
    /// hello. ns2: ns2, uu: off.
    #[key(then = Self::check_repair)]
    pub local_repair: LocalRepair,
    /// Lifetime of a route after its last use, s. 10; uu with hello: 3.
    #[key(TIMEOUT)]
    pub active_route_timeout: Duration,
    /// Lifetime that a destination puts into its replies, s. ns2: 10, uu: 20, with hello 6.
    #[key(TIMEOUT)]
    pub my_route_timeout: Duration,
    /// Lifetime of a route to the originator of a request, s. ns2: 6, uu: 5.6.
    #[key(TIMEOUT)]
    pub reverse_route_life: Duration,
    /// Time by which each hop shortens the lifetime of a route to the originator, s. ns2: 0, uu: 0.08.
    #[key(JITTER)]
    pub reverse_life_per_hop: Duration,
    /// Time for which the hop count of an invalid route is remembered, s; off: for ever. ns2: off, uu: 10, with hello 15.
    #[key(TIMEOUT, off)]
    pub delete_period: Option<Duration>,
    /// Resolution of timers, s: routes expire, packets time out and requests are repeated at multiples of this; off: exactly on
    /// time. ns2: 0.5, uu: off.
    #[key(0.000_001..=10.0, off)]
    pub tick: Option<Duration>,
    /// Whether route requests use an expanding ring search; otherwise each reaches the whole network. Both presets: true.
    #[key]
    pub expanding_ring: bool,
    /// Whether the destination is informed when another node replies (flag G of requests). Both presets: false.
    #[key]
    pub gratuitous_replies: bool,
    /// Whether only destinations may reply to requests (flag D). Both presets: false.
    #[key]
    pub destination_only: bool,
    /// Time for which a request is recognised as a duplicate, s. ns2: 6, uu: 5.6.
    #[key(TIMEOUT)]
    pub request_id_life: Duration,
    /// TTL of the first request for an unknown destination. ns2: 5, uu: 1, with hello 2.
    #[key(1..=255)]
    pub ttl_start: u8,
    /// Number added to the TTL of each further request. Both presets: 2.
    #[key(1..=127)]
    pub ttl_increment: u8,
    /// TTL of a request from which on the next request reaches the whole network. Both presets: 7.
    #[key(1..=128)]
    pub ttl_threshold: u8,
    /// TTL of a request for the whole network. ns2: 30, uu: 35.
    #[key(1..=255)]
    pub net_diameter: u8,
    /// Expected time to cross one hop, s. ns2: 0.03, uu: 0.04.
    #[key(TIMEOUT)]
    pub node_traversal: Duration,
    /// Hops added to the TTL when uu computes the wait for a reply. uu: 2.
    #[key(0..=255)]
    pub timeout_buffer: u8,
    /// Number of requests for the whole network after which a search ends without success. ns2: 4, uu: 2.
    ///
    /// AODV-UU does not count the first request.
    #[key(1..=100)]
    pub network_wide_requests: u8,
    /// Longest wait for a reply, and the pause after a search without success, s; under ns2 only. 10.
    #[key(TIMEOUT, then = Self::check_wait)]
    pub max_wait: Duration,
    /// Limit of requests, and of errors, in any second; one less than this is sent. ns2: off, uu: 10.
    ///
    /// AODV-UU sends one less as well.
    #[key(2..=255, off)]
    pub rate_limit: Option<u8>,
    /// TTL of the IP packets of route replies. ns2: 30, uu: 255.
    #[key(1..=255)]
    pub reply_ttl: u8,
    /// Largest random delay of a broadcast, s: under ns2 of forwarded ones, under uu of all. ns2: 0.01, uu: 0.02.
    #[key(JITTER)]
    pub jitter: Duration,
    /// Longest distance of a destination for the local repair of RFC 3561, hops. ns2: 9, uu: 10.
    #[key(1..=255)]
    pub max_repair_ttl: u8,
    /// Mean interval between HELLO messages, s. Both presets: 1.
    #[key(0.1..=1000.0)]
    pub hello_interval: Duration,
    /// HELLO jitter, s: each interval is drawn uniformly from `hello_interval` plus or minus this. ns2: 0.25, uu: 0.
    #[key(JITTER)]
    pub hello_jitter: Duration,
    /// Time after the last message of a neighbour at which its link counts as lost, s. ns2: 4.5, uu: 2.05.
    #[key(TIMEOUT)]
    pub neighbour_life: Duration,
    /// Number of packets that may wait for routes. ns2: 64, uu: 512.
    #[key(1..=100_000)]
    pub buffer_packets: usize,
    /// Longest wait of a packet for a route, s. ns2: 30, uu: 10.
    #[key(TIMEOUT)]
    pub buffer_life: Duration,
    /// Interval between buffered packets that leave after a route was found, s. ns2: 0.01, uu: 0.005.
    #[key(JITTER)]
    pub release_spacing: Duration,
}

impl Config {
    /// The values of a preset.
    pub const fn new(preset: Preset, link_failure: LinkFailure) -> Self {
        match preset {
            Preset::Ns2 => Self::ns2(link_failure),
            Preset::Uu => Self::uu(link_failure),
        }
    }

    /// Parameters for real hosts, whose traffic flows in both directions and whose kernels do not return undelivered
    /// packets to the agent.
    pub const fn for_hosts() -> Self {
        Self { gratuitous_replies: true, ..Self::uu(LinkFailure::Hello) }
    }

    const fn ns2(link_failure: LinkFailure) -> Self {
        Self {
            preset: Preset::Ns2,
            link_failure,
            expanding_ring: true,
            local_repair: LocalRepair::Ns2,
            gratuitous_replies: false,
            destination_only: false,
            active_route_timeout: Duration::from_secs(10),
            my_route_timeout: Duration::from_secs(10),
            reverse_route_life: Duration::from_secs(6),
            reverse_life_per_hop: Duration::ZERO,
            request_id_life: Duration::from_secs(6),
            delete_period: None,
            ttl_start: 5,
            ttl_increment: 2,
            ttl_threshold: 7,
            net_diameter: 30,
            node_traversal: Duration::from_millis(30),
            timeout_buffer: 0,
            network_wide_requests: 4,
            max_wait: Duration::from_secs(10),
            tick: Some(Duration::from_millis(500)),
            hello_interval: Duration::from_secs(1),
            hello_jitter: Duration::from_millis(250),
            neighbour_life: Duration::from_millis(4500),
            buffer_packets: 64,
            buffer_life: Duration::from_secs(30),
            release_spacing: Duration::from_millis(10),
            jitter: Duration::from_millis(10),
            rate_limit: None,
            reply_ttl: 30,
            max_repair_ttl: 9,
        }
    }

    const fn uu(link_failure: LinkFailure) -> Self {
        let (active, ttl_start, delete) = match link_failure {
            LinkFailure::Mac => (Duration::from_secs(10), 1, Duration::from_secs(10)),
            LinkFailure::Hello => (Duration::from_secs(3), 2, Duration::from_secs(15)),
        };
        Self {
            preset: Preset::Uu,
            link_failure,
            expanding_ring: true,
            local_repair: LocalRepair::Off,
            // DEVIATION aodv-8: Requests have the flag G only with `gratuitous_replies`. AODV-UU sets G for TCP
            // although gratuitous replies are off, which causes one reply more.
            gratuitous_replies: false,
            destination_only: false,
            active_route_timeout: active,
            my_route_timeout: Duration::from_nanos(2 * active.as_nanos()),
            reverse_route_life: Duration::from_millis(5600),
            reverse_life_per_hop: Duration::from_millis(80),
            request_id_life: Duration::from_millis(5600),
            delete_period: Some(delete),
            ttl_start,
            ttl_increment: 2,
            ttl_threshold: 7,
            net_diameter: 35,
            node_traversal: Duration::from_millis(40),
            timeout_buffer: 2,
            network_wide_requests: 2,
            max_wait: Duration::MAX,
            // DEVIATION aodv-7: Old packets are dropped on time. AODV-UU checks once a second, so that packets in
            // multihop are dropped up to 1 s earlier.
            tick: None,
            hello_interval: Duration::from_secs(1),
            hello_jitter: Duration::ZERO,
            neighbour_life: Duration::from_millis(2050),
            buffer_packets: 512,
            buffer_life: Duration::from_secs(10),
            release_spacing: Duration::from_millis(5),
            jitter: Duration::from_millis(20),
            rate_limit: Some(10),
            reply_ttl: 255,
            max_repair_ttl: 10,
        }
    }

    /// Instant at which an event that is due at `at` is handled.
    pub(super) fn on_tick(&self, at: Instant) -> Instant {
        self.tick.map_or(at, |tick| {
            let ticks = at.as_nanos().div_ceil(tick.as_nanos());
            Instant::from_nanos(ticks.saturating_mul(tick.as_nanos()))
        })
    }
}

impl Config {
    /// Sets the defaults of all other keys from the preset.
    fn take_preset(&mut self, _: &mut dyn Visitor) {
        *self = Self::new(self.preset, self.link_failure);
    }

    fn check_repair(&self, keys: &mut dyn Visitor) {
        if self.local_repair != LocalRepair::Off && self.link_failure == LinkFailure::Hello {
            let message = "local repair needs the packet that the MAC could not deliver, allowed with link_failure = \"mac\"";
            keys.refuse("local_repair", message.into());
        }
    }

    fn check_wait(&self, keys: &mut dyn Visitor) {
        if self.preset == Preset::Uu {
            let found = self.max_wait.as_secs_f64();
            keys.refuse("max_wait", format!("found {found}, allowed with preset = \"ns2\""));
        }
    }

    fn check(&self, keys: &mut dyn Visitor) {
        if self.hello_jitter >= self.hello_interval {
            let (found, most) = (self.hello_jitter.as_secs_f64(), self.hello_interval.as_secs_f64());
            keys.refuse("hello_jitter", format!("found {found}, allowed: less than hello_interval, {most}"));
        }
        if self.neighbour_life <= self.hello_interval {
            let (found, least) = (self.neighbour_life.as_secs_f64(), self.hello_interval.as_secs_f64());
            keys.refuse(
                "neighbour_life",
                format!("found {found}, allowed: more than hello_interval, {least}"),
            );
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new(Preset::Ns2, LinkFailure::Mac)
    }
}

impl Preset {
    /// Accounted bytes of the IP packet that carries a message in the simulator of this preset: an
    /// IP header, no UDP header, and in `ns2` 4 bytes for the time stamp in requests and replies.
    pub const fn accounted_len(self, message: &Message) -> usize {
        let stamp = match (self, message) {
            (Self::Ns2, Message::Request(_) | Message::Reply(_)) => 4,
            _ => 0,
        };
        IP_HEADER + message.wire_len() + stamp
    }
}

const IP_HEADER: usize = 20;
