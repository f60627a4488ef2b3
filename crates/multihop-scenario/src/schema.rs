//! The JSON Schema of scenario files, from the tables that read them.

use schemars::generate::SchemaSettings;

use super::tables::ScenarioTable;

/// The schema, for editors and other programs.
pub fn schema() -> serde_json::Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<ScenarioTable>();
    schema.insert("title".into(), "multihop scenario".into());
    schema.into()
}
