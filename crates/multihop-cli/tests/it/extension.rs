//! The command with user-defined protocols: the program of examples/my_protocols.rs.

#[expect(dead_code, reason = "the tests call the command themselves")]
#[path = "../../../../examples/my_protocols.rs"]
pub(crate) mod my_protocols;

use multihop_scenario::schema_with;
use serde_json::Value;

use super::Folder;

const SCENARIO: &str = include_str!("../../../../examples/my_protocols.toml");
const COUNTERS: &str = include_str!("../../../../examples/twice.toml");
const CONTROL: &str = include_str!("../../../../examples/fractional_window.toml");

/// The exit code of the program.
pub(crate) fn run(arguments: &[&str]) -> i32 {
    let all = ["my_protocols"].iter().chain(arguments).map(Into::into).collect();
    multihop_cli::main_with(all, &my_protocols::extensions())
}

#[test]
fn user_defined_protocols_have_results_series_and_captures() {
    let folder = Folder::new("extension-run").with("a.toml", SCENARIO);
    let (file, out) = (folder.path().join("a.toml"), folder.path().join("out"));
    let code = run(&["run", file.to_str().unwrap(), "--out", out.to_str().unwrap(), "--trace", "--pcap"]);
    assert_eq!(code, 0);
    let result = std::fs::read_to_string(out.join("result.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["flows"][0]["transport"], "stop-and-wait");
    assert!(result["routing"]["packets"]["beacon"].as_u64().unwrap() > 100, "{}", result["routing"]);
    assert!(result["totals"]["goodput_kbps"].as_f64().unwrap() > 1.0, "{}", result["totals"]);
    let series = std::fs::read_to_string(out.join("series.csv")).unwrap();
    assert!(series.contains("cwnd") && series.contains("rtt"), "{series}");
    assert!(out.join("packets.txt").metadata().unwrap().len() > 0);
    assert!(out.join("packets.pcapng").metadata().unwrap().len() > 0);
}

#[test]
fn a_page_has_the_log_of_a_run_with_user_defined_protocols() {
    for (name, text, shown) in [("counters", COUNTERS, "copies"), ("control", CONTROL, "slow-start")] {
        let folder = Folder::new(&format!("extension-view-{name}")).with("a.toml", text);
        let [file, page] = ["a.toml", "a.html"].map(|name| folder.path().join(name));
        let code = run(&["view", file.to_str().unwrap(), "--set", "duration=11.0"]);
        if !cfg!(feature = "view") {
            assert_eq!(code, 2, "without the feature a page has no logs");
            return;
        }
        if code == 1 {
            println!("skipped: the command was built without the page of multihop view");
            return;
        }
        assert_eq!(code, 0);
        let page = std::fs::read_to_string(page).unwrap();
        let data = page.split_once("id=\"request\">").unwrap().1.split_once('\u{3c}').unwrap().0;
        let data: Value = serde_json::from_str(data).unwrap();
        let run = &data["runs"][0];
        let names: Vec<_> =
            run["log"]["names"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(names.contains(&shown), "{names:?}");
        assert!(run["log"]["records"].as_str().unwrap().len() > 10_000);
        assert_eq!(run["log"]["network"]["flows"][0]["transport"], run["result"]["flows"][0]["transport"]);
    }
}

#[test]
fn a_sweep_over_the_keys_of_a_user_defined_protocol_is_resumed() {
    let folder = Folder::new("extension-sweep").with("a.toml", SCENARIO);
    let (file, out) = (folder.path().join("a.toml"), folder.path().join("out"));
    let sweep = || run(&["sweep", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let journal = || std::fs::read_to_string(out.join("runs.jsonl")).unwrap();
    assert_eq!(sweep(), 0);
    let first = journal();
    assert_eq!(first.lines().count(), 4);
    assert_eq!(sweep(), 0);
    assert_eq!(journal(), first, "finished runs are not repeated");
    let results = std::fs::read_to_string(out.join("results.jsonl")).unwrap();
    assert_eq!(results.lines().filter(|line| line.contains("\"routing.interval\":0.5")).count(), 2);
}

#[test]
fn other_commands_know_user_defined_protocols() {
    let folder = Folder::new("extension-check").with("a.toml", SCENARIO);
    let wrong = SCENARIO.replace("interval = 0.5", "intervall = 0.5");
    let folder = folder.with("b.toml", &wrong);
    assert_eq!(run(&["check", folder.path().join("a.toml").to_str().unwrap()]), 0);
    assert_eq!(run(&["check", folder.path().join("b.toml").to_str().unwrap()]), 2);
    let schema = schema_with(&my_protocols::extensions()).to_string();
    for help in ["Greedy geographic forwarding.", "One segment in flight at a time."] {
        assert!(schema.contains(help), "{schema}");
    }
}

#[test]
fn the_counters_of_a_user_defined_transport_are_in_results_series_and_tables() {
    let folder = Folder::new("extension-counters").with("a.toml", COUNTERS);
    let (file, out) = (folder.path().join("a.toml"), folder.path().join("out"));
    assert_eq!(run(&["run", file.to_str().unwrap(), "--out", out.to_str().unwrap(), "--csv"]), 0);
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let result: Value = serde_json::from_str(&read("result.json")).unwrap();
    let flow = &result["flows"][0];
    let count = |key: &str| flow["counters"][key].as_u64().unwrap_or_else(|| panic!("{key}: {flow}"));
    // The sender transmits one segment in 50 ms, after a warm-up of 10 s.
    assert_eq!((count("copies"), flow["segments_sent"].as_u64()), (400, Some(800)));
    let [spare, missed] = ["spare", "missed"].map(count);
    assert!(spare > 0 && missed > 0, "a third of the packets is lost on each link: {flow}");
    let delivered = flow["segments_delivered"].as_u64().unwrap();
    assert!((398..=402).contains(&(delivered + missed)), "{flow}");
    let series = read("series.csv");
    let last = |name: &str| {
        series.lines().rfind(|row| row.contains(name)).unwrap_or_else(|| panic!("{name}")).to_owned()
    };
    assert_eq!(last(",copies,"), "29,flow,0,copies,581", "from the start of the run");
    last(",spare,");
    last(",missed,");
    let columns = read("flows.csv").lines().next().unwrap().to_owned();
    assert!(columns.ends_with("counters.copies,counters.missed,counters.spare"), "{columns}");
}

#[test]
fn scenarios_record_only_what_some_transport_declares() {
    let folder = Folder::new("extension-words").with("a.toml", &COUNTERS.replace("\"spare\"", "\"spares\""));
    let file = folder.path().join("a.toml");
    assert_eq!(run(&["check", file.to_str().unwrap()]), 2);
    let known = super::multihop(&folder, &["check", "a.toml"]);
    assert_eq!(super::code(&known), 2, "the command alone does not have the transport");
    let schema = schema_with(&my_protocols::extensions());
    let words = schema["properties"]["record"]["properties"]["what"]["items"]["enum"].as_array().unwrap();
    assert!(words.contains(&"spare".into()) && words.contains(&"cwnd".into()), "{words:?}");
}

/// The result of a run of examples/fractional_window.toml with this transport, and its series.
fn run_control(name: &str, transport: &str) -> (Value, String) {
    let folder = Folder::new(name).with("a.toml", CONTROL);
    let (file, out) = (folder.path().join("a.toml"), folder.path().join("out"));
    let set = format!("flow.0.transport={transport}");
    let arguments =
        ["run", file.to_str().unwrap(), "--set", &set, "--out", out.to_str().unwrap(), "--pcap", "--trace"];
    assert_eq!(run(&arguments), 0);
    assert!(out.join("packets.pcapng").metadata().unwrap().len() > 0);
    let result = std::fs::read_to_string(out.join("result.json")).unwrap();
    (serde_json::from_str(&result).unwrap(), std::fs::read_to_string(out.join("series.csv")).unwrap())
}

/// The last congestion window in a series, in segments.
fn last_window(series: &str) -> f64 {
    let row = series.lines().rfind(|row| row.contains(",cwnd,")).expect("windows are recorded");
    row.rsplit(',').next().unwrap().parse().unwrap()
}

#[test]
fn a_user_defined_congestion_control_runs_under_tcp() {
    let (result, series) = run_control("control-run", "few");
    let flow = &result["flows"][0];
    assert_eq!(flow["transport"], "few");
    assert!(flow["goodput_kbps"].as_f64().unwrap() > 100.0, "{flow}");
    assert!(series.contains(",rtt_ms,") && series.contains(",state,"), "{series}");
    let (delayed, _) = run_control("control-suffix", "few+da");
    assert_eq!(delayed["flows"][0]["transport"], "few+da");
    let sent = |result: &Value| result["flows"][0]["segments_sent"].as_u64().unwrap();
    assert_ne!(sent(&result), sent(&delayed), "the suffix delays ACKs");
}

#[test]
fn keys_of_tcp_and_of_its_congestion_control_have_an_effect() {
    let quick = run_control("control-quick", "{ kind = \"few\", growth = 1.0 }").1;
    let slow = run_control("control-slow", "{ kind = \"few\", growth = 0.001, preset = \"rfc\" }").1;
    let clamped = run_control("control-clamped", "{ kind = \"few\", window_max = 2 }").1;
    let windows = [quick, slow, clamped].map(|series| last_window(&series));
    assert!(windows[0] > windows[1] && windows[2] <= 2.0, "{windows:?}");
}

#[test]
fn a_sweep_over_a_key_of_a_congestion_control_is_resumed_and_compared() {
    let folder = Folder::new("control-sweep").with("a.toml", CONTROL);
    let file = folder.path().join("a.toml");
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let sweep = |out: &str, set: &str| run(&["sweep", file.to_str().unwrap(), "--set", set, "--out", out]);
    assert_eq!(sweep(&path("few"), "duration=20.0"), 0);
    let journal = || std::fs::read_to_string(path("few/runs.jsonl")).unwrap();
    let first = journal();
    assert_eq!(first.lines().count(), 4, "two values and two seeds");
    assert_eq!(sweep(&path("few"), "duration=20.0"), 0);
    assert_eq!(journal(), first, "finished runs are not repeated");
    assert_eq!(sweep(&path("clamped"), "flow.0.transport.window_max=3"), 0);
    assert_eq!(run(&["compare", &path("few"), &path("clamped"), "--json"]), 0);
}

#[test]
fn runs_with_a_user_defined_congestion_control_are_compared() {
    let folder = Folder::new("control-compare").with("few.toml", CONTROL);
    let built_in = CONTROL.split("[sweep]").next().unwrap();
    let built_in = built_in.replace("{ kind = \"few\", growth = 0.02 }", "\"newreno\"");
    let folder = folder.with("newreno.toml", &built_in);
    let names = ["few.toml", "newreno.toml"].map(|name| folder.path().join(name));
    let names = names.each_ref().map(|name| name.to_str().unwrap());
    assert_eq!(run(&["compare", names[0], names[1], "--set", "duration=12.0"]), 0);
    let unknown = super::multihop(&folder, &["compare", "few.toml", "newreno.toml"]);
    assert_eq!(super::code(&unknown), 2, "the command alone does not have it");
}

#[test]
fn messages_and_the_schema_know_congestion_controls() {
    let folder = Folder::new("control-check").with("a.toml", CONTROL);
    let folder = folder.with("b.toml", &CONTROL.replace("growth = 0.02 }", "gorwth = 0.02 }"));
    assert_eq!(run(&["check", folder.path().join("a.toml").to_str().unwrap()]), 0);
    assert_eq!(run(&["check", folder.path().join("b.toml").to_str().unwrap()]), 2);
    let schema = schema_with(&my_protocols::extensions()).to_string();
    for part in [
        "NewReno that grows by a fraction of a segment.",
        "Growth of the window",
        "\"few+da+elfn\"",
        "\"few\"",
    ] {
        assert!(schema.contains(part), "{part}");
    }
}
