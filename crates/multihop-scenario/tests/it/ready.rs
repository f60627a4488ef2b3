//! The scenarios that come with the project.

use std::path::Path;

use multihop_scenario::{Scenario, Source};

#[test]
fn every_bundled_scenario_is_valid_and_begins_with_a_comment() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let scenario = Scenario::load(&Source::from_file(&path).unwrap(), &[])
            .unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(path.file_stem().unwrap().to_str().unwrap(), scenario.name);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{} begins with what it is for", path.display());
        for axis in scenario.sweep.iter().flat_map(|sweep| &sweep.axes) {
            for point in &axis.points {
                let values = axis.keys.iter().zip(point);
                let overrides: Vec<_> =
                    values.map(|(key, value)| (key.clone(), value.text.clone())).collect();
                Scenario::load(&Source::from_file(&path).unwrap(), &overrides)
                    .unwrap_or_else(|problems| panic!("{problems}"));
            }
        }
        count += 1;
    }
    assert!(count >= 14, "{count} scenarios");
}
