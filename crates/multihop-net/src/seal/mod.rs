//! The sealed way of talking: everything but the first datagrams is encrypted and authenticated.
//!
//! [`session::Seal`] is the armour of one connection, [`gate::Gate`] what all of a socket's share.
//! Neither has a clock, a socket or randomness of its own. Byte by byte: `docs/wire.md`; what it
//! protects from: `docs/security.md`.

pub(crate) mod cookie;
pub(crate) mod gate;
pub(crate) mod message;
mod noise;
pub(crate) mod session;
mod traffic;
mod window;

#[cfg(fuzzing)]
pub(crate) use noise::Proof;
#[cfg(fuzzing)]
pub(crate) use traffic::Rotation;
pub(crate) use traffic::{Freshness, OVERHEAD};
