//! Further routing protocols for wireless networks, registered through the interface for user-defined protocols.
//!
//! | module | protocol |
//! |---|---|
//! | [`babel`] | Babel (RFC 8966), with round-trip times (RFC 9616) and channels in its metric |
//! | [`batman`] | B.A.T.M.A.N. IV, in the format of its daemon |
//! | [`hwmp`] | HWMP, the path selection of IEEE 802.11s |
//! | [`olsrv2`], [`rfc5444`] | OLSRv2 (RFC 7181) with routes of least airtime, and its packet format |
//!
//! Each module has a `Config`, which lists the keys of the protocol and makes its agents, an `Agent` for each node, and the
//! format of its messages. The agents have no clock and no socket: the simulator drives all of them, and `multihop-route` runs
//! Babel and OLSRv2 on real interfaces. The crate uses only public interfaces of other crates: it is an example for protocols
//! outside of this repository.
//!
//! [`extensions`] registers all of them. The command, the Python package and the page of `multihop view` load scenarios with it:
//!
//! ```
//! use multihop_scenario::{Scenario, Source};
//!
//! let text = "duration = 1.0\ntopology = { kind = \"chain\", hops = 2 }\nflow = [{ transport = \"newreno\" }]\n\
//!             routing = { protocol = \"batman\", interval = 0.5 }\n";
//! let source = Source::Toml { text: text.to_owned(), name: "chain.toml".to_owned() };
//! let scenario = Scenario::load_with(&source, &[], &multihop_routing_extra::extensions())?;
//! assert_eq!(scenario.routing.protocol.name(), "batman");
//! assert!(Scenario::load(&source, &[]).is_err(), "not registered");
//! # Ok::<(), multihop_scenario::Problems>(())
//! ```
//!
//! A program with protocols of its own adds them to these, or begins with `Extensions::default()` and leaves these out.
//! AODV, DSR, OLSR and APDR are in `multihop-routing`, which every program has.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod authentication;
pub mod babel;
pub mod batman;
#[cfg(test)]
mod cabled;
pub mod hwmp;
pub mod olsrv2;
mod replay;
pub mod rfc5444;

use multihop_scenario::{Extension, Extensions};

/// Registers the protocols of this crate for loading scenarios.
pub fn extensions() -> Extensions {
    Extensions::default()
        .routing::<babel::Config>(BABEL)
        .routing::<batman::Config>(BATMAN)
        .routing::<hwmp::Config>(HWMP)
        .routing::<olsrv2::Config>(OLSRV2)
}

const BABEL: Extension = Extension {
    name: "babel",
    version: VERSION,
    help: "Babel (RFC 8966): distance vectors without loops, with round-trip times in its metric (RFC 9616) if wanted.",
};

const BATMAN: Extension = Extension {
    name: "batman",
    version: VERSION,
    help: "B.A.T.M.A.N. IV: each node knows only the best neighbour towards every other node.",
};

const HWMP: Extension = Extension {
    name: "hwmp",
    version: VERSION,
    help: "HWMP, the path selection of mesh stations (IEEE 802.11s), on demand, with paths of least airtime.",
};

const OLSRV2: Extension = Extension {
    name: "olsrv2",
    version: VERSION,
    help: "OLSR version 2 (RFC 7181), with routes of least airtime (RFC 7779).",
};

/// Version of each protocol in the keys of runs. The simulator's build includes the sources of this crate as well.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Purpose string of the agents' random streams.
const STREAM: &str = "routing";
