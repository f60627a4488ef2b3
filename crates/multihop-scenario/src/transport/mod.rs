//! Short names of transports, the parameters behind them, and the combinations that are allowed.
//!
//! A name is a row of [`KINDS`], with suffixes from [`SUFFIXES`] after it. Each family of transports has a
//! file with the differences between its kinds. The keys of a family come from its configuration.

mod parameters;
mod tcp;
mod tpa;
pub mod transport_name;

use std::borrow::Cow;
use std::iter;
use std::mem::discriminant;
use std::sync::LazyLock;

use multihop_transport::congestion::Variant;
use multihop_transport::pacing::Clock;
use multihop_transport::tcp::Restore;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

pub(super) use parameters::{control_schema, take, tcp_keys};

use super::document::{Fault, Node, Value};
use super::extension::{Entry, Extensions, NewTransport};
use super::read::{Read, one_of, wrong_word};
use crate::faults::Faults;
use tcp::{
    Ack, CLAMPED_BY_HOPS, NEWRENO, TcpKind, clamped, congestion_control, custom_control, delayed, elfn, paced,
};
use tpa::{TPA, TpaKind, plain, star};

/// A short name that exists.
#[derive(Clone)]
struct Name {
    text: String,
    kind: Kind,
}

/// Transport that a name stands for, by its family.
#[derive(Clone)]
enum Kind {
    Udp,
    Tcp(TcpKind),
    Tpa(TpaKind),
    Mesh,
    /// Transport that the user has defined.
    Custom(Entry<NewTransport>),
}

/// Addition that may follow the name of a transport after a plus sign.
#[derive(Clone, Copy)]
enum Suffix {
    Ack(Ack),
    /// Explicit link failure notification.
    Elfn,
    /// Adaptive pacing of segments.
    Pacing,
}

/// Short names of all transports: UDP, the congestion controls of TCP, and the other kinds.
static KINDS: LazyLock<Vec<(&'static str, Kind)>> = LazyLock::new(|| {
    let variants = Variant::ALL.iter().map(|&(name, variant)| (name, Kind::Tcp(congestion_control(variant))));
    iter::once((transport_name::UDP, Kind::Udp)).chain(variants).chain(OTHERS.iter().cloned()).collect()
});

/// Short names of other kinds. `tcp-2`, `tcp-3` and `tcp-uc` come from the TPA paper, which uses delayed
/// ACKs.
const OTHERS: &[(&str, Kind)] = &[
    ("tcp-2", Kind::Tcp(clamped(2))),
    ("tcp-3", Kind::Tcp(clamped(3))),
    ("tcp-uc", Kind::Tcp(delayed(NEWRENO))),
    ("tcp-cwl", Kind::Tcp(CLAMPED_BY_HOPS)),
    ("tcp-ap", Kind::Tcp(paced(NEWRENO, Clock::Own))),
    ("tcp-ap-sync", Kind::Tcp(paced(NEWRENO, Clock::Synchronised))),
    ("elfn", Kind::Tcp(elfn(Restore::Keep))),
    ("elfn-w", Kind::Tcp(elfn(Restore::Window))),
    ("elfn-rto-w", Kind::Tcp(elfn(Restore::RtoWindow))),
    (transport_name::TPA, Kind::Tpa(TPA)),
    ("tpa-2", Kind::Tpa(plain(2))),
    ("tpa-3", Kind::Tpa(plain(3))),
    ("tpa*-2", Kind::Tpa(star(2))),
    ("tpa*-3", Kind::Tpa(star(3))),
    ("tpa-ap-2", Kind::Tpa(plain(2).paced())),
    ("tpa-ap-3", Kind::Tpa(plain(3).paced())),
    ("tpa*-ap-3", Kind::Tpa(star(3).paced())),
    (transport_name::MESH, Kind::Mesh),
];

/// Spellings of `tpa*`, and of its alternative for shells, where a star is a wildcard.
const STAR: &str = "tpa*";
const STAR_FOR_SHELLS: &str = "tpa-star";

