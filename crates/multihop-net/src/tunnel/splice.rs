//! Two streams made one.

use std::io;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional_with_sizes};
use tokio::net::TcpStream;

use crate::stream::TpaStream;

/// A stream that can be ended without regard for what is under way.
pub(super) trait Reset: AsyncRead + AsyncWrite + Unpin {
    fn reset(self);
}

impl Reset for TcpStream {
    fn reset(self) {
        // The connection is closed in any case; without RST where this fails.
        let _ = SockRef::from(&self).set_linger(Some(std::time::Duration::ZERO));
    }
}

impl Reset for TpaStream {
    fn reset(self) {
        self.abort();
    }
}

/// Carries bytes, the end of each direction, and resets from one to the other until both directions have
/// ended. Returns how many bytes went each way.
pub(super) async fn splice<A: Reset, B: Reset>(mut a: A, mut b: B) -> io::Result<(u64, u64)> {
    let result = copy_bidirectional_with_sizes(&mut a, &mut b, BUFFER, BUFFER).await;
    if result.is_err() {
        a.reset();
        b.reset();
    }
    result
}

/// For each direction of each connection.
const BUFFER: usize = 16 * 1024;
