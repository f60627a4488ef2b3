//! How segments become datagrams and back: in the plain protocol as they are, in the encrypted protocol
//! inside authenticated encryption.
//!
//! [`Protection`] belongs to one connection, an [`Acceptor`] to a socket: it decides which connection a datagram is
//! for, and who may open one. Neither has a clock, a socket or randomness of its own. The bytes are in
//! `docs/wire.md`; what the encrypted protocol promises is in `docs/security.md`.

mod acceptor;
mod connection;
pub(crate) mod cookie;
mod destination;
pub(crate) mod encrypted;
mod opening;
mod outcome;
mod plain;

pub(crate) use acceptor::{Acceptor, acceptor};
pub(crate) use connection::Protection;
pub(crate) use destination::Destination;
pub(crate) use encrypted::ResetToken;
pub(crate) use opening::Refusal;
pub(crate) use outcome::{Challenge, FirstContact, Freshness, Path, Unprotected};
