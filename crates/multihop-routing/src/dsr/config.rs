use multihop_core::Duration;

/// The parameters of an agent. The default is DSR as in the CMU extensions to ns-2, without flow
/// state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Config {
    /// Ask the neighbours alone first.
    pub ring0: bool,
    /// How long the neighbours have to answer.
    pub ring0_timeout: Duration,
    /// The unit of the gaps between searches for one target: 4, 16, ... of it.
    pub request_period: Duration,
    /// The longest gap between searches.
    pub rreq_backoff_max: Duration,
    /// Requests, and replies of the target, wait for a random time below this.
    pub broadcast_jitter: Duration,
    /// Answer requests for others from the cache. Without it ring-0 searches find neighbours only,
    /// so that `ring0 = false` goes with it.
    pub cache_replies: bool,
    /// Forget a way this long after it was last learnt.
    pub cache_timeout: Option<Duration>,
    /// Learn nothing for this long about a link that was reported broken.
    pub negative_cache: Option<Duration>,
    /// Ways that were asked for or used, at most.
    pub primary_cache: usize,
    /// Ways that were overheard, at most.
    pub secondary_cache: usize,
    /// Learn from packets that are overheard or forwarded.
    pub snoop: bool,
    /// Tell the source of an overheard packet when the way could be shorter.
    pub gratuitous: bool,
    /// Send packets of others that met a broken link another way.
    pub salvage: bool,
    /// How often one packet may be salvaged, at most 15.
    pub salvage_limit: u8,
    /// Packets that may wait for a way, for all destinations together.
    pub buffer_packets: usize,
    /// How long a packet may wait.
    pub buffer_time: Duration,
    /// Packets that have waited leave at this distance: address resolution holds only one.
    pub release_gap: Duration,
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
