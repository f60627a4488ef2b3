//! Part of a connection that its stream and its channels share.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use multihop_hub::{Error, Hub, Id};
use multihop_transport::channel::{ChannelError, Channels};

use crate::driver::{HubState, SharedHub, Side};

/// A connection that an application holds. Dropping the last holder releases the connection, which then closes in the
/// background.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) shared: Arc<SharedHub>,
    pub(crate) id: Id,
}

impl Handle {
    /// Calls the hub and wakes its driver.
    pub(crate) fn with<R>(&self, action: impl FnOnce(&mut Hub) -> R) -> R {
        let result = action(&mut self.shared.lock().hub);
        self.shared.kick();
        result
    }

    /// Uses the channels of the connection; an error if its transport has none.
    pub(crate) fn with_channels<R>(&self, action: impl FnOnce(&mut dyn Channels) -> R) -> io::Result<R> {
        self.with(|hub| hub.with_channels(self.id, action))?.ok_or_else(unsupported)
    }

    /// Pending until something happens to the connection.
    pub(crate) fn wait<R, E: From<Error>>(
        &self,
        state: &mut HubState,
        side: Side,
        cx: &Context<'_>,
    ) -> Poll<Result<R, E>> {
        if state.is_dead {
            return Poll::Ready(Err(Error::Aborted.into()));
        }
        state.wait(self.id, side, cx.waker());
        Poll::Pending
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let now = self.shared.now();
        self.with(|hub| hub.release(now, self.id));
    }
}

/// Error of a call that a channel refuses.
pub(crate) fn refused(error: ChannelError) -> io::Error {
    let kind = match error {
        ChannelError::NotOpen => io::ErrorKind::BrokenPipe,
        ChannelError::Disabled | ChannelError::Unsupported => io::ErrorKind::Unsupported,
        ChannelError::TooMany(_) | ChannelError::Memory | ChannelError::Full => io::ErrorKind::ResourceBusy,
        _ => io::ErrorKind::InvalidInput,
    };
    io::Error::new(kind, error)
}

/// Error of a connection whose transport has no channels.
pub(crate) fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "the transport of the connection has no channels: mesh has")
}
