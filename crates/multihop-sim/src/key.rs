//! Keys that identify runs in journals, from the scenario and the build.

use multihop_scenario::{Problems, Scenario, Source, canonical};

use crate::fingerprint::Fingerprint;

/// Version and hash of the sources that decide results: two builds with the same value give the same results.
pub const BUILD: &str = env!("MULTIHOP_BUILD");

/// The key of a run: a hash of [`BUILD`], the scenario's name and seed, its canonical document, and the
/// names and versions of the user-defined protocols that it uses.
///
/// Two spellings of one scenario may have different keys; then the run is made twice. Two scenarios whose
/// results may differ never have the same key.
pub fn key(source: &Source, overrides: &[(String, String)], scenario: &Scenario) -> Result<String, Problems> {
    let document = canonical(source, overrides)?;
    let seed = scenario.seed.to_string();
    let mut fingerprint = Fingerprint::new();
    for part in [BUILD, &scenario.name, &seed, &document] {
        fingerprint.add(part.as_bytes());
        fingerprint.add(b"\n");
    }
    for extension in scenario.extensions() {
        fingerprint.add(format!("{} {}\n", extension.name, extension.version).as_bytes());
    }
    Ok(fingerprint.digits())
}
