//! The parameters of DSR (RFC 4728 §9) and their keys.

use alloc::format;

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};

use crate::settings::{JITTER, TIMEOUT};

/// The parameters of an agent. The default is DSR as in the CMU extensions to ns-2, without flow
/// state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Config {
    /// Send the first request of a search to the neighbours only (non-propagating request).
    pub ring0: bool,
    /// How long to wait for a reply from the neighbours.
    pub ring0_timeout: Duration,
    /// Unit of the back-off between searches for one target: 4, 16, ... periods.
    pub request_period: Duration,
    /// The longest back-off between searches.
    pub rreq_backoff_max: Duration,
    /// Requests, and replies of the target, are delayed at random by up to this.
    pub broadcast_jitter: Duration,
    /// Reply to the requests of others from the cache. Otherwise non-propagating requests find only
    /// neighbours, so that `ring0 = false` suits it.
    pub cache_replies: bool,
    /// Remove a path this long after it was last learned; `None`: never.
    pub cache_timeout: Option<Duration>,
    /// Ignore a link for this long after it was reported broken; `None`: the negative cache is off.
    pub negative_cache: Option<Duration>,
    /// Capacity of the primary part of the cache, in paths.
    pub primary_cache: usize,
    /// Capacity of the secondary part, in paths.
    pub secondary_cache: usize,
    /// Learn from overheard and forwarded packets.
    pub snoop: bool,
    /// Send a gratuitous reply to the source of an overheard packet if its path could be shorter.
    pub gratuitous: bool,
    /// Salvage the packets of others after a link failure.
    pub salvage: bool,
    /// Limit of salvages of one packet, at most 15.
    pub salvage_limit: u8,
    /// Capacity of the send buffer, for all destinations together.
    pub buffer_packets: usize,
    /// How long a packet may wait.
    pub buffer_time: Duration,
    /// Interval between packets that leave the send buffer: address resolution holds only one.
    pub release_gap: Duration,
}

impl Settings for Config {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Whether requests for others are answered from the cache.";
        if keys.about(about).switch("cache_replies", &mut self.cache_replies) {
            self.ring0 = self.cache_replies;
        }
        let about = "Whether the neighbours alone are asked first; if not given, as cache_replies, since without \
                     these the neighbours can only reply for themselves.";
        keys.about(about).switch("ring0", &mut self.ring0);
        self.search_keys(keys);
        self.cache_keys(keys);
        self.packet_keys(keys);
    }
}

impl Config {
    fn search_keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("How long to wait for replies from the neighbours, s.").seconds(
            "ring0_timeout",
            &mut self.ring0_timeout,
            TIMEOUT,
        );
        keys.about(
            "Unit of the back-off between searches for one target, s; the back-off is 4, 16, ... units.",
        )
        .seconds("request_period", &mut self.request_period, TIMEOUT);
        keys.about("The longest back-off between searches, s.").seconds(
            "rreq_backoff_max",
            &mut self.rreq_backoff_max,
            TIMEOUT,
        );
        keys.about("Requests, and replies of the target, wait for a random time below this, s.").seconds(
            "broadcast_jitter",
            &mut self.broadcast_jitter,
            JITTER,
        );
        if self.rreq_backoff_max < self.request_period {
            let (found, least) = (self.rreq_backoff_max.as_secs_f64(), self.request_period.as_secs_f64());
            keys.refuse(
                "rreq_backoff_max",
                format!("found {found}, allowed: at least request_period, {least}"),
            );
        }
    }

    fn cache_keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("A path is forgotten this long after it was last learnt, s.").seconds_or_off(
            "cache_timeout",
            &mut self.cache_timeout,
            TIMEOUT,
        );
        keys.about("A link that was reported broken is ignored for this long, s.").seconds_or_off(
            "negative_cache",
            &mut self.negative_cache,
            TIMEOUT,
        );
        keys.about("Capacity of the cache for paths that were requested or used.").whole(
            "primary_cache",
            &mut self.primary_cache,
            1..=10_000,
        );
        keys.about("Capacity of the cache for overheard paths.").whole(
            "secondary_cache",
            &mut self.secondary_cache,
            1..=10_000,
        );
        keys.about("Whether nodes learn from packets that they overhear or forward.")
            .switch("snoop", &mut self.snoop);
        keys.about("Whether the source of an overheard packet is informed when the path could be shorter.")
            .switch("gratuitous", &mut self.gratuitous);
    }

    fn packet_keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Whether packets of other nodes are salvaged after a link failure.")
            .switch("salvage", &mut self.salvage);
        keys.about("How often one packet may be salvaged.").whole(
            "salvage_limit",
            &mut self.salvage_limit,
            0..=15,
        );
        keys.about("Number of packets that may wait for a path.").whole(
            "buffer_packets",
            &mut self.buffer_packets,
            1..=100_000,
        );
        keys.about("How long each packet may wait, s.").seconds(
            "buffer_time",
            &mut self.buffer_time,
            TIMEOUT,
        );
        keys.about("Interval between buffered packets that leave after a path was found, s.").seconds(
            "release_gap",
            &mut self.release_gap,
            JITTER,
        );
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ring0: true,
            ring0_timeout: Duration::from_millis(30),
            request_period: Duration::from_millis(500),
            rreq_backoff_max: Duration::from_secs(10),
            broadcast_jitter: Duration::from_millis(10),
            cache_replies: true,
            cache_timeout: None,
            negative_cache: None,
            primary_cache: 30,
            secondary_cache: 64,
            snoop: true,
            gratuitous: true,
            salvage: true,
            salvage_limit: 15,
            buffer_packets: 64,
            buffer_time: Duration::from_secs(30),
            release_gap: Duration::from_millis(30),
        }
    }
}
