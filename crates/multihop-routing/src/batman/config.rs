//! The parameters of B.A.T.M.A.N. IV and their keys.

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};

use crate::settings::{JITTER, TIMEOUT};

/// The parameters of B.A.T.M.A.N. IV.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Time between a node's own originator messages.
    pub interval: Duration,
    /// Intervals are up to this much shorter, and messages of others wait up to this long, at random.
    pub max_jitter: Duration,
    /// What each link takes from the quality of a path, of 255.
    pub hop_penalty: u8,
    /// A node that was not heard of for this long is forgotten.
    pub timeout: Duration,
    /// Whether an ICMP error informs the source of a packet without a route.
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

impl Settings for Config {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Time between a node's own originator messages, s.").seconds(
            "interval",
            &mut self.interval,
            0.1..=100.0,
        );
        let about = "Intervals are up to this much shorter, at most by half, and messages of others wait up to this long, s.";
        keys.about(about).seconds("max_jitter", &mut self.max_jitter, JITTER);
        keys.about("What each link takes from the quality of a path, of 255.").whole(
            "hop_penalty",
            &mut self.hop_penalty,
            0..=254,
        );
        keys.about("A node that was not heard of for this long is forgotten, s.").seconds(
            "timeout",
            &mut self.timeout,
            TIMEOUT,
        );
        keys.about(
            "Whether an ICMP error informs the source of a packet without a route, if its transport handles such errors.",
        )
        .switch("tell_source", &mut self.tell_source);
    }
}
