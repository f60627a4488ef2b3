//! Keys of `transport`: a short name, or a table of parameters.

use std::borrow::Cow;
use std::sync::Arc;

use multihop_core::settings::Settings;
use multihop_transport::pacing::Rules;
use multihop_transport::{mesh, tcp, tpa};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::tcp::{NEWRENO, TcpParameters, custom_control};
use super::tpa::{TPA, TpaParameters};
use super::{KINDS, Kind, Name, names, transport_name, with_suffixes};
use crate::document::{Fault, Node, Value};
use crate::extension::{CustomTransport, Entry, Extension, Extensions, NewControl, TransportConfig};
use crate::faults::Faults;
use crate::model::{Protocol, Transport};
use crate::read::{Keys, Read, describe, settings};

impl Read for Transport {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        if !matches!(node.value, Value::Table(_)) {
            return Name::read(node, path, faults).map(|name| Self::new(&name, Parameters::of(&name.kind)));
        }
        let mut keys = Keys::open(node, path, faults)?;
        let transport = Self::take(&mut keys, faults);
        keys.close(faults);
        transport
    }
}

impl Transport {
    fn new(name: &Name, parameters: Parameters) -> Self {
        let protocol = match parameters {
            Parameters::Udp => Protocol::Udp,
            Parameters::Tcp(tcp) => {
                Protocol::Tcp { control: tcp.kind.extension(), config: Box::new(tcp.config) }
            }
            Parameters::Tpa(tpa) => Protocol::Tpa { config: Box::new(tpa.config) },
            Parameters::Mesh(config) => Protocol::Mesh { config },
            Parameters::Custom(extension, config) => {
                Protocol::Custom(CustomTransport { extension, config: config.into() })
            }
        };
        Self { name: name.text.clone(), protocol }
    }

    fn take(keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> Option<Self> {
        let Some(name) = keys.take::<Name>("kind", None, faults) else {
            keys.forgive();
            return None;
        };
        let extensions = faults.extensions.clone();
        keys.mention_families(move || families(&extensions));
        let mut parameters = Parameters::of(&name.kind);
        let Some(list) = parameters.settings() else {
            let message = format!("{:?} has no table form, allowed: transport = {0:?}", name.text);
            faults.push(Fault::at_key(keys.path_of("kind"), message));
            return None;
        };
        settings::take(list, &name.text, keys, faults);
        Some(Self::new(&name, parameters))
    }
}

/// The parameters of a kind.
enum Parameters {
    Udp,
    Tcp(TcpParameters),
    Tpa(TpaParameters),
    Mesh(Box<mesh::Config>),
    Custom(Extension, Box<dyn TransportConfig>),
}

impl Parameters {
    fn of(kind: &Kind) -> Self {
        match kind {
            Kind::Udp => Self::Udp,
            Kind::Tcp(kind) => Self::Tcp(kind.parameters()),
            Kind::Tpa(kind) => Self::Tpa(kind.parameters(tpa::Config::paper())),
            Kind::Mesh => Self::Mesh(Box::default()),
            Kind::Custom(entry) => Self::Custom(entry.extension, (entry.make)()),
        }
    }

    /// The parameters as settings, to visit their keys; `None` for UDP.
    fn settings(&mut self) -> Option<&mut dyn Settings> {
        match self {
            Self::Udp => None,
            Self::Tcp(tcp) => Some(tcp),
            Self::Tpa(tpa) => Some(tpa),
            Self::Mesh(config) => Some(&mut **config),
            Self::Custom(_, config) => Some(&mut **config),
        }
    }
}

/// The keys of a table of TCP.
pub(crate) fn tcp_keys() -> Vec<&'static str> {
    let mut keys = describe::names(&mut NEWRENO.parameters());
    keys.push("kind");
    keys
}

/// The keys of each family of transports, for hints about a key of another family.
fn families(extensions: &Extensions) -> Vec<(&'static str, Vec<&'static str>)> {
    let tcp = describe::names(&mut NEWRENO.parameters());
    let tpa = describe::names(&mut TPA.parameters(tpa::Config::paper()));
    let transports =
        extensions.transports.iter().map(|row| (row.extension.name, describe::names(&mut *(row.make)())));
    let controls =
        extensions.controls.iter().map(|row| (row.extension.name, describe::names(&mut (row.make)())));
    let custom = transports.chain(controls);
    let mesh = describe::names(&mut mesh::Config::default());
    [("a TCP kind", tcp), ("a TPA kind", tpa), (transport_name::MESH, mesh)]
        .into_iter()
        .chain(custom)
        .collect()
}

impl JsonSchema for Transport {
    fn schema_name() -> Cow<'static, str> {
        "TransportTable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let short = generator.subschema_for::<Name>();
        let tcp = family("A TCP and its parameters.", |kind| matches!(kind, Kind::Tcp(_)));
        let tpa = family("A TPA and its parameters.", |kind| matches!(kind, Kind::Tpa(_)));
        let mesh = family("The transport mesh and its parameters.", |kind| matches!(kind, Kind::Mesh));
        json_schema!({ "anyOf": [short, tcp, tpa, mesh] })
    }
}

