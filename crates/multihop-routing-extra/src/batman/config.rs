//! The parameters of B.A.T.M.A.N. IV and their keys.

use multihop_core::Duration;
use multihop_core::settings::Settings;
use multihop_routing::settings::{JITTER, TIMEOUT};

/// The parameters of B.A.T.M.A.N. IV.
#[derive(Clone, Debug, PartialEq, Settings)]
pub struct Config {
    /// Time between a node's own originator messages, s.
    #[key(0.1..=100.0)]
    pub interval: Duration,
    /// Largest random shortening of an interval, by half at most, and longest wait of the messages of others, s.
    #[key(JITTER)]
    pub max_jitter: Duration,
    /// Part that each link subtracts from the quality of a path, of 255.
    #[key(0..=254)]
    pub hop_penalty: u8,
    /// Time after which a node is forgotten of which nothing was heard, s.
    #[key(TIMEOUT)]
    pub timeout: Duration,
    /// Whether an ICMP error informs the source of a packet without a route, if its transport handles such errors.
    #[key]
    pub tell_source: bool,
}

impl Default for Config {
    /// The values of the kernel's implementation.
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            max_jitter: Duration::from_millis(20),
            hop_penalty: 30,
            timeout: Duration::from_secs(200),
            tell_source: true,
        }
    }
}
