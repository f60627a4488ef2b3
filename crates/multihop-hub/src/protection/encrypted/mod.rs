//! The encrypted protocol: after the first datagrams of the handshake all data is encrypted and
//! authenticated.

pub(crate) mod credentials;
mod established;
mod indices;
mod initiating;
pub(crate) mod message;
pub(super) mod noise;
mod rekey;
pub(super) mod reset;
pub(super) mod seal;
pub(crate) mod session;
pub(super) mod traffic;
mod window;

pub(crate) use established::Pending;
pub(crate) use message::{ResetToken, SecureDatagram};
pub(crate) use noise::Proof;
pub(crate) use reset::ResetKey;
pub(crate) use traffic::OVERHEAD;
#[cfg(fuzzing)]
pub(crate) use traffic::Rotation;
