//! Keys of `[record]`: the series to write.

use std::borrow::Cow;

use multihop_core::Duration;
use multihop_core::settings::{Allowed, Value, Visitor};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::SECONDS;
use crate::document::Node;
use crate::extension::Extensions;
use crate::faults::Faults;
use crate::model::{Record, Series};
use crate::read::{Fields, Keys, Read, describe, settings, whole_table};

/// The time series to write. The words of `what` are the series of the simulator and the quantities that
/// transports declare.
pub(crate) struct RecordTable(pub(crate) Record);

impl RecordTable {
    fn new() -> Self {
        Self(Record { every: Duration::from_millis(500), what: Vec::new() })
    }

    fn keys(&mut self, all: &[Series], keys: &mut dyn Visitor) {
        let about = "Time between two values, s; 0 writes each change.";
        keys.about(about).field("every", &mut self.0.every, SECONDS);
        let words: Vec<_> = all.iter().map(|series| series.word()).collect();
        let allowed = Allowed::Words(words).list();
        let given = keys.about("Names of the series.").required().value("what", allowed, None);
        let series = |value: Value| all.iter().copied().find(|series| value == Value::Word(series.word()));
        self.0.what = given.map_or_else(Vec::new, Value::into_list).into_iter().filter_map(series).collect();
    }
}

impl Fields for RecordTable {
    fn take(keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> Option<Self> {
        let all = faults.extensions.series();
        let mut table = Self::new();
        settings::take_listed(&mut |reader| table.keys(&all, reader), "this protocol", keys, faults);
        Some(table)
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        let all = Extensions::default().series();
        describe::schema_of(|keys| Self::new().keys(&all, keys))
    }
}

impl Read for RecordTable {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        let before = faults.len();
        whole_table(node, path, faults).filter(|_| faults.len() == before)
    }
}

impl JsonSchema for RecordTable {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RecordTable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Self::schema(generator);
        schema.insert("unevaluatedProperties".into(), false.into());
        schema
    }
}
