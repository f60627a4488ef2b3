//! `[routing]`.

use multihop_core::settings::{Settings, Visitor};
use multihop_routing::{aodv, apdr, dsr, olsr};
use serde_json::json;

use super::{NodeRef, ProtocolChoice};
use crate::read::settings::{Keyed, Variants};
use crate::read::{Both, kinds, table};
use crate::values::Whole;

/// `[routing]`.
pub(crate) type RoutingTable = Both<PacketTable, ProtocolChoice>;

table! {
    /// What holds for every protocol.
    PacketTable {
        /// Bytes of a second IP header in every routed packet: 20 in ns-2 under AODV-UU, DSR and
        /// UM-OLSR.
        ip_extra: Whole<0, 60> = 0,
    }
}

kinds! {
    /// Who forwards to whom.
    ProtocolTable by "protocol" = "static" {
        /// Routes of fewest hops between the places at the start; they hold for the whole run.
        "static" => Static(StaticTable),
        /// Ad hoc on-demand distance vector (RFC 3561).
        "aodv" => Aodv(Box<Keyed<aodv::Config>>),
        /// Dynamic source routing (RFC 4728).
        "dsr" => Dsr(Keyed<dsr::Config>),
        /// Optimised link state routing (RFC 3626).
        "olsr" => Olsr(Keyed<olsr::Config>),
        /// The same with routes of least average delay (average path-delay routing).
        "apdr" => Apdr(Keyed<apdr::Config>),
        /// The same with path reservation: a flow's first packet fixes the path of all that follow.
        "apdr-pr" => ApdrPr(Keyed<Reserving>),
    }
}

table! {
    /// Routes that hold for the whole run.
    StaticTable {
        /// Routes that differ from the shortest, each as [node, destination, via]: at node, packets
        /// for destination go to via.
        next_hops: Vec<[NodeRef; 3]> = json!([]),
    }
}

impl Variants for aodv::Config {
    fn variants() -> Vec<Self> {
        let presets = [aodv::Preset::Ns2, aodv::Preset::Uu];
        let failures = [aodv::LinkFailure::Mac, aodv::LinkFailure::Hello];
        presets.iter().flat_map(|&preset| failures.map(|failure| Self::new(preset, failure))).collect()
    }
}

impl Variants for dsr::Config {}

impl Variants for olsr::Config {
    fn variants() -> Vec<Self> {
        vec![Self::um_olsr(), Self::rfc()]
    }
}

impl Variants for apdr::Config {
    fn variants() -> Vec<Self> {
        let on = |olsr: olsr::Config| olsr.with_metric(olsr::Metric::default());
        olsr::Config::variants().into_iter().map(|olsr| Self { olsr: on(olsr), ..Self::default() }).collect()
    }
}

/// APDR with path reservation.
pub(crate) struct Reserving(pub(crate) apdr::Config);

impl Settings for Reserving {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        self.0.keys(keys);
    }
}

impl Default for Reserving {
    fn default() -> Self {
        Self(apdr::Config::reserving())
    }
}

impl Variants for Reserving {
    fn variants() -> Vec<Self> {
        let reservation = apdr::Config::reserving().reservation;
        apdr::Config::variants().into_iter().map(|apdr| Self(apdr::Config { reservation, ..apdr })).collect()
    }
}
