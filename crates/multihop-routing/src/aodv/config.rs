use multihop_core::{Duration, Instant};
use multihop_wire::aodv::Message;

/// Whose AODV it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Preset {
    /// The agent of ns-2.35.
    Ns2,
    /// AODV-UU 0.9 as ported to ns-2.
    Uu,
}

/// How broken links are found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkFailure {
    /// The MAC reports a packet that it could not deliver. No HELLOs are sent.
    Mac,
    /// HELLOs are missing. What the MAC reports is not listened to.
    Hello,
}

/// What a node inside a route does when its link breaks; needs [`LinkFailure::Mac`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LocalRepair {
    /// It reports the error.
    Off,
    /// It looks for a new way once, and reports the error if it finds none (RFC 3561, section 6.12).
    Rfc,
    /// It looks for a new way if the packet has come more than half of its way, and never reports.
    Ns2,
}

/// Parameters of AODV; [`Config::new`] has the values of a preset.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Decides what numbers cannot: see `docs/models/aodv.md`.
    pub preset: Preset,
    /// How broken links are found.
    pub link_failure: LinkFailure,
    /// Whether requests reach further step by step (else all reach the whole network).
    pub expanding_ring: bool,
    /// What a node inside a route does when its link breaks.
    pub local_repair: LocalRepair,
    /// Whether own requests ask that the destination be told when another node answers (G).
    pub gratuitous_replies: bool,
    /// Whether only destinations may answer own requests (D).
    pub destination_only: bool,
    /// A route lives this long after its last use.
    pub active_route_timeout: Duration,
    /// Lifetime that a destination puts into its replies.
    pub my_route_timeout: Duration,
    /// A route to the originator of a request lives this long after the request,
    pub reverse_route_life: Duration,
    /// less this for each hop.
    pub reverse_life_per_hop: Duration,
    /// A request is recognised for this long.
    pub request_id_life: Duration,
    /// The hop count of a route is forgotten this long after the route; `None`: never.
    pub delete_period: Option<Duration>,
    /// TTL of the first request for an unknown destination.
    pub ttl_start: u8,
    /// What the next one adds.
    pub ttl_increment: u8,
    /// A request that had at least this TTL is followed by one for the whole network.
    pub ttl_threshold: u8,
    /// TTL of a request for the whole network.
    pub net_diameter: u8,
    /// Expected time from node to node.
    pub node_traversal: Duration,
    /// Hops that are added to the TTL when the wait for a reply is computed.
    pub timeout_buffer: u8,
    /// Requests for the whole network before a destination is given up (in `uu` the ones after the
    /// first request of all).
    pub network_wide_requests: u8,
    /// `ns2`: the longest wait for a reply, and the pause after a destination was given up.
    pub max_wait: Duration,
    /// Routes expire, packets time out and requests are repeated at multiples of this; `None`: on time.
    pub tick: Option<Duration>,
    /// Time between HELLOs,
    pub hello_interval: Duration,
    /// more or less up to this.
    pub hello_jitter: Duration,
    /// A neighbour is lost this long after it was last heard.
    pub neighbour_life: Duration,
    /// Packets that may wait for routes.
    pub buffer_packets: usize,
    /// How long each may.
    pub buffer_life: Duration,
    /// Packets that waited leave this far apart.
    pub release_spacing: Duration,
    /// Broadcasts are held back by up to this: in `ns2` forwarded ones, in `uu` all.
    pub jitter: Duration,
    /// Requests, and errors, in any second; one less is let through, as in AODV-UU.
    pub rate_limit: Option<u8>,
    /// TTL of replies.
    pub reply_ttl: u8,
    /// [`LocalRepair::Rfc`] is tried for destinations up to this many hops away.
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
            // DEVIATION aodv-8: AODV-UU asks for them where the packet carries TCP.
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
            // DEVIATION aodv-7: AODV-UU looks for packets that have timed out once a second.
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

    /// When something that falls due at `at` is looked at.
    pub(super) fn on_tick(&self, at: Instant) -> Instant {
        self.tick.map_or(at, |tick| {
            let ticks = at.as_nanos().div_ceil(tick.as_nanos());
            Instant::from_nanos(ticks.saturating_mul(tick.as_nanos()))
        })
    }
}

impl Preset {
    /// Bytes of the IP packet that a message makes in the simulator this preset follows: an IP
    /// header, no UDP header, and in `ns2` 4 bytes for the time stamp in requests and replies.
    pub const fn accounted_len(self, message: &Message) -> usize {
        let stamp = match (self, message) {
            (Self::Ns2, Message::Request(_) | Message::Reply(_)) => 4,
            _ => 0,
        };
        IP_HEADER + message.wire_len() + stamp
    }
}

const IP_HEADER: usize = 20;
