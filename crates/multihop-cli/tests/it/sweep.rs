//! Tests of `multihop sweep`.

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
fn results_do_not_depend_on_the_number_of_jobs() {
    let folder = Folder::new("jobs").with("a.toml", &swept());
    let run = |jobs: &str, out: &str| {
        let output = multihop(&folder, &["sweep", "a.toml", "--json", "--jobs", jobs, "--out", out]);
        assert_eq!((code(&output), stderr(&output)), (0, ""));
        assert_eq!(results(stdout(&output)), results(&folder.read(&format!("{out}/results.jsonl"))));
        (results(stdout(&output)), folder.read(&format!("{out}/results.jsonl")))
    };
    let (one, file) = run("1", "o1");
    assert_eq!((one.clone(), file), run("3", "o3"));
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
fn a_run_of_a_sweep_equals_a_single_run() {
    let folder = Folder::new("alone").with("a.toml", &swept());
    let sweep = multihop(&folder, &["sweep", "a.toml", "--json"]);
    let mut of_sweep = results(stdout(&sweep)).remove(7);
    for key in ["sweep", "key", "version"] {
        of_sweep.as_object_mut().unwrap().remove(key).unwrap();
    }
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
fn a_resumed_sweep_performs_only_missing_runs() {
    let folder = Folder::new("resume").with("a.toml", &swept());
    let sweep = || assert_eq!(code(&multihop(&folder, &["sweep", "a.toml", "--jobs", "1", "--out", "o"])), 0);
    sweep();
    let (all, whole) = (folder.read("o/runs.jsonl"), folder.read("o/results.jsonl"));
    assert_eq!(all.lines().count(), 8);
    // Killed in the middle of the fourth line.
    let kept: usize = all.split_inclusive('\n').take(3).map(str::len).sum();
    std::fs::write(folder.path().join("o/runs.jsonl"), &all[..kept + 40]).unwrap();
    sweep();
    let again = folder.read("o/runs.jsonl");
    assert!(again.starts_with(&all[..kept + 40]));
    assert_eq!(again.lines().count(), 3 + 1 + 5, "five runs were missing");
    assert_eq!(folder.read("o/results.jsonl"), whole);
    sweep();
    assert_eq!(folder.read("o/runs.jsonl"), again, "nothing was missing");
}

#[test]
fn the_last_shard_writes_the_results() {
    let folder = Folder::new("shards").with("a.toml", &swept());
    let sweep = |more: &[&str]| multihop(&folder, &[&["sweep", "a.toml", "--out"], more].concat());
    let first = sweep(&["parts", "--shard", "1/2"]);
    assert!(stderr(&first).contains("4 of 8 runs are missing"), "{}", stderr(&first));
    assert!(!folder.path().join("o/results.jsonl").exists());
    assert_eq!(stderr(&sweep(&["parts", "--shard", "2/2"])), "");
    assert_eq!(code(&sweep(&["whole"])), 0);
    assert_eq!(folder.read("parts/results.jsonl"), folder.read("whole/results.jsonl"));
    assert_eq!(code(&sweep(&["parts", "--shard", "3/2"])), 2);
}

#[test]
fn commands_of_the_python_package_are_named() {
    let folder = Folder::new("python").with("a.toml", &swept());
    let on = ["sweep", "a.toml", "--on", "tcp://host:8786"];
    for (args, package) in
        [(&on[..], "multihop[cluster]"), (&["papers", "run", "--quick"], "multihop[papers]")]
    {
        let output = multihop(&folder, args);
        assert_eq!((code(&output), stdout(&output)), (2, ""));
        assert!(stderr(&output).contains(&format!("pip install '{package}'")), "{}", stderr(&output));
    }
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
fn a_value_of_the_command_line_replaces_those_of_an_axis() {
    let folder = Folder::new("replaced").with("a.toml", &swept());
    let sweep = |more: &[&str]| {
        let output = multihop(&folder, &[&["sweep", "a.toml"], more].concat());
        assert_eq!((code(&output), stderr(&output)), (0, ""));
        stdout(&output).to_owned()
    };
    let table = sweep(&["--set", "topology.hops=3"]);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("| flow.*.transport | runs |"), "{table}");
    assert_eq!(lines.len(), 2 + 2 + 2);
    let all = sweep(&["--set", "topology.hops=3", "--set", "flow.*.transport=vegas", "--json"]);
    assert_eq!(results(&all).len(), 2, "one combination, two seeds");
}

#[test]
fn a_sweep_needs_a_table() {
    let folder = Folder::new("no-sweep").with("a.toml", SHORT);
    let output = multihop(&folder, &["sweep", "a.toml"]);
    assert_eq!((code(&output), stdout(&output)), (2, ""));
    assert!(stderr(&output).starts_with("a.toml: sweep: is missing, allowed: "), "{}", stderr(&output));
}

#[test]
fn a_run_whose_line_is_damaged_is_run_again() {
    let folder = Folder::new("damaged").with("a.toml", &swept());
    let sweep = || assert_eq!(code(&multihop(&folder, &["sweep", "a.toml", "--jobs", "1", "--out", "o"])), 0);
    sweep();
    let (journal, results) = (folder.read("o/runs.jsonl"), folder.read("o/results.jsonl"));
    let key = "\"goodput_kbps\":";
    let digit = journal.find(key).unwrap() + key.len();
    let mut damaged = journal.clone().into_bytes();
    damaged[digit] = if damaged[digit] == b'9' { b'8' } else { b'9' };
    std::fs::write(folder.path().join("o/runs.jsonl"), damaged).unwrap();
    std::fs::remove_file(folder.path().join("o/results.jsonl")).unwrap();
    sweep();
    assert_eq!(folder.read("o/results.jsonl"), results);
    assert_eq!(folder.read("o/runs.jsonl").lines().count(), 8 + 1);
}

#[test]
fn a_line_for_each_run_if_asked_and_none_if_quiet() {
    let folder = Folder::new("sweep-verbose").with("a.toml", &format!("{SHORT}[sweep]\nseeds = 2\n"));
    let loud = multihop(&folder, &["sweep", "a.toml", "-v"]);
    assert_eq!((code(&loud), stderr(&loud)), (0, "a.toml: 1 of 2 runs\na.toml: 2 of 2 runs\n"));
    let both = multihop(&folder, &["sweep", "a.toml", "-q", "-v"]);
    assert_eq!(code(&both), 2);
    assert!(stderr(&both).contains("cannot be used with"), "{}", stderr(&both));
}

#[test]
fn tables_are_printed_and_written_as_csv() {
    let folder = Folder::new("sweep-csv").with("a.toml", &swept());
    let output = multihop(&folder, &["sweep", "a.toml", "--csv", "--out", "o"]);
    assert_eq!((code(&output), stderr(&output)), (0, ""));
    let text = stdout(&output);
    assert_eq!(text.trim_end(), folder.read("o/runs.csv").trim_end());
    assert!(text.starts_with("flow.*.transport,topology.hops,seed,key,scenario,"), "{text}");
    assert_eq!(text.lines().count(), 1 + 8);
    let columns: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    for wanted in ["totals.delivery_ratio", "totals.delay_ms.mean", "totals.delay_ms.p99", "totals.jitter_ms"]
    {
        assert!(columns.contains(&wanted), "{wanted} of {columns:?}");
    }
    // There is one flow; two or four nodes, each in half of the runs.
    for (name, rows) in [("flows", 8), ("nodes", 4 * 2 + 4 * 4)] {
        assert_eq!(folder.read(&format!("o/{name}.csv")).lines().count(), 1 + rows, "{name}");
    }
    assert!(folder.read("o/links.csv").starts_with("flow.*.transport,topology.hops,seed,key,from,to,"));
}

#[test]
fn a_run_of_a_folder_is_chosen_by_its_axes_and_seed() {
    let folder = Folder::new("sweep-view").with("a.toml", &swept());
    assert_eq!(code(&multihop(&folder, &["sweep", "a.toml", "--out", "o"])), 0);
    let list = multihop(&folder, &["view", "o"]);
    let text = stdout(&list);
    assert_eq!((code(&list), stderr(&list)), (0, ""));
    assert!(text.starts_with("| run | flow.*.transport | topology.hops | seed |"), "{text}");
    assert!(text.contains("| 7   ") || text.contains("|   7 |"), "{text}");
    assert!(
        text.ends_with("multihop view o --run N, or with --set flow.*.transport=... --seed N\n"),
        "{text}"
    );
    let some = multihop(&folder, &["view", "o", "--set", "topology.hops=3", "--seed", "2"]);
    assert_eq!(
        stdout(&some).lines().filter(|line| line.contains(" newreno |") || line.contains(" tcp-2 |")).count(),
        2
    );
    let refused = |args: &[&str]| {
        let output = multihop(&folder, &[&["view", "o"], args].concat());
        assert_eq!((code(&output), stdout(&output)), (2, ""), "{args:?}");
        stderr(&output).to_owned()
    };
    let message = "multihop: --run 8: allowed: 0 to 7, as multihop view o lists them\n";
    assert_eq!(refused(&["--run", "8"]), message);
    let message = refused(&["--set", "topology.hops=2"]);
    assert!(message.contains("--set topology.hops= 1, 3") && message.contains("newreno, tcp-2"), "{message}");
    let message = refused(&["--set", "duration=2"]);
    assert!(
        message.contains("duration is no axis of the sweep in o, allowed: flow.*.transport"),
        "{message}"
    );
    let page = multihop(&folder, &["view", "o", "--run", "7"]);
    if stderr(&page).contains("built without the page") {
        println!("skipped: the command was built without the page of multihop view");
        return;
    }
    assert_eq!((code(&page), stdout(&page)), (0, "o/run-7.html: open it in a browser\n"));
    let by_axes =
        ["--set", "topology.hops=3", "--set", "flow.*.transport=tcp-2", "--seed", "2", "--out", "b.html"];
    assert_eq!(code(&multihop(&folder, &[&["view", "o"], &by_axes[..]].concat())), 0);
    assert_eq!(folder.read("b.html"), folder.read("o/run-7.html"));
}