const SUFFIXES: &[(&str, Suffix)] = &[
    ("da", Suffix::Ack(Ack::Delayed)),
    ("dyn", Suffix::Ack(Ack::Dynamic)),
    ("tack", Suffix::Ack(Ack::Tack)),
    ("ack1", Suffix::Ack(Ack::Every)),
    ("elfn", Suffix::Elfn),
    ("ap", Suffix::Pacing),
];

/// Applies a suffix to a transport, or explains why the two do not go together.
fn compose(kind: &Kind, suffix: Suffix) -> Result<Kind, &'static str> {
    match (kind, suffix) {
        (Kind::Tcp(tcp), Suffix::Ack(ack)) => Ok(Kind::Tcp(TcpKind { ack, ..*tcp })),
        (Kind::Tcp(tcp), Suffix::Elfn) if tcp.elfn.is_some() => Err("it has stand-by already"),
        (Kind::Tcp(tcp), Suffix::Elfn) if tcp.is_adtcp() => Err("ADTCP detects disconnections itself"),
        (Kind::Tcp(tcp), Suffix::Elfn) => Ok(Kind::Tcp(TcpKind { elfn: Some(Restore::Keep), ..*tcp })),
        (Kind::Tpa(_), Suffix::Elfn) => Err("TPA has its own freeze state: use notices = true"),
        (Kind::Udp, Suffix::Elfn) => Err("UDP has no retransmissions that +elfn could suspend"),
        (Kind::Tcp(tcp), Suffix::Pacing) if tcp.is_paced() => Err("it is paced already"),
        (Kind::Tcp(tcp), Suffix::Pacing) => Ok(Kind::Tcp(paced(*tcp, Clock::Own))),
        (Kind::Tpa(tpa), Suffix::Pacing) if tpa.is_paced() => Err("it is paced already"),
        (Kind::Tpa(tpa), Suffix::Pacing) => Ok(Kind::Tpa(tpa.paced())),
        (Kind::Udp, Suffix::Pacing) => Err("UDP does not measure the round trips that pacing needs"),
        (Kind::Tpa(_), Suffix::Ack(_)) => Err("TPA has its own ACK rules: TPA and TPA*"),
        (Kind::Udp, Suffix::Ack(_)) => Err("UDP has no ACKs"),
        (Kind::Mesh, _) => Err("mesh has its own ACK rule, pacing and freeze state"),
        (Kind::Custom(_), _) => Err("user-defined transports have no suffixes"),
    }
}

/// Adds a suffix to a name, or returns the reason why they cannot be combined.
fn extend(
    (name, kind): &(String, Kind),
    (word, suffix): &(&str, Suffix),
) -> Result<(String, Kind), &'static str> {
    let earlier = name.split('+').skip(1).filter_map(find_suffix);
    if earlier.map(|(_, earlier)| discriminant(earlier)).any(|earlier| earlier == discriminant(suffix)) {
        return Err("two suffixes set the same parameter");
    }
    Ok((format!("{name}+{word}"), compose(kind, *suffix)?))
}

fn find_suffix(word: &str) -> Option<&'static (&'static str, Suffix)> {
    SUFFIXES.iter().find(|(name, _)| *name == word)
}

fn find_kind(name: &str, extensions: &Extensions) -> Option<Kind> {
    let built_in = KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| kind.clone());
    built_in.or_else(|| user_defined(extensions).find(|(known, _)| *known == name).map(|(_, kind)| kind))
}

/// The names that a program adds: its transports, and TCP with the program's congestion controls.
fn user_defined(extensions: &Extensions) -> impl Iterator<Item = (&'static str, Kind)> {
    let transports = extensions.transports.iter().map(|&entry| (entry.extension.name, Kind::Custom(entry)));
    let controls = extensions.controls.iter();
    let controls = controls.map(|&entry| (entry.extension.name, Kind::Tcp(custom_control(entry))));
    transports.chain(controls)
}

/// The names of the built-in transports, without suffixes.
pub(super) fn built_in_transports() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(name, _)| *name)
}

