//! Checks the table `[expected]`: the measured goodput of a chain of each length.

use std::collections::BTreeMap;
use std::path::Path;

use super::in_folder;
use crate::document::{Fault, read_text, shorten};
use crate::faults::Faults;
use crate::tables::ExpectedTable;

/// Expected goodput by number of hops, from a JSON object such as `{"1": 1460.0, "2": 720.5}`.
pub(super) fn expected(
    table: &ExpectedTable,
    source: &Path,
    faults: &mut Faults<'_>,
) -> Option<BTreeMap<u32, f64>> {
    let (path, shown) = in_folder(source, &table.table);
    let goodput = read_text(&path, LONGEST)
        .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
        .and_then(|value| goodput(&value));
    match goodput {
        Ok(goodput) => Some(goodput),
        Err(message) => {
            faults.push(Fault::at_key("expected.table", format!("{shown}: {message}")));
            None
        }
    }
}

fn goodput(value: &serde_json::Value) -> Result<BTreeMap<u32, f64>, String> {
    let entries = value.as_object().filter(|entries| !entries.is_empty());
    let entries = entries.ok_or_else(|| format!("found {}, allowed: {FORM}", shorten(&value.to_string())))?;
    let mut goodput = BTreeMap::new();
    for (key, value) in entries {
        let hops = key.parse().ok().filter(|hops| (1..=MAX_HOPS).contains(hops));
        let hops: u32 =
            hops.ok_or_else(|| format!("found the key {:?}, allowed: 1 to {MAX_HOPS}", shorten(key)))?;
        let kbps = value.as_f64().filter(|kbps| (0.0..=MAX_KBPS).contains(kbps));
        let kbps = kbps.ok_or_else(|| {
            let found = shorten(&value.to_string());
            format!("found {found} for {hops} hops, allowed: a number from 0 to {MAX_KBPS:e}")
        })?;
        if goodput.insert(hops, kbps).is_some() {
            return Err(format!("found two entries for {hops} hops, allowed: one"));
        }
    }
    if let Some((missing, _)) = (1..).zip(goodput.keys()).find(|(wanted, hops)| wanted != *hops) {
        return Err(format!(
            "found no entry for {missing} hops, allowed: one for each number of hops from 1 on, without gaps"
        ));
    }
    Ok(goodput)
}

const FORM: &str = "hops and kb/s, such as {\"1\": 1460.0, \"2\": 720.5}";
/// Size of the largest file that is read, in bytes.
const LONGEST: usize = 1 << 20;
const MAX_HOPS: u32 = 99_999;
const MAX_KBPS: f64 = 1e6;
