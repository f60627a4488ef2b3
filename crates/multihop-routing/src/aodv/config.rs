//! The parameters of AODV (RFC 3561, section 10), their presets and their keys.

use alloc::format;

use multihop_core::settings::{Settings, Visitor};
use multihop_core::{Duration, Instant};
use multihop_wire::aodv::Message;

use crate::settings::{JITTER, TIMEOUT};

/// The implementation that the agent follows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Preset {
    /// The agent of ns-2.35.
    Ns2,
    /// AODV-UU 0.9 as ported to ns-2.
    Uu,
}

/// How link failures are detected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkFailure {
    /// The MAC reports packets that it could not deliver. No HELLOs are sent.
    Mac,
    /// A neighbour's HELLOs are missing. Reports of the MAC are ignored.
    Hello,
}

/// What a node on the path does when its link fails; needs [`LinkFailure::Mac`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LocalRepair {
    /// It sends a route error.
    Off,
    /// It searches for a new route once, and sends a route error if it finds none (RFC 3561,
    /// section 6.12).
    Rfc,
    /// It searches for a new route if the packet has crossed more than half of its path, and never
    /// sends a route error.
    Ns2,
}

/// Parameters of AODV; [`Config::new`] has the values of a preset.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Decides what the other parameters cannot express: see `docs/models/aodv.md`.
    pub preset: Preset,
    /// How link failures are detected.
    pub link_failure: LinkFailure,
    /// Whether route requests use an expanding ring search. Otherwise each reaches the whole
    /// network.
    pub expanding_ring: bool,
    /// What a node on the path does when its link fails.
    pub local_repair: LocalRepair,
    /// Whether this node's requests ask for gratuitous replies to the destination (flag G).
    pub gratuitous_replies: bool,
    /// Whether only the destination may reply to this node's requests (flag D).
    pub destination_only: bool,
    /// Lifetime of a route after its last use.
    pub active_route_timeout: Duration,
    /// Lifetime that a destination puts into its replies.
    pub my_route_timeout: Duration,
    /// Lifetime of a route to the originator of a request,
    pub reverse_route_life: Duration,
    /// minus this for each hop.
    pub reverse_life_per_hop: Duration,
    /// How long a request is recognised as a duplicate.
    pub request_id_life: Duration,
    /// How long the hop count of an invalid route is remembered; `None`: for ever.
    pub delete_period: Option<Duration>,
    /// TTL of the first request for an unknown destination.
    pub ttl_start: u8,
    /// Added to the TTL of each following request.
    pub ttl_increment: u8,
    /// After a request with at least this TTL, the next one reaches the whole network.
    pub ttl_threshold: u8,
    /// TTL of a request for the whole network.
    pub net_diameter: u8,
    /// Expected time to cross one hop.
    pub node_traversal: Duration,
    /// Hops added to the TTL when the wait for a reply is computed.
    pub timeout_buffer: u8,
    /// Network-wide requests before the search ends without success (in `uu`, not counting the first
    /// request).
    pub network_wide_requests: u8,
    /// `ns2`: the longest wait for a reply, and the pause after a search without success.
    pub max_wait: Duration,
    /// Routes expire, packets time out and requests are repeated at multiples of this; `None`:
    /// exactly on time.
    pub tick: Option<Duration>,
    /// Interval between HELLOs,
    pub hello_interval: Duration,
    /// plus or minus up to this.
    pub hello_jitter: Duration,
    /// A neighbour is lost this long after its last HELLO or message.
    pub neighbour_life: Duration,
    /// Packets that may wait for routes.
    pub buffer_packets: usize,
    /// How long each packet may wait.
    pub buffer_life: Duration,
    /// Interval between the packets of the buffer that leave after a route was found.
    pub release_spacing: Duration,
    /// Broadcasts are delayed at random by up to this: in `ns2` forwarded ones, in `uu` all.
    pub jitter: Duration,
    /// Limit of requests, and of errors, in any second; one less is sent, as in AODV-UU.
    pub rate_limit: Option<u8>,
    /// TTL of replies.
    pub reply_ttl: u8,
    /// [`LocalRepair::Rfc`] applies to destinations up to this many hops away.
    pub max_repair_ttl: u8,
}