/// Whether `name` selects a kind of TPA.
pub(super) fn is_tpa(name: &str, extensions: &Extensions) -> bool {
    Name::parse(name, extensions).is_ok_and(|name| matches!(name.kind, Kind::Tpa(_)))
}

/// Every name of these kinds, with all allowed suffixes in any order.
fn with_suffixes(kinds: impl Iterator<Item = (&'static str, Kind)>) -> Vec<(String, Kind)> {
    let mut all: Vec<_> = kinds.map(|(name, kind)| (name.to_owned(), kind)).collect();
    let mut shortest = 0;
    while let Some(name) = all.get(shortest).cloned() {
        all.extend(SUFFIXES.iter().filter_map(|suffix| extend(&name, suffix).ok()));
        shortest += 1;
    }
    all
}

/// Every name of a built-in transport, with all allowed suffixes in any order.
fn names() -> Vec<(String, Kind)> {
    let mut all = with_suffixes(KINDS.iter().cloned());
    let for_shells = |(name, kind): &(String, Kind)| (name.replace(STAR, STAR_FOR_SHELLS), kind.clone());
    let stars: Vec<_> = all.iter().filter(|(name, _)| name.contains(STAR)).map(for_shells).collect();
    all.extend(stars);
    all
}

/// List of the suffixes that may follow some transport of a family.
fn suffixes_after(belongs: fn(&Kind) -> bool) -> String {
    let goes = |suffix| KINDS.iter().any(|(_, kind)| belongs(kind) && compose(kind, suffix).is_ok());
    let words: Vec<_> =
        SUFFIXES.iter().filter(|(_, suffix)| goes(*suffix)).map(|(word, _)| format!("+{word}")).collect();
    words.join(", ")
}

/// Reason for which a text is not a valid name.
enum Refusal {
    Unknown,
    /// The parts of the name exist but cannot be combined.
    Senseless(&'static str),
}

impl Name {
    fn parse(text: &str, extensions: &Extensions) -> Result<Self, Refusal> {
        let text = text.replace(STAR_FOR_SHELLS, STAR);
        let mut words = text.split('+');
        let base = words.next().unwrap_or_default();
        let kind = find_kind(base, extensions).ok_or(Refusal::Unknown)?;
        let mut named = (base.to_owned(), kind);
        for word in words {
            let suffix = find_suffix(word).ok_or(Refusal::Unknown)?;
            named = extend(&named, suffix).map_err(Refusal::Senseless)?;
        }
        let (text, kind) = named;
        Ok(Self { text, kind })
    }
}

impl Read for Name {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        let found = match &node.value {
            Value::Text(text) => Self::parse(text, faults.extensions),
            _ => Err(Refusal::Unknown),
        };
        match found {
            Ok(name) => Some(name),
            Err(Refusal::Senseless(reason)) => {
                faults.push(Fault::at(node.origin, path, format!("found {}, but {reason}", node.value)));
                None
            }
            Err(Refusal::Unknown) => {
                let custom: Vec<_> = user_defined(faults.extensions).collect();
                let kinds = one_of(built_in_transports().chain(custom.iter().map(|(name, _)| *name)));
                let allowed = format!(
                    "{kinds}, tpa-star for tpa*, after a TCP kind {}, after a TPA kind {}, or a table of parameters",
                    suffixes_after(|kind| matches!(kind, Kind::Tcp(_))),
                    suffixes_after(|kind| matches!(kind, Kind::Tpa(_))),
                );
                let all = names().into_iter().chain(with_suffixes(custom.into_iter()));
                let all: Vec<_> = all.map(|(name, _)| name).collect();
                wrong_word(node, path, &allowed, all.iter().map(String::as_str), faults)
            }
        }
    }
}

impl JsonSchema for Name {
    fn schema_name() -> Cow<'static, str> {
        "TransportName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<String> = names().into_iter().map(|(name, _)| name).collect();
        json_schema!({
            "description": "+da delays ACKs, +dyn acknowledges less and less often, down to every fourth segment, +tack acknowledges at most four times in a round trip, +ack1 acknowledges every segment, +elfn goes on stand-by after a link failure, +ap paces.",
            "type": "string",
            "enum": names,
        })
    }
}
