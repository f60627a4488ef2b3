//! `transport`: a short name, or a table of parameters.
//!
//! Each family of transports has a table of keys in a file of its own.

mod pacing;
mod tcp;
mod tpa;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

pub(crate) use pacing::PacingTable;
pub(crate) use tcp::TcpTable;
pub(crate) use tpa::TpaTable;

use crate::document::{Fault, Node, Value};
use crate::read::{Fields, Keys, Read};
use crate::transport::{Kind, Name, TcpKind, TpaKind, names};

/// A short name, or a table of parameters.
pub(crate) enum TransportTable {
    /// The name alone.
    Short(Name),
    /// With parameters.
    Long(Name, Parameters),
}

/// The parameters of a kind, by its family.
pub(crate) enum Parameters {
    /// UDP has none.
    Udp,
    /// Of a TCP.
    Tcp(TcpKind, Box<TcpTable>, Box<PacingTable>),
    /// Of a TPA.
    Tpa(TpaKind, Box<TpaTable>, Box<PacingTable>),
}

/// The keys of each family, for those who meet one of them elsewhere.
fn families() -> Vec<(&'static str, Vec<&'static str>)> {
    vec![
        ("a TCP kind", TcpTable::names()),
        ("a TPA kind", TpaTable::names()),
        ("a paced kind (+ap)", PacingTable::names()),
    ]
}

impl TransportTable {
    fn take(keys: &mut Keys<'_>, faults: &mut Vec<Fault>) -> Option<Self> {
        let Some(name) = keys.take::<Name>("kind", None, faults) else {
            keys.forgive();
            return None;
        };
        keys.mention_families(families);
        let parameters = match name.kind() {
            Kind::Udp => Parameters::Udp,
            Kind::Tcp(kind) => {
                let (tcp, pacing) = (Fields::take(keys, faults), Fields::take(keys, faults));
                Parameters::Tcp(*kind, tcp?, pacing?)
            }
            Kind::Tpa(kind) => {
                let (tpa, pacing) = (Fields::take(keys, faults), Fields::take(keys, faults));
                Parameters::Tpa(*kind, tpa?, pacing?)
            }
        };
        Some(Self::Long(name, parameters))
    }
}

impl Read for TransportTable {
    fn read(node: &Node, path: &str, faults: &mut Vec<Fault>) -> Option<Self> {
        if !matches!(node.value, Value::Table(_)) {
            return Name::read(node, path, faults).map(Self::Short);
        }
        let mut keys = Keys::open(node, path, faults)?;
        let table = Self::take(&mut keys, faults);
        keys.close(faults);
        table
    }
}

impl JsonSchema for TransportTable {
    fn schema_name() -> Cow<'static, str> {
        "TransportTable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let short = generator.subschema_for::<Name>();
        let pacing = PacingTable::schema(generator);
        let tcp = [TcpTable::schema(generator), pacing.clone()];
        let tcp = family("A TCP and its parameters.", |kind| matches!(kind, Kind::Tcp(_)), &tcp);
        let tpa = [TpaTable::schema(generator), pacing];
        let tpa = family("A TPA and its parameters.", |kind| matches!(kind, Kind::Tpa(_)), &tpa);
        json_schema!({ "anyOf": [short, tcp, tpa] })
    }
}

/// The table form of the kinds that `belongs` picks out; `groups` are its keys.
fn family(about: &str, belongs: fn(&Kind) -> bool, groups: &[Schema]) -> Schema {
    let kinds: Vec<String> =
        names().into_iter().filter(|(_, kind)| belongs(kind)).map(|(name, _)| name).collect();
    json_schema!({
        "description": about,
        "type": "object",
        "properties": { "kind": { "description": "Short name.", "type": "string", "enum": kinds } },
        "required": ["kind"],
        "allOf": groups,
        "unevaluatedProperties": false,
    })
}
