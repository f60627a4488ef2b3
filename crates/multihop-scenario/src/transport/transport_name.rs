//! Short names of transports that code refers to. All others are only in the table of kinds.

/// Name of UDP in scenarios.
pub const UDP: &str = "udp";
/// TPA with the window of its profile.
pub const TPA: &str = "tpa";
/// The transport `mesh`, the default on real networks.
pub const MESH: &str = "mesh";
