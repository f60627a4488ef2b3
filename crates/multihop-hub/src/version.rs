//! Versions of the protocol between two hosts.
//!
//! The two ends of a connection must have one version. A listener refuses another one and names its own. Listeners of
//! version 2 ignore what they cannot read, so that a caller who gets no answer also sends the opening of version 2, with
//! a mark by which later listeners ignore it: an answer to that shows which version the listener has.

/// Version of the protocol that this end implements.
pub(crate) const VERSION: u8 = 3;
/// Number of the previous version, which a caller without an answer tries.
pub(crate) const EARLIER: u8 = 2;
