//! The scenarios that the program contains.

use std::path::Path;

use multihop_core::{Duration, Instant};
use multihop_radio::params::Model;
use multihop_scenario::{EXAMPLES, Example, Scenario, Source};

#[test]
fn every_file_is_an_example_with_a_description() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().count();
    assert!(files > 20);
    assert_eq!(EXAMPLES.len(), files);
    for example in EXAMPLES {
        let source = Source::named(Path::new(example.name)).unwrap();
        Scenario::load(&source, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let about = example.about();
        assert!((10..200).contains(&about.len()) && !about.ends_with('.'), "{}: {about}", example.name);
    }
}

#[test]
fn a_name_is_that_of_a_file_or_of_an_example() {
    let folder = std::env::temp_dir().join(format!("multihop-examples-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("chain-4");
    std::fs::write(&file, "duration = 1.0").unwrap();
    let Source::Toml { text, .. } = Source::named(&file).unwrap() else { panic!("it is TOML") };
    assert_eq!(text, "duration = 1.0");
    std::fs::remove_dir_all(&folder).unwrap();
    let Source::Toml { text, name } = Source::named(Path::new("chain-4")).unwrap() else {
        panic!("it is TOML")
    };
    assert_eq!((text.as_str(), name.as_str()), (Example::find("chain-4").unwrap().text, "chain-4"));
    let absent = Source::named(Path::new("chain4")).unwrap_err().to_string();
    assert!(absent.starts_with("chain4: No such file"), "{absent}");
    assert!(absent.ends_with(", did you mean \"chain-4\"?"), "{absent}");
}

#[test]
fn the_town_of_files_is_the_built_in_town() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/town/town.toml");
    let [files, built_in] = [file.as_path(), Path::new("town")]
        .map(|path| Scenario::load(&Source::named(path).unwrap(), &[]).unwrap());
    let houses = |scenario: &Scenario| {
        let Model::Sinr(sinr) = &scenario.radio().model else { panic!("{:?}", scenario.radio()) };
        sinr.obstacles.clone().unwrap().all().to_vec()
    };
    assert_eq!((houses(&files).len(), houses(&built_in).len()), (11, 11));
    for (one, other) in houses(&files).iter().zip(houses(&built_in)) {
        assert!(one.rings[0][2].distance(other.rings[0][2]) < 0.1, "{one:?} {other:?}");
    }
    for seconds in [0, 30, 100] {
        let at = Instant::ZERO + Duration::from_secs(seconds);
        let places = |scenario: &Scenario| {
            let layout = scenario.topology.place(scenario.seed).unwrap();
            scenario.tracks(&layout).iter_mut().map(|track| track.at(at)).collect::<Vec<_>>()
        };
        let (files, built_in) = (places(&files), places(&built_in));
        assert_eq!(files.len(), 12);
        for (one, other) in files.iter().zip(&built_in) {
            assert!(one.distance(*other) < 0.2, "{one:?} {other:?} at {seconds} s");
        }
    }
}
