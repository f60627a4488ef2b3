//! The routing protocols, one row each.
//!
//! A protocol is a file or folder of this crate whose configuration implements [`AgentConfig`], and a row of
//! [`PROTOCOLS`]. Drivers and readers of scenarios use these tables only.

use alloc::boxed::Box;

use crate::network::AgentConfig;
use crate::{aodv, apdr, dsr, olsr};

/// All built-in routing protocols, in the order of the documentation.
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
        name: "apdr",
        help: "OLSR with routes of least average delay (average path-delay routing).",
        config: || Box::new(apdr::Config::default()),
    },
    Protocol {
        name: "apdr-pr",
        help: "APDR with path reservation: a flow's first packet fixes the path of all that follow.",
        config: || Box::new(apdr::Config::reserving()),
    },
];

/// Row of the table of routing protocols.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Name of the protocol in scenario files and results.
    pub name: &'static str,
    /// Description for the JSON Schema, one sentence.
    pub help: &'static str,
    /// Parameters of the protocol with their defaults.
    pub config: fn() -> Box<dyn AgentConfig>,
}
