//! Versions of the protocol between two hosts.
//!
//! Both ends of a connection must have the same version. A listener refuses other versions and states its
//! own. Listeners of version 2 ignore datagrams that they cannot parse. A caller without an answer therefore
//! also sends the opening datagram of version 2, marked so that later listeners ignore it. An answer shows
//! that the listener has version 2.

/// Version of the protocol that this end implements.
pub(crate) const VERSION: u8 = 3;
/// Number of the previous version, which a caller without an answer tries.
pub(crate) const EARLIER: u8 = 2;
