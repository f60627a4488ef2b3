//! The options of a socket, and their defaults.

use std::io;

use multihop_apps::bridge::SecurityChoice;
use multihop_net::{Config, Transport, tpa};

/// The options of a socket.
#[derive(Clone, Debug)]
pub(crate) struct TpaOptions {
    pub(crate) choice: SecurityChoice,
    pub(crate) nonblocking: bool,
    /// Time for which closing waits for the peer, seconds.
    pub(crate) linger: i32,
    pub(crate) cwnd_max: Option<u8>,
}

impl Default for TpaOptions {
    fn default() -> Self {
        Self { choice: SecurityChoice::default(), nonblocking: false, linger: 60, cwnd_max: None }
    }
}

impl TpaOptions {
    /// The configuration of a connection or listener with these options.
    pub(crate) fn config(&self) -> io::Result<Config> {
        let mut config = self.choice.config()?;
        if let Some(cwnd_max) = self.cwnd_max {
            config.transport = Transport::tpa(tpa::Config { cwnd_max, ..tpa::Config::net() });
        }
        Ok(config)
    }
}
