//! Joins two streams, so that each gets what arrives on the other.

use std::io;

use multihop_net::{PublicKey, Stream};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional_with_sizes};
use tokio::net::TcpStream;

/// A stream that can be aborted.
pub(super) trait Reset: AsyncRead + AsyncWrite + Unpin {
    /// Whether the stream is a connection that may have channels.
    const HAS_CHANNELS: bool = false;

    fn reset(self);

    /// The key of the other end, if it has proved one.
    fn peer_key(&self) -> Option<PublicKey>;
}

impl Reset for TcpStream {
    fn reset(self) {
        // If this fails, the connection is closed without a RST.
        let _ = SockRef::from(&self).set_linger(Some(std::time::Duration::ZERO));
    }

    fn peer_key(&self) -> Option<PublicKey> {
        None
    }
}

impl Reset for Stream {
    const HAS_CHANNELS: bool = true;

    fn reset(self) {
        self.abort();
    }

    fn peer_key(&self) -> Option<PublicKey> {
        Self::peer_key(self)
    }
}

/// Copies bytes, closes and resets in both directions until both have ended. Returns the bytes copied in each
/// direction.
pub(super) async fn splice<A: Reset, B: Reset>(mut a: A, mut b: B) -> io::Result<(u64, u64)> {
    let result = copy_bidirectional_with_sizes(&mut a, &mut b, BUFFER, BUFFER).await;
    if result.is_err() {
        a.reset();
        b.reset();
    }
    result
}

/// Bytes of the buffer for each direction of each connection.
const BUFFER: usize = 16 * 1024;
