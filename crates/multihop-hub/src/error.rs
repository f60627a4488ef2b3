//! Errors of connections, and the kinds of `io::Error` that they become.

use crate::keys::PublicKey;
use crate::reason::Reason;
use crate::transport::TransportName;

/// Reason for which a connection failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Error {
    /// The peer's port is closed.
    #[error("connection refused: the peer's port is closed")]
    Refused,
    /// The peer refuses the plain (unencrypted) protocol.
    #[error("connection refused: the peer accepts no plain connections: it may require a token or a key")]
    NotPlain,
    /// The peer aborted the connection.
    #[error("connection reset by the peer")]
    Reset,
    /// The peer did not answer in time.
    #[error("connection timed out: the peer did not answer")]
    TimedOut,
    /// There is no route to the peer.
    #[error("no route to the peer within the time limit")]
    Unreachable,
    /// This end aborted the connection.
    #[error("connection was aborted by this end")]
    Aborted,
    /// This end has closed its sending side.
    #[error("the sending side of the connection is closed")]
    Closed,
    /// The socket has reached its limit of connections.
    #[error("too many connections: the socket has reached its limit")]
    TooMany,
    /// The listener refused the connection.
    #[error("connection refused: {0}")]
    Declined(Reason),
    /// The listener has a key other than the expected one.
    #[error("connection refused: the peer's key is {0}, not the expected one")]
    WrongKey(PublicKey),
    /// The listener has another version of the protocol.
    #[error("connection refused: this end has version {ours} of the protocol, the listener version {theirs}")]
    OtherVersion {
        /// Protocol version of this end.
        ours: u8,
        /// Protocol version of the listener.
        theirs: u8,
    },
    /// The listener uses another transport.
    #[error("connection refused: this end uses the transport {ours}, the listener {theirs}")]
    WrongTransport {
        /// Transport that this end offers.
        ours: TransportName,
        /// Transport that the listener offers.
        theirs: TransportName,
    },
}

#[cfg(feature = "std")]
impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        use std::io;
        let kind = match error {
            Error::Refused | Error::NotPlain => io::ErrorKind::ConnectionRefused,
            Error::Reset => io::ErrorKind::ConnectionReset,
            Error::TimedOut => io::ErrorKind::TimedOut,
            Error::Unreachable => io::ErrorKind::HostUnreachable,
            Error::Aborted => io::ErrorKind::ConnectionAborted,
            Error::Closed => io::ErrorKind::BrokenPipe,
            Error::TooMany => io::ErrorKind::ResourceBusy,
            Error::Declined(Reason::WrongToken | Reason::UnknownKey) | Error::WrongKey(_) => {
                io::ErrorKind::PermissionDenied
            }
            Error::Declined(_) | Error::WrongTransport { .. } | Error::OtherVersion { .. } => {
                io::ErrorKind::ConnectionRefused
            }
        };
        Self::new(kind, error)
    }
}
