//! Short names of transports, and what they and the table form mean.

use std::borrow::Cow;

use multihop_transport::tcp::{AckRule, Config, DelayedAck, Variant};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::document::{Fault, Node, Value};
use super::model::{Protocol, Transport};
use super::read::{Read, one_of, wrong};
use super::tables::{TcpTable, TransportTable};
use super::values::{put, words};

/// A short name that exists.
#[derive(Clone)]
pub(super) struct Name {
    text: String,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Udp,
    Tcp { variant: Variant, ack: Ack, window: Window },
}

/// The ACK rule of a kind, but for whose delayed ACKs.
#[derive(Clone, Copy)]
enum Ack {
    Every,
    Delayed,
    Dynamic,
}

/// The clamp of a kind, where it has one.
#[derive(Clone, Copy)]
enum Window {
    OfPreset,
    Fixed(u16),
    ByHops,
}

impl Name {
    fn parse(text: &str) -> Option<Self> {
        let (base, suffix) = match text.split_once('+') {
            Some((base, suffix)) => (base, Some(suffix)),
            None => (text, None),
        };
        let (_, mut kind) = *KINDS.iter().find(|(name, _)| *name == base)?;
        if let Some(suffix) = suffix {
            let (_, rule) = SUFFIXES.iter().find(|(name, _)| *name == suffix)?;
            let Kind::Tcp { ack, .. } = &mut kind else { return None };
            *ack = *rule;
        }
        Some(Self { text: text.to_owned(), kind })
    }
}

impl Read for Name {
    fn read(node: &Node, path: &str, faults: &mut Vec<Fault>) -> Option<Self> {
        let found = if let Value::Text(text) = &node.value { Self::parse(text) } else { None };
        found.or_else(|| {
            let kinds = one_of(KINDS.iter().map(|(name, _)| *name));
            let allowed =
                format!("{kinds}, a TCP kind also with +da, +dyn or +ack1, or a table of parameters");
            wrong(node, path, &allowed, faults)
        })
    }
}

impl JsonSchema for Name {
    fn schema_name() -> Cow<'static, str> {
        "TransportName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<String> = KINDS
            .iter()
            .flat_map(|(name, kind)| {
                let suffixes = if matches!(kind, Kind::Udp) { &[][..] } else { SUFFIXES };
                let long = suffixes.iter().map(move |(suffix, _)| format!("{name}+{suffix}"));
                core::iter::once((*name).to_owned()).chain(long)
            })
            .collect();
        json_schema!({
            "description": "+da delays ACKs, +dyn delays them ever longer, +ack1 acknowledges every segment.",
            "type": "string",
            "enum": names,
        })
    }
}

/// What a flow's `transport` means; cross-checks its parameters.
pub(super) fn transport(table: &TransportTable, path: &str, faults: &mut Vec<Fault>) -> Option<Transport> {
    match table {
        TransportTable::Short(name) => {
            Some(Transport { name: name.text.clone(), protocol: protocol(name, &Config::default()) })
        }
        TransportTable::Long(table) => {
            let name = table.kind.text.clone();
            let protocol = configured(table, path, faults)?;
            Some(Transport { name, protocol })
        }
    }
}

/// A kind on top of a preset.
fn protocol(name: &Name, preset: &Config) -> Protocol {
    let Kind::Tcp { variant, ack, window } = name.kind else { return Protocol::Udp };
    let whose = match preset.ack_rule {
        AckRule::Delayed(whose) => whose,
        AckRule::Every | AckRule::Dynamic => DelayedAck::Ns2,
    };
    let ack_rule = match ack {
        Ack::Every => AckRule::Every,
        Ack::Delayed => AckRule::Delayed(whose),
        Ack::Dynamic => AckRule::Dynamic,
    };
    let window_max = match window {
        Window::OfPreset | Window::ByHops => preset.window_max,
        Window::Fixed(segments) => segments,
    };
    let config = Box::new(Config { variant, ack_rule, window_max, ..preset.clone() });
    Protocol::Tcp { config, window_by_hops: matches!(window, Window::ByHops) }
}

