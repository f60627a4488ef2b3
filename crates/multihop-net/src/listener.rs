//! Accepting connections as a tokio listener.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::config::{Config, Security};
use crate::driver::SharedHub;
use crate::keys::PublicKey;
use crate::stream::Stream;

/// Accepts connections on one UDP socket.
///
/// Dropping it stops listening; accepted connections continue.
#[derive(Debug)]
pub struct Listener {
    shared: Arc<SharedHub>,
    is_plain: bool,
    key: Option<PublicKey>,
}

impl Listener {
    /// Opens the socket and listens.
    #[expect(clippy::unused_async, reason = "it must run inside a runtime, and may resolve names later")]
    pub async fn bind(addr: SocketAddr, config: Config) -> io::Result<Self> {
        config.security.check_listener()?;
        let (shared, ()) = SharedHub::start(addr, &config, |hub| {
            hub.listen();
            Ok(())
        })?;
        let is_plain = matches!(config.security, Security::Plain);
        Ok(Self { shared, is_plain, key: config.security.key() })
    }

    /// Whether peers are not authenticated.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Waits for the next connection.
    pub async fn accept(&self) -> io::Result<Stream> {
        loop {
            let incoming = self.shared.incoming.notified();
            {
                let mut state = self.shared.lock();
                if let Some(id) = state.hub.accept() {
                    self.shared.kick();
                    return Ok(Stream::new(Arc::clone(&self.shared), &state, id));
                }
                if state.is_dead {
                    return Err(io::Error::new(
                        io::ErrorKind::NotConnected,
                        "the runtime of this listener has ended",
                    ));
                }
            }
            incoming.await;
        }
    }

    /// Replaces the keys: this end's own, a shared one, and those of the callers that may connect. Connections of callers whose
    /// key is no longer accepted are aborted; returns how many there were. The security mode, the transport and the limits
    /// stay as they are.
    pub fn set_keys(&self, config: &Config) -> io::Result<usize> {
        config.security.check_listener()?;
        if config.security.key().is_none() || self.key.is_none() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "keys can only be replaced at a listener that was opened with keys",
            ));
        }
        let mut state = self.shared.lock();
        let revoked = state.hub.set_security(&config.for_hub());
        state.wake_all();
        drop(state);
        self.shared.kick();
        Ok(revoked)
    }

    /// The public key of this end when it began to listen, with keys.
    pub fn key(&self) -> Option<PublicKey> {
        self.key
    }

    /// Address and port on which the listener accepts connections.
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.local
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let now = self.shared.now();
        self.shared.lock().hub.stop_listening(now);
        self.shared.kick();
    }
}
