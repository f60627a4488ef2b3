//! Times and limits of a lifecycle, with the keys that all transports with a lifecycle have.

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};

use crate::settings::TIMEOUT;

/// Times and limits of a lifecycle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Config {
    /// Time after which an unanswered SYN is retransmitted; it doubles with each retransmission.
    pub syn_wait: Duration,
    /// Upper bound of the doubled time; `None` for the longest timeout of the transport. `syn_wait` itself may be longer.
    pub syn_wait_max: Option<Duration>,
    /// Retransmissions of a SYN before opening fails; `None` for no limit.
    pub syn_retries: Option<u8>,
    /// Silence of the peer after which a keepalive is sent; `None` for no keepalives.
    pub keepalive: Option<Duration>,
    /// Time without an answer to data, FIN or keepalive after which the connection is aborted; `None` for no limit.
    pub user_timeout: Option<Duration>,
    /// Time for which late segments are answered after both sides have closed.
    pub linger: Duration,
}

impl Config {
    /// The values of transports in simulations, without a limit of SYNs.
    pub const USUAL: Self = Self {
        syn_wait: Duration::from_secs(1),
        syn_wait_max: None,
        syn_retries: None,
        keepalive: None,
        user_timeout: Some(Duration::from_secs(300)),
        linger: Duration::from_secs(120),
    };

    /// The configuration for a transport with this longest timeout.
    #[must_use]
    pub fn with_longest(self, timeout: Duration) -> Self {
        Self { syn_wait_max: self.syn_wait_max.or(Some(timeout)), ..self }
    }

    /// The configuration with every time within the bounds of timers: one of zero would expire again and again at one instant.
    pub(crate) fn in_bounds(self) -> Self {
        let at_least = |wait: Duration| wait.max(Duration::from_micros(1));
        Self {
            syn_wait: at_least(self.syn_wait),
            linger: at_least(self.linger),
            keepalive: self.keepalive.map(at_least),
            user_timeout: self.user_timeout.map(at_least),
            ..self
        }
    }
}

impl Settings for Config {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Wait for the answer to the first SYN, s; it doubles with each try, up to rto_max.")
            .seconds("syn_wait", &mut self.syn_wait, TIMEOUT);
        keys.about("The connection is aborted after this many retransmitted SYNs.").whole_or_off(
            "syn_retries",
            &mut self.syn_retries,
            0..=255,
        );
        keys.about("How long a closed connection answers late segments, s.").seconds(
            "linger",
            &mut self.linger,
            0.0..=1e9,
        );
        keys.about("A peer that has been silent for this long is probed, s.").seconds_or_off(
            "keepalive",
            &mut self.keepalive,
            TIMEOUT,
        );
        keys.about("The connection is aborted after this long without an answer, s.").seconds_or_off(
            "user_timeout",
            &mut self.user_timeout,
            TIMEOUT,
        );
    }
}
