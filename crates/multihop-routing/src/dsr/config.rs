//! The parameters of DSR (RFC 4728 §9) and their keys.

use alloc::format;

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};

use crate::settings::{JITTER, TIMEOUT};

/// The parameters of an agent. The default is DSR as in the CMU extensions to ns-2, without flow
/// state.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct Config {
    /// Whether requests for others are answered from the cache.
    #[key(then = Self::follow_replies)]
    pub cache_replies: bool,
    /// Whether the first request of a search goes to the neighbours only (non-propagating request); if not given, as
    /// `cache_replies`, because without replies from caches it finds only neighbours.
    #[key]
    pub ring0: bool,
    /// Wait for replies from the neighbours, s.
    #[key(TIMEOUT)]
    pub ring0_timeout: Duration,
    /// Unit of the back-off between searches for one target, s; the back-off is 4, 16, ... units.
    #[key(TIMEOUT)]
    pub request_period: Duration,
    /// Longest back-off between searches, s.
    #[key(TIMEOUT)]
    pub rreq_backoff_max: Duration,
    /// Largest random delay of requests, and of the target's replies, s.
    #[key(JITTER)]
    pub broadcast_jitter: Duration,
    /// Time after which a path is forgotten that was not learnt again, s; off: never.
    #[key(TIMEOUT, off)]
    pub cache_timeout: Option<Duration>,
    /// Time for which a link is ignored after it was reported broken, s; off: links are not ignored.
    #[key(TIMEOUT, off)]
    pub negative_cache: Option<Duration>,
    /// Capacity of the cache for paths that were requested or used, in paths.
    #[key(1..=10_000)]
    pub primary_cache: usize,
    /// Capacity of the cache for overheard paths, in paths.
    #[key(1..=10_000)]
    pub secondary_cache: usize,
    /// Whether nodes learn from packets that they overhear or forward.
    #[key]
    pub snoop: bool,
    /// Whether the source of an overheard packet is informed when the path could be shorter (gratuitous reply).
    #[key]
    pub gratuitous: bool,
    /// Whether packets of other nodes are salvaged after a link failure.
    #[key]
    pub salvage: bool,
    /// Limit of salvages of one packet.
    #[key(0..=15)]
    pub salvage_limit: u8,
    /// Number of packets that may wait for a path, for all destinations together.
    #[key(1..=100_000)]
    pub buffer_packets: usize,
    /// Longest wait of a packet for a path, s.
    #[key(TIMEOUT)]
    pub buffer_time: Duration,
    /// Interval between buffered packets that leave after a path was found, s.
    ///
    /// Address resolution holds only one packet.
    #[key(JITTER)]
    pub release_gap: Duration,
}

impl Config {
    fn follow_replies(&mut self, _: &mut dyn Visitor) {
        self.ring0 = self.cache_replies;
    }

    fn check(&self, keys: &mut dyn Visitor) {
        if self.rreq_backoff_max < self.request_period {
            let (found, least) = (self.rreq_backoff_max.as_secs_f64(), self.request_period.as_secs_f64());
            keys.refuse(
                "rreq_backoff_max",
                format!("found {found}, allowed: at least request_period, {least}"),
            );
        }
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