/// The names and the table form of TCP with a user-defined congestion control.
pub(crate) fn control_schema(entry: Entry<NewControl>) -> (Vec<String>, Schema) {
    let kind = Kind::Tcp(custom_control(entry));
    let names = with_suffixes([(entry.extension.name, kind.clone())].into_iter());
    let names: Vec<_> = names.into_iter().map(|(name, _)| name).collect();
    let table = table(entry.extension.help, &names, [&kind].into_iter());
    (names, table)
}

/// The table form of the kinds for which `belongs` holds.
fn family(about: &str, belongs: fn(&Kind) -> bool) -> Schema {
    let kinds: Vec<String> =
        names().into_iter().filter(|(_, kind)| belongs(kind)).map(|(name, _)| name).collect();
    table(about, &kinds, KINDS.iter().map(|(_, kind)| kind).filter(|kind| belongs(kind)))
}

fn table<'a>(about: &str, kinds: &[String], rows: impl Iterator<Item = &'a Kind>) -> Schema {
    let mut variants: Vec<Parameters> = rows.flat_map(with_every_preset).collect();
    let mut list: Vec<_> = variants.iter_mut().filter_map(Parameters::settings).collect();
    json_schema!({
        "description": about,
        "type": "object",
        "properties": { "kind": { "description": "Short name.", "type": "string", "enum": kinds } },
        "required": ["kind"],
        "allOf": [describe::schema(&mut list)],
        "unevaluatedProperties": false,
    })
}

/// The parameters of a kind with each preset or profile, which are the possible values of unset keys.
fn with_every_preset(kind: &Kind) -> Vec<Parameters> {
    match kind {
        Kind::Udp | Kind::Custom(_) => Vec::new(),
        Kind::Mesh => vec![Parameters::of(kind)],
        Kind::Tcp(kind) => {
            tcp::PRESETS.iter().map(|(_, preset)| Parameters::Tcp(kind.on_top_of(&preset()))).collect()
        }
        Kind::Tpa(kind) => {
            tpa::PROFILES.iter().map(|(_, profile)| Parameters::Tpa(kind.parameters(profile()))).collect()
        }
    }
}

/// The transport `mesh` on a real network.
const MESH: Extension =
    Extension { name: transport_name::MESH, version: "3", help: "Paced by queueing delay, with few ACKs." };

/// Name of TCP inside of UDP; both ends may use different congestion controls.
const TCP: Extension = Extension { name: "tcp", version: "1", help: "TCP in user space." };

/// `mesh` with the parameters for opening, watching and closing connections of a program.
fn mesh_on_real_networks(tpa: &tpa::Config) -> mesh::Config {
    mesh::Config { lifecycle: tpa.lifecycle, ..mesh::Config::net() }
}

/// Reads the transport of a real network: changes the configuration of TPA, or creates another transport.
pub(crate) fn take(node: &Node, tpa: &mut tpa::Config, faults: &mut Faults<'_>) -> Option<CustomTransport> {
    let mut keys = Keys::open(node, "", faults)?;
    let name = match keys.find("kind").cloned() {
        Some(kind) => Name::read(&kind, "kind", faults)?,
        None => Name { text: transport_name::TPA.to_owned(), kind: Kind::Tpa(TPA) },
    };
    let mut parameters = match &name.kind {
        Kind::Tpa(kind) => Parameters::Tpa(kind.parameters(tpa.clone())),
        Kind::Mesh => Parameters::Mesh(Box::new(mesh_on_real_networks(tpa))),
        Kind::Tcp(kind) => Parameters::Tcp(kind.on_real_networks()),
        kind @ Kind::Custom(_) => Parameters::of(kind),
        Kind::Udp => {
            let custom =
                faults.extensions.transports.iter().map(|entry| format!(", {}", entry.extension.name));
            let allowed =
                format!("the kinds of TPA and TCP, {}{}", transport_name::MESH, custom.collect::<String>());
            faults.push(Fault::at_key("kind", format!("found {:?}, allowed: {allowed}", name.text)));
            return None;
        }
    };
    settings::take(parameters.settings()?, &name.text, &mut keys, faults);
    keys.close(faults);
    match parameters {
        Parameters::Custom(extension, config) => Some(CustomTransport { extension, config: config.into() }),
        Parameters::Tpa(parameters) => {
            *tpa = parameters.config;
            None
        }
        Parameters::Mesh(config) => {
            // The transport announces the size of the buffer that the connection has for the application.
            tpa.recv_buffer = Some(u32::from(config.recv_buffer) * u32::from(config.mss));
            tpa.lifecycle = config.lifecycle;
            Some(CustomTransport { extension: MESH, config: Arc::from(config as Box<dyn TransportConfig>) })
        }
        Parameters::Tcp(mut parameters) => {
            let config = &mut parameters.config;
            if config.pacing.is_some_and(|pacing| pacing.pacer.rules == Rules::Authors) {
                let message = "found \"authors\", which only simulations can use, allowed: \"paper\"";
                faults.push(Fault::at_key("rules", message.to_owned()));
                return None;
            }
            let buffer = *config.recv_buffer.get_or_insert(u32::from(u16::MAX));
            tpa.recv_buffer = Some(buffer);
            Some(CustomTransport { extension: TCP, config: Arc::new(parameters) })
        }
        Parameters::Udp => None,
    }
}
