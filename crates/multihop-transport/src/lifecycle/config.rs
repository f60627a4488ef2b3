//! Times and limits of a lifecycle, with the keys that all transports with a lifecycle have.

use multihop_core::Duration;
use multihop_core::settings::Settings;

use crate::settings::TIMEOUT;

/// Times and limits of a lifecycle.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
pub struct Config {
    /// Time after which an unanswered SYN is retransmitted, s; it doubles with each retransmission, up to `rto_max`.
    #[key(TIMEOUT)]
    pub syn_wait: Duration,
    /// Longest time between retransmissions of a SYN, except that `syn_wait` itself may be longer; `None` for the longest timeout of
    /// the transport.
    pub syn_wait_max: Option<Duration>,
    /// Limit of retransmissions of a SYN before opening fails; off: no limit.
    #[key(0..=255, off)]
    pub syn_retries: Option<u8>,
    /// Time for which a closed connection answers late segments, s.
    #[key(0.0..=1e9)]
    pub linger: Duration,
    /// Silence of the peer after which a keepalive is sent, s; off: no keepalives.
    #[key(TIMEOUT, off)]
    pub keepalive: Option<Duration>,
    /// Time without an answer to data, FIN or keepalive after which the connection is aborted, s; off: no limit.
    #[key(TIMEOUT, off)]
    pub user_timeout: Option<Duration>,
}

impl Config {
    /// Usual values for simulations, without a limit on the number of SYNs.
    pub const USUAL: Self = Self {
        syn_wait: Duration::from_secs(1),
        syn_wait_max: None,
        syn_retries: None,
        keepalive: None,
        user_timeout: Some(Duration::from_secs(300)),
        linger: Duration::from_secs(120),
    };

    /// Copies the configuration with this longest timeout.
    #[must_use]
    pub fn with_longest(self, timeout: Duration) -> Self {
        Self { syn_wait_max: self.syn_wait_max.or(Some(timeout)), ..self }
    }

    /// Copies the configuration with every time within the bounds of timers: a timer of zero would expire
    /// endlessly at one instant.
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
