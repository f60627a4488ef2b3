//! The encrypted protocol: after the first datagrams of the handshake everything is encrypted and
//! authenticated.

pub(crate) mod acceptor;
pub(crate) mod credentials;
mod established;
mod indices;
mod initiating;
pub(crate) mod message;
mod noise;
mod rekey;
mod reset;
mod seal;
pub(crate) mod session;
mod traffic;
mod window;

pub(crate) use message::{ResetToken, SecureDatagram};
pub(crate) use noise::Proof;
pub(crate) use reset::ResetKey;
#[cfg(fuzzing)]
pub(crate) use traffic::Rotation;
pub(crate) use traffic::{Freshness, OVERHEAD};