impl Config {
    /// The values of a preset.
    pub const fn new(preset: Preset, link_failure: LinkFailure) -> Self {
        match preset {
            Preset::Ns2 => Self::ns2(link_failure),
            Preset::Uu => Self::uu(link_failure),
        }
    }

    /// The values for real hosts, whose traffic goes both ways and whose kernels do not give back what is lost.
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
            // DEVIATION aodv-8: AODV-UU asks for them if the packet carries TCP.
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
            // DEVIATION aodv-7: AODV-UU checks once a second for packets that have timed out.
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

    /// When an event that is due at `at` is handled.
    pub(super) fn on_tick(&self, at: Instant) -> Instant {
        self.tick.map_or(at, |tick| {
            let ticks = at.as_nanos().div_ceil(tick.as_nanos());
            Instant::from_nanos(ticks.saturating_mul(tick.as_nanos()))
        })
    }
}

impl Settings for Config {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        self.preset_keys(keys);
        self.repair_key(keys);
        self.route_keys(keys);
        self.search_keys(keys);
        self.message_keys(keys);
        self.hello_keys(keys);
        self.buffer_keys(keys);
    }
}

impl Config {
    /// The two keys that decide the defaults of all others.
    fn preset_keys(&mut self, keys: &mut dyn Visitor) {
        let presets = [("ns2", Preset::Ns2), ("uu", Preset::Uu)];
        let about = "Implementation: ns2 is the agent of ns-2.35, uu is AODV-UU 0.9.";
        let preset = keys.about(about).choice("preset", Some("ns2"), &presets);
        let failures = [("mac", LinkFailure::Mac), ("hello", LinkFailure::Hello)];
        let about = "How link failures are detected: the MAC gives up on a packet, or HELLOs are missing.";
        let link_failure = keys.about(about).choice("link_failure", Some("mac"), &failures);
        if preset.is_some() || link_failure.is_some() {
            *self = Self::new(preset.unwrap_or(self.preset), link_failure.unwrap_or(self.link_failure));
        }
    }

    fn repair_key(&mut self, keys: &mut dyn Visitor) {
        let repairs = [("off", LocalRepair::Off), ("rfc", LocalRepair::Rfc), ("ns2", LocalRepair::Ns2)];
        let about = "What a node inside a route does when its link breaks: report it; look for a new route once \
                     (RFC 3561); or look for one if the packet has come more than half of its way, and never \
                     report (ns2). Not with link_failure = hello. ns2: ns2, uu: off.";
        if keys.about(about).word("local_repair", &mut self.local_repair, &repairs)
            && self.local_repair != LocalRepair::Off
            && self.link_failure == LinkFailure::Hello
        {
            let message = "local repair needs the packet that the MAC could not deliver, allowed with link_failure = \"mac\"";
            keys.refuse("local_repair", message.into());
        }
    }

