//! The routing protocols, one row each.
//!
//! A protocol is a file or folder of this crate whose configuration implements [`AgentConfig`], and a
//! row of [`PROTOCOLS`]. Drivers and readers of scenarios know no other protocol.

use alloc::boxed::Box;

use crate::network::AgentConfig;
use crate::{aodv, apdr, babel, batman, dsr, hwmp, olsr, olsrv2};

/// The built-in protocols.
pub static PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: "aodv",
        help: "Ad hoc on-demand distance vector (RFC 3561).",
        config: || Box::new(aodv::Config::default()),
    },
    Protocol {
        name: "dsr",
        help: "Dynamic source routing (RFC 4728).",
        config: || Box::new(dsr::Config::default()),
    },
    Protocol {
        name: "olsr",
        help: "Optimised link state routing (RFC 3626).",
        config: || Box::new(olsr::Config::default()),
    },
    Protocol {
        name: "olsrv2",
        help: "OLSR version 2 (RFC 7181), with routes of least airtime (RFC 7779).",
        config: || Box::new(olsrv2::Config::default()),
    },
    Protocol {
        name: "apdr",
        help: "OLSR with routes of least average delay (average path-delay routing).",
        config: || Box::new(apdr::Config::default()),
    },
    Protocol {
        name: "apdr-pr",
        help: "APDR with path reservation: a flow's first packet fixes the path of all that follow.",
        config: || Box::new(apdr::Config::reserving()),
    },
    Protocol {
        name: "babel",
        help: "Babel (RFC 8966): distance vectors without loops, with round-trip times in its metric (RFC 9616) if wanted.",
        config: || Box::new(babel::Config::default()),
    },
    Protocol {
        name: "batman",
        help: "B.A.T.M.A.N. IV: each node knows only the best neighbour towards every other node.",
        config: || Box::new(batman::Config::default()),
    },
    Protocol {
        name: "hwmp",
        help: "HWMP, the path selection of mesh stations (IEEE 802.11s), on demand, with paths of least airtime.",
        config: || Box::new(hwmp::Config::default()),
    },
];

/// One routing protocol.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// In scenario files and results.
    pub name: &'static str,
    /// One sentence, for the JSON Schema.
    pub help: &'static str,
    /// Its parameters with their defaults.
    pub config: fn() -> Box<dyn AgentConfig>,
}
