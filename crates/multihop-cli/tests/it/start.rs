//! `multihop example`, `multihop init`, `multihop completions` and `multihop manual`.

use super::{Folder, code, multihop, stderr, stdout};

#[test]
fn examples_are_listed_printed_and_run_by_name() {
    let folder = Folder::new("example");
    let list = multihop(&folder, &["example"]);
    assert_eq!(code(&list), 0);
    let line = "chain-4              The usual benchmark: one flow over a chain of four hops, ";
    assert!(stdout(&list).contains(line), "{}", stdout(&list));
    let chain = multihop(&folder, &["example", "chain-4"]);
    assert_eq!(stdout(&chain), include_str!("../../../../scenarios/chain-4.toml"));
    let absent = multihop(&folder, &["example", "chain4"]);
    assert_eq!(code(&absent), 2);
    assert_eq!(stderr(&absent), "multihop: there is no example \"chain4\", did you mean \"chain-4\"?\n");
    let run = multihop(&folder, &["run", "chain-4", "--set", "duration=21", "--json"]);
    assert_eq!(code(&run), 0, "{}", stderr(&run));
    assert!(stdout(&run).contains("\"scenario\":\"chain-4\""), "{}", stdout(&run));
    let check = multihop(&folder, &["check", "chain-sweep"]);
    assert_eq!(stdout(&check).lines().next(), Some("chain-sweep: no problems"));
}

#[test]
fn a_file_has_precedence_over_the_example_of_its_name() {
    let folder = Folder::new("precedence").with("chain-4", "duration = 0");
    let output = multihop(&folder, &["check", "chain-4"]);
    assert!(stderr(&output).contains("chain-4:1:12: duration: found 0"), "{}", stderr(&output));
}

#[test]
fn init_writes_a_scenario_that_runs_and_keeps_what_exists() {
    let folder = Folder::new("init");
    let output = multihop(&folder, &["init"]);
    assert_eq!(stdout(&output), "wrote scenario.toml; next: multihop run scenario.toml\n");
    let check = multihop(&folder, &["check", "scenario.toml"]);
    assert_eq!(stdout(&check).lines().next(), Some("scenario.toml: no problems"));
    let short = ["run", "scenario.toml", "-q", "--set", "duration=30", "--json"];
    let run = multihop(&folder, &short);
    assert_eq!((code(&run), stderr(&run)), (0, ""));
    std::fs::write(folder.path().join("scenario.toml"), "mine").unwrap();
    let again = multihop(&folder, &["init"]);
    assert_eq!(code(&again), 1);
    let message = "multihop: scenario.toml exists already; name another file: multihop init FILE\n";
    assert_eq!((stderr(&again), folder.read("scenario.toml").as_str()), (message, "mine"));
    assert_eq!(code(&multihop(&folder, &["init", "other.toml"])), 0);
}

#[test]
fn what_is_commented_out_in_the_template_is_valid() {
    let folder = Folder::new("choices");
    let text = include_str!("../../src/template.toml");
    let random = text
        .replace("kind = \"chain\" ", "# ")
        .replace("hops = 4", "#")
        .replace("spacing = 200.0", "#")
        .replace("\"topology.spacing\" = [150.0, 200.0]", "#");
    let is_choice = |line: &str| line.starts_with("# ") && line.contains(" = ") || line == "# [mobility]";
    let lines = random.lines().map(|line| if is_choice(line) { &line[2..] } else { line });
    let folder = folder.with("all.toml", &lines.collect::<Vec<_>>().join("\n"));
    let output = multihop(&folder, &["check", "all.toml"]);
    assert_eq!((code(&output), stderr(&output)), (0, ""));
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let folder = Folder::new("manual");
    let help = multihop(&folder, &["--help"]);
    let commands: Vec<&str> = stdout(&help)
        .lines()
        .skip_while(|line| *line != "Commands:")
        .filter(|line| !line.starts_with("   ")) // a description goes on
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .take_while(|word| *word != "help")
        .collect();
    assert!(commands.contains(&"sweep") && commands.len() > 12, "{commands:?}");
    assert_eq!(code(&multihop(&folder, &["manual", "man"])), 0);
    for command in &commands {
        let page = folder.read(&format!("man/multihop-{command}.1"));
        assert!(page.contains("\n.SH NAME\n") && page.contains("\n.SH OPTIONS\n"), "{page}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = multihop(&folder, &["completions", shell]);
        assert_eq!(code(&script), 0);
        let missing = commands.iter().find(|command| !stdout(&script).contains(**command));
        assert_eq!(missing, None, "{shell}");
    }
    assert_eq!(code(&multihop(&folder, &["completions", "cmd"])), 2);
}

#[test]
fn every_build_has_the_controls_for_the_kernel_unless_the_machine_forbids_them() {
    let folder = Folder::new("tcp");
    let output = multihop(&folder, &["tcp", "status"]);
    let forbidden = ["not permitted: CAP_", "this kernel ", "need Linux"];
    let is_forbidden = code(&output) == 1 && forbidden.iter().any(|reason| stderr(&output).contains(reason));
    let is_there = code(&output) == 0 && stdout(&output).contains("controls for the whole machine");
    assert!(is_there || is_forbidden, "{}", stderr(&output));
    let wrong = multihop(&folder, &["tcp", "load", "--bit-rate", "0"]);
    assert_eq!(code(&wrong), 2);
    assert!(stderr(&wrong).contains("allowed: a number from 0.001 to 1000000"), "{}", stderr(&wrong));
}
