//! `multihop sweep`.

use super::{Folder, SHORT, code, multihop, stderr, stdout};

fn swept() -> String {
    format!(
        "{SHORT}[sweep]\nseeds = 2\n\"flow.*.transport\" = [\"newreno\", \"tcp-2\"]\ntopology.hops = [1, 3]\n"
    )
}

/// Lines of JSON without the keys that depend on the clock.
fn results(text: &str) -> Vec<serde_json::Value> {
    text.lines()
        .map(|line| {
            let mut result: serde_json::Value = serde_json::from_str(line).unwrap();
            for key in ["wall_seconds", "events_per_second"] {
                result.as_object_mut().unwrap().remove(key).unwrap();
            }
            result
        })
        .collect()
}

#[test]
fn the_same_lines_in_the_same_order_whatever_the_number_of_jobs() {
    let folder = Folder::new("jobs").with("a.toml", &swept());
    let run = |jobs: &str| {
        let output = multihop(&folder, &["sweep", "a.toml", "--json", "--jobs", jobs, "--out", "o"]);
        assert_eq!((code(&output), stderr(&output)), (0, ""));
        assert_eq!(stdout(&output), folder.read("o/results.jsonl"));
        results(stdout(&output))
    };
    let one = run("1");
    assert_eq!(one, run("3"));
    let order: Vec<_> = one
        .iter()
        .map(|line| {
            let axis = |key: &str| line["sweep"][key].to_string();
            format!("{} {} {}", axis("flow.*.transport"), axis("topology.hops"), line["seed"])
        })
        .collect();
    let expected: Vec<String> = ["\"newreno\"", "\"tcp-2\""]
        .iter()
        .flat_map(|name| [1, 3].map(|hops| [1, 2].map(|seed| format!("{name} {hops} {seed}"))))
        .flatten()
        .collect();
    assert_eq!(order, expected);
}

#[test]
fn a_run_of_a_sweep_is_the_run_alone() {
    let folder = Folder::new("alone").with("a.toml", &swept());
    let sweep = multihop(&folder, &["sweep", "a.toml", "--json"]);
    let mut of_sweep = results(stdout(&sweep)).remove(7);
    of_sweep.as_object_mut().unwrap().remove("sweep").unwrap();
    let args = [
        "run",
        "a.toml",
        "--json",
        "--seed",
        "2",
        "--set",
        "flow.*.transport=tcp-2",
        "--set",
        "topology.hops=3",
    ];
    assert_eq!(of_sweep, results(stdout(&multihop(&folder, &args)))[0]);
}

#[test]
fn a_table_with_intervals() {
    let folder = Folder::new("intervals").with("a.toml", &swept());
    let output = multihop(&folder, &["sweep", "a.toml"]);
    assert_eq!((code(&output), stderr(&output)), (0, ""));
    let lines: Vec<&str> = stdout(&output).lines().collect();
    assert!(lines[0].starts_with("| flow.*.transport | topology.hops | runs |"), "{lines:?}");
    assert_eq!(lines.len(), 2 + 4 + 2);
    assert!(lines[2].starts_with("| newreno ") && lines[2].contains("±"), "{lines:?}");
}

#[test]
fn without_a_table_there_is_nothing_to_sweep() {
    let folder = Folder::new("no-sweep").with("a.toml", SHORT);
    let output = multihop(&folder, &["sweep", "a.toml"]);
    assert_eq!((code(&output), stdout(&output)), (2, ""));
    assert!(stderr(&output).starts_with("a.toml: sweep: is missing, allowed: "), "{}", stderr(&output));
}
