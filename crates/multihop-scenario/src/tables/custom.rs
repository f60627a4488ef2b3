//! `[routing] protocol`: a built-in protocol, or a user-defined one.

use schemars::{Schema, SchemaGenerator};

use super::ProtocolTable;
use crate::document::Value;
use crate::extension::{CustomRouting, Entry, NewRouting};
use crate::faults::Faults;
use crate::read::{Fields, Keys, Kinds, settings};

/// Who forwards to whom.
pub(crate) enum ProtocolChoice {
    /// The protocols of this crate.
    BuiltIn(ProtocolTable),
    /// Those of the program.
    Custom(CustomRouting),
}

/// The names of the built-in protocols.
pub(crate) fn built_in_routing() -> impl Iterator<Item = &'static str> {
    ProtocolTable::kinds().into_iter().map(|(name, _)| name)
}

impl Fields for ProtocolChoice {
    fn take(keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> Option<Self> {
        let custom = &faults.extensions.routing;
        let wanted = keys.find(PROTOCOL).map(|node| &node.value);
        let chosen = custom
            .iter()
            .find(|entry| matches!(wanted, Some(Value::Text(name)) if name == entry.extension.name));
        let others = custom.clone();
        keys.mention(PROTOCOL, move || others.iter().map(keys_of).collect());
        let Some(&Entry { extension, make }) = chosen else {
            keys.offer(custom.iter().map(|entry| entry.extension.name));
            return ProtocolTable::take(keys, faults).map(Self::BuiltIn);
        };
        keys.mention(PROTOCOL, ProtocolTable::kinds);
        let mut config = make();
        settings::take(&mut *config, extension.name, keys, faults);
        Some(Self::Custom(CustomRouting { extension, config: config.into() }))
    }

    fn names() -> Vec<&'static str> {
        ProtocolTable::names()
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        ProtocolTable::schema(generator)
    }
}

fn keys_of(entry: &Entry<NewRouting>) -> (&'static str, Vec<&'static str>) {
    (entry.extension.name, settings::names(&mut *(entry.make)()))
}

const PROTOCOL: &str = "protocol";
