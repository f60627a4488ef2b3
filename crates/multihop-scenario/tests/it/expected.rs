//! `[expected]`: goodput of chains from a file.

use super::{SMALLEST, folder, load_in};

#[test]
fn a_table_of_chains() {
    let files = [("chain.json", "{\"1\": 1460.5, \"3\": 480, \"2\": 720.25}")];
    let folder = folder("expected", &files);
    let text = format!("{SMALLEST}[expected]\ntable = \"chain.json\"\n");
    let table = load_in(&folder, &text).unwrap().expected.unwrap();
    assert_eq!(table.into_iter().collect::<Vec<_>>(), [(1, 1460.5), (2, 720.25), (3, 480.0)]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn problems_of_a_table() {
    let form = "allowed: hops and kb/s, such as {\"1\": 1460.0, \"2\": 720.5}";
    let cases = [
        ("[1]", format!("found [1], {form}")),
        ("{}", format!("found {{}}, {form}")),
        ("{\"1\": 1, \"x\": 2}", "found the key \"x\", allowed: 1 to 99999".to_owned()),
        ("{\"0\": 1}", "found the key \"0\", allowed: 1 to 99999".to_owned()),
        ("{\"1\": -1}", "found -1 for 1 hops, allowed: a number from 0 to 1e6".to_owned()),
        ("{\"1\": \"fast\"}", "found \"fast\" for 1 hops, allowed: a number from 0 to 1e6".to_owned()),
        (
            "{\"1\": 5, \"3\": 1}",
            "found no entry for 2 hops, allowed: one for each number of hops from 1 on, without gaps"
                .to_owned(),
        ),
        (
            "{\"2\": 5}",
            "found no entry for 1 hops, allowed: one for each number of hops from 1 on, without gaps"
                .to_owned(),
        ),
        ("{\"1\": 5, \"01\": 6}", "found two entries for 1 hops, allowed: one".to_owned()),
        ("{", "EOF while parsing an object at line 1 column 1".to_owned()),
    ];
    let folder = folder("expected-problems", &[]);
    let text = format!("{SMALLEST}[expected]\ntable = \"chain.json\"\n");
    for (json, message) in cases {
        std::fs::write(folder.join("chain.json"), json).unwrap();
        let found = load_in(&folder, &text).unwrap_err();
        assert_eq!(found, format!("/x.toml:8:9: expected.table: /chain.json: {message}"));
    }
    let missing = load_in(&folder, &text.replace("chain.json", "none.json")).unwrap_err();
    assert!(missing.starts_with("/x.toml:8:9: expected.table: /none.json: No such file"), "{missing}");
    let endless = load_in(&folder, &text.replace("chain.json", "/dev/zero")).unwrap_err();
    assert!(endless.contains("/dev/zero: found more than 1048576 bytes"), "{endless}");
    std::fs::remove_dir_all(folder).unwrap();
}