    fn route_keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("A route lives this long after its last use, s. 10; uu with hello: 3.").seconds(
            "active_route_timeout",
            &mut self.active_route_timeout,
            TIMEOUT,
        );
        keys.about("Lifetime that a destination puts into its replies, s. ns2: 10, uu: 20, with hello 6.")
            .seconds("my_route_timeout", &mut self.my_route_timeout, TIMEOUT);
        keys.about("A route to the originator of a request lives this long after it, s. ns2: 6, uu: 5.6.")
            .seconds("reverse_route_life", &mut self.reverse_route_life, TIMEOUT);
        keys.about("Each hop shortens that by this, s. ns2: 0, uu: 0.08.").seconds(
            "reverse_life_per_hop",
            &mut self.reverse_life_per_hop,
            JITTER,
        );
        keys.about("The hop count of a route is forgotten this long after the route, s. ns2: off, uu: 10, with hello 15.").seconds_or_off("delete_period", &mut self.delete_period, TIMEOUT);
        keys.about("Timers expire at multiples of this, s; with off exactly on time. ns2: 0.5, uu: off.")
            .seconds_or_off("tick", &mut self.tick, 0.000_001..=10.0);
    }

    fn search_keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Whether requests use an expanding ring search. Both presets: true.")
            .switch("expanding_ring", &mut self.expanding_ring);
        keys.about("Whether the destination is informed when another node replies. Both presets: false.")
            .switch("gratuitous_replies", &mut self.gratuitous_replies);
        keys.about("Whether only destinations may reply. Both presets: false.")
            .switch("destination_only", &mut self.destination_only);
        keys.about("A request is recognised as a duplicate for this long, s. ns2: 6, uu: 5.6.").seconds(
            "request_id_life",
            &mut self.request_id_life,
            TIMEOUT,
        );
        keys.about("TTL of the first request for an unknown destination. ns2: 5, uu: 1, with hello 2.")
            .whole("ttl_start", &mut self.ttl_start, 1..=255);
        keys.about("Each further request adds this to the TTL. Both presets: 2.").whole(
            "ttl_increment",
            &mut self.ttl_increment,
            1..=127,
        );
        keys.about(
            "A request that had at least this TTL is followed by one for the whole network. Both presets: 7.",
        )
        .whole("ttl_threshold", &mut self.ttl_threshold, 1..=128);
        keys.about("TTL of a request for the whole network. ns2: 30, uu: 35.").whole(
            "net_diameter",
            &mut self.net_diameter,
            1..=255,
        );
        keys.about("Expected time to cross one hop, s. ns2: 0.03, uu: 0.04.").seconds(
            "node_traversal",
            &mut self.node_traversal,
            TIMEOUT,
        );
        keys.about("Hops added to the TTL when the wait for a reply is computed, under uu. 2.").whole(
            "timeout_buffer",
            &mut self.timeout_buffer,
            0..=255,
        );
        keys.about(
            "The search for a destination ends after this many requests for the whole network. ns2: 4, uu: 2.",
        )
        .whole("network_wide_requests", &mut self.network_wide_requests, 1..=100);
        let about = "The longest wait for a reply, and the pause after a search without success, s; under ns2 only. 10.";
        if keys.about(about).seconds("max_wait", &mut self.max_wait, TIMEOUT) && self.preset == Preset::Uu {
            let found = self.max_wait.as_secs_f64();
            keys.refuse("max_wait", format!("found {found}, allowed with preset = \"ns2\""));
        }
    }

    fn message_keys(&mut self, keys: &mut dyn Visitor) {
        keys.about(
            "Limit of requests, and of errors, in any second; one less than this is sent. ns2: off, uu: 10.",
        )
        .whole_or_off("rate_limit", &mut self.rate_limit, 2..=255);
        keys.about("TTL of replies. ns2: 30, uu: 255.").whole("reply_ttl", &mut self.reply_ttl, 1..=255);
        keys.about("Broadcasts are delayed by up to this, s: under ns2 forwarded ones, under uu all. ns2: 0.01, uu: 0.02.").seconds("jitter", &mut self.jitter, JITTER);
        keys.about("The local repair of RFC 3561 is tried for destinations up to this many hops away. ns2: 9, uu: 10.").whole("max_repair_ttl", &mut self.max_repair_ttl, 1..=255);
    }

    fn hello_keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Time between HELLOs, s. Both presets: 1.").seconds(
            "hello_interval",
            &mut self.hello_interval,
            0.1..=1000.0,
        );
        keys.about("HELLOs are earlier or later by up to this, s. ns2: 0.25, uu: 0.").seconds(
            "hello_jitter",
            &mut self.hello_jitter,
            JITTER,
        );
        keys.about("A neighbour is considered lost this long after its last message, s. ns2: 4.5, uu: 2.05.")
            .seconds("neighbour_life", &mut self.neighbour_life, TIMEOUT);
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

    fn buffer_keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Number of packets that may wait for routes. ns2: 64, uu: 512.").whole(
            "buffer_packets",
            &mut self.buffer_packets,
            1..=100_000,
        );
        keys.about("How long each packet may wait, s. ns2: 30, uu: 10.").seconds(
            "buffer_life",
            &mut self.buffer_life,
            TIMEOUT,
        );
        keys.about(
            "Interval between buffered packets that leave after a route was found, s. ns2: 0.01, uu: 0.005.",
        )
        .seconds("release_spacing", &mut self.release_spacing, JITTER);
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