/// A kind on top of a preset, with the table's own parameters on top of both.
fn configured(table: &TcpTable, path: &str, faults: &mut Vec<Fault>) -> Option<Protocol> {
    let Protocol::Tcp { mut config, window_by_hops } = protocol(&table.kind, &table.preset.0()) else {
        let message = format!("{:?} has no table form, allowed: transport = {0:?}", table.kind.text);
        faults.push(Fault::at_key(format!("{path}.kind"), message));
        return None;
    };
    if window_by_hops && table.window_max.is_some() {
        let message = format!("{:?} sets the window by the number of hops", table.kind.text);
        faults.push(Fault::at_key(format!("{path}.window_max"), message));
    }
    set(&mut config, table);
    if let (Some(delack), AckRule::Delayed(whose)) = (table.delack, &mut config.ack_rule) {
        *whose = delack.0;
    } else if table.delack.is_some() {
        let message = format!("{:?} does not delay ACKs, allowed with: +da", table.kind.text);
        faults.push(Fault::at_key(format!("{path}.delack"), message));
    }
    if config.rto.min > config.rto.max {
        let message = format!("{} is more than rto_max, {}", config.rto.min, config.rto.max);
        faults.push(Fault::at_key(format!("{path}.rto_min"), message));
    }
    Some(Protocol::Tcp { config, window_by_hops })
}

fn set(config: &mut Config, table: &TcpTable) {
    put(&mut config.window_max, table.window_max.map(|n| n.to()));
    put(&mut config.mss, table.mss.map(|n| n.to()));
    put(&mut config.initial_window, table.initial_window.map(|n| n.to()));
    put(&mut config.handshake, table.handshake);
    put(&mut config.rto.initial, table.rto_initial.map(|time| time.duration()));
    put(&mut config.rto.min, table.rto_min.map(|time| time.duration()));
    put(&mut config.rto.max, table.rto_max.map(|time| time.duration()));
    put(&mut config.rto.granularity, table.tick.map(|time| time.duration()));
    put(&mut config.rto.backoff_limit, table.backoff_limit.map(|n| n.to()));
    put(&mut config.max_retries, table.max_retries.map(|limit| limit.0.map(|n| n.to())));
    put(&mut config.limited_transmit, table.limited_transmit);
    put(&mut config.newreno.timer, table.recovery.map(|word| word.0));
    put(&mut config.ack_delay, table.ack_delay.map(|time| time.duration()));
    put(&mut config.sack, table.sack);
    put(&mut config.timestamps, table.timestamps.map(|tick| tick.0.map(|tick| tick.duration())));
    put(&mut config.nagle, table.nagle);
    put(&mut config.recv_buffer, table.recv_buffer.map(|n| Some(n.to())));
}

/// The congestion window limit of Chen, Xue and Nahrstedt (2003) as the TCP-AP paper uses it: a
/// quarter of the hops, halves rounded up, at least 1.
pub fn window_for_hops(hops: u32) -> u16 {
    u16::try_from(hops.saturating_add(2) / 4).unwrap_or(u16::MAX).max(1)
}

words! {
    /// Whose constants a TCP starts from.
    Preset(fn() -> Config) {
        "rfc" => Config::rfc,
        "ns2-1999" => Config::ns2_1999,
        "ns2-2002" => Config::ns2_2002,
        "ns2-2005" => Config::ns2_2005,
        "ns2-2.30" => Config::ns2_2_30,
        "linux" => Config::linux,
    }
}

/// The names. `tcp-2`, `tcp-3` and `tcp-uc` are those of the TPA paper, which delays ACKs.
const KINDS: &[(&str, Kind)] = &[
    ("udp", Kind::Udp),
    ("reno", tcp(Variant::Reno, Ack::Every, Window::OfPreset)),
    ("newreno", tcp(Variant::NewReno, Ack::Every, Window::OfPreset)),
    ("tcp-2", tcp(Variant::NewReno, Ack::Delayed, Window::Fixed(2))),
    ("tcp-3", tcp(Variant::NewReno, Ack::Delayed, Window::Fixed(3))),
    ("tcp-uc", tcp(Variant::NewReno, Ack::Delayed, Window::OfPreset)),
    ("tcp-cwl", tcp(Variant::NewReno, Ack::Every, Window::ByHops)),
];

/// What may follow the name of a TCP kind after a plus sign.
const SUFFIXES: &[(&str, Ack)] = &[("da", Ack::Delayed), ("dyn", Ack::Dynamic), ("ack1", Ack::Every)];

const fn tcp(variant: Variant, ack: Ack, window: Window) -> Kind {
    Kind::Tcp { variant, ack, window }
}
