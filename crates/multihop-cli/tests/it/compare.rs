//! Tests of `multihop compare`. How its page works is tested in `web/test`.

use super::{Folder, SHORT, code, multihop, stderr, stdout};

/// Three hops with a transport; the second flow starts at 2.5 s.
fn three_hops(transport: &str) -> String {
    format!(
        "duration = 6.0\nwarmup = 1.0\n[topology]\nkind = \"chain\"\nhops = 3\n[[flow]]\ntransport = \"newreno\"\n\
         [[flow]]\nfrom = 3\nto = 0\nstart = 2.5\ntransport = \"{transport}\"\n"
    )
}

fn folder(name: &str) -> Folder {
    Folder::new(name).with("a.toml", &three_hops("newreno")).with("b.toml", &three_hops("tpa-2"))
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn runs_are_compared_in_pairs_with_intervals() {
    let folder = folder("compare-runs");
    let output = multihop(&folder, &["compare", "a.toml", "b.toml", "--seeds", "4", "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let found = json(stdout(&output));
    assert_eq!(found["names"], serde_json::json!(["a", "b"]));
    let goodput = |name: &str, seed: usize| {
        let run = multihop(&folder, &["run", name, "--seed", &seed.to_string(), "--json"]);
        json(stdout(&run))["totals"]["goodput_kbps"].as_f64().unwrap()
    };
    let pairs: Vec<f64> = (1..=4).map(|seed| goodput("b.toml", seed) - goodput("a.toml", seed)).collect();
    let mean = pairs.iter().sum::<f64>() / 4.0;
    let variance = pairs.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 3.0;
    // Student's t for 3 degrees of freedom and 95%, from a table.
    let half = 3.182_446 * (variance / 4.0).sqrt();
    let difference = &found["rows"][0]["differences"][0];
    assert_eq!(found["rows"][0]["metric"], "goodput, kb/s");
    assert_eq!(difference["pairs"], 4);
    assert!((difference["mean"].as_f64().unwrap() - mean).abs() < 1e-9, "{difference} {mean}");
    assert!((difference["half_width"].as_f64().unwrap() - half).abs() < 1e-4, "{difference} {half}");
}

#[test]
fn runs_differ_first_where_another_transport_begins() {
    let folder = folder("compare-first");
    let output = multihop(&folder, &["compare", "a.toml", "b.toml"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("the first two runs first differ at 2.5"), "{text}");
    assert!(text.contains("a: 2.5") && text.contains("b: 2.5"), "{text}");
    let counts = text.lines().find(|line| line.contains("collisions")).expect("a row of collisions");
    assert!(!counts.contains('.'), "counts of one run are whole: {counts}");
    let same = multihop(&folder, &["compare", "a.toml", "a.toml"]);
    assert!(stdout(&same).contains("no packet of the first two runs differs"), "{}", stdout(&same));
}

#[test]
fn sweeps_are_compared_by_axes_and_seeds() {
    let sweep = "[sweep]\nseeds = 3\n\"topology.hops\" = [1, 2]\n";
    let folder = Folder::new("compare-sweeps")
        .with("a.toml", &format!("{SHORT}{sweep}"))
        .with("b.toml", &format!("{}{sweep}", SHORT.replace("newreno", "tpa-2")));
    for name in ["a", "b"] {
        let done = multihop(&folder, &["sweep", &format!("{name}.toml"), "--out", name]);
        assert_eq!(code(&done), 0, "{}", stderr(&done));
    }
    let output = multihop(&folder, &["compare", "a", "b", "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let found = json(stdout(&output));
    let rows = found["rows"].as_array().unwrap();
    let of = |row: &serde_json::Value| row["of"].as_str().unwrap().to_owned();
    assert_eq!(
        (of(&rows[0]), of(rows.last().unwrap())),
        ("topology.hops=1".into(), "topology.hops=2".into())
    );
    assert!(rows.iter().all(|row| row["differences"][0]["pairs"] == 3 || row["differences"][0].is_null()));
    let table = multihop(&folder, &["compare", "a", "b"]);
    assert!(stdout(&table).contains("± half the 95% confidence interval"), "{}", stdout(&table));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = folder("compare-refused");
    let refused = |args: &[&str]| {
        let output = multihop(&folder, args);
        assert_eq!(code(&output), 2, "{args:?} {}", stderr(&output));
        stderr(&output).to_owned()
    };
    assert!(refused(&["compare", "a.toml"]).contains("2 values required"), "one run");
    assert!(refused(&["compare", "a.toml", "missing.toml"]).contains("missing.toml"));
    std::fs::create_dir(folder.path().join("s")).unwrap();
    std::fs::write(folder.path().join("s/results.jsonl"), "").unwrap();
    let message = "multihop: a.toml has no results.jsonl: a sweep can only be compared with other sweeps\n";
    assert_eq!(refused(&["compare", "s", "a.toml"]), message);
    let message = "multihop: no two runs have the same values of the axes and the same seed\n";
    assert_eq!(refused(&["compare", "s", "s"]), message);
}

#[test]
fn a_page_holds_both_runs_and_their_comparison() {
    let folder = folder("compare-page");
    let output = multihop(&folder, &["compare", "a.toml", "b.toml", "--out", "page.html"]);
    if stderr(&output).contains("built without the page") {
        println!("skipped: the command was built without the page of multihop view");
        return;
    }
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).ends_with("page.html: open it in a browser\n"), "{}", stdout(&output));
    let page = folder.read("page.html");
    assert!(
        page.contains(r#""name":"a""#)
            && page.contains(r#""name":"b""#)
            && page.contains(r#""first":{"at":2.5"#)
    );
}

#[test]
fn keys_that_differ_are_named() {
    let folder = folder("compare-keys");
    let output = multihop(&folder, &["compare", "a.toml", "b.toml"]);
    let text = stdout(&output);
    assert!(text.contains("the scenarios differ in:\n  flow.1.transport: newreno | tpa-2\n"), "{text}");
    let output = multihop(&folder, &["compare", "a.toml", "b.toml", "--json"]);
    let expected = serde_json::json!([{ "key": "flow.1.transport", "values": ["newreno", "tpa-2"] }]);
    assert_eq!(json(stdout(&output))["keys"], expected);
    for metric in ["delivery ratio", "mean delay, ms", "95% of delays, ms", "jitter, ms"] {
        assert!(text.contains(&format!("| {metric} ")), "{metric} of {text}");
    }
}
