//! Short names of transports that code refers to. The others are in the table of kinds alone.

/// Name of UDP in scenarios.
pub const UDP: &str = "udp";
/// TPA with the window of its profile.
pub const TPA: &str = "tpa";
/// The transport of this project, the default of real networks.
pub const MESH: &str = "mesh";
