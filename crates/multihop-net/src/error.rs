use std::io;

use crate::keys::PublicKey;
pub use crate::protection::encrypted::message::Reason;

/// Why a connection came to nothing, or to an end.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Error {
    /// Nobody listens there.
    #[error("connection refused: nobody listens at the peer's port")]
    Refused,
    /// A peer is there, and takes no call in the bare protocol.
    #[error(
        "connection refused: the peer takes no plain connections; a listener with a token or keys does not"
    )]
    NotPlain,
    /// The peer ended it without regard for what was under way.
    #[error("connection reset by the peer")]
    Reset,
    /// The listener has ended it before it said anything: who is called may look at keys only then.
    #[error("connection reset by the peer at once: most likely our key is not among those that it knows")]
    KeyRejected,
    /// The peer has not answered for too long.
    #[error("connection timed out: the peer did not answer")]
    TimedOut,
    /// Nobody knows the way to the peer.
    #[error("no route to the peer: it was not reached in time")]
    Unreachable,
    /// This end had ended it.
    #[error("connection was aborted here")]
    Aborted,
    /// This side was closed before.
    #[error("this side of the connection is closed for sending")]
    Closed,
    /// The socket holds as many connections as it may.
    #[error("too many connections: the socket holds as many as its limit allows")]
    TooMany,
    /// The listener has said that it will not answer.
    #[error("connection refused: {0}")]
    Declined(Reason),
    /// The peer has proved to have another key than it should.
    #[error("connection refused: the peer's key is {0}, which is not the one that is wanted")]
    WrongKey(PublicKey),
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error {
            Error::Refused | Error::NotPlain => io::ErrorKind::ConnectionRefused,
            Error::Reset | Error::KeyRejected => io::ErrorKind::ConnectionReset,
            Error::TimedOut => io::ErrorKind::TimedOut,
            Error::Unreachable => io::ErrorKind::HostUnreachable,
            Error::Aborted => io::ErrorKind::ConnectionAborted,
            Error::Closed => io::ErrorKind::BrokenPipe,
            Error::TooMany => io::ErrorKind::ResourceBusy,
            Error::Declined(Reason::WrongToken) | Error::WrongKey(_) => io::ErrorKind::PermissionDenied,
            Error::Declined(_) => io::ErrorKind::ConnectionRefused,
        };
        Self::new(kind, error)
    }
}
