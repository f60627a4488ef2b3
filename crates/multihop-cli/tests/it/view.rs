//! Tests of `multihop view`. How the page works is tested in `web/test`.

use super::{Folder, SHORT, code, multihop, stderr, stdout};

#[test]
fn a_page_holds_the_scenario_and_the_native_result() {
    let tricky = format!("# </script> ends no element\n{SHORT}");
    let folder = Folder::new("view").with("a.toml", &tricky);
    let output = multihop(&folder, &["view", "a.toml", "--set", "duration=2.5", "--seed", "3"]);
    if stderr(&output).contains("built without the page") {
        assert_eq!(code(&output), 1);
        println!("skipped: the command was built without the page of multihop view");
        return;
    }
    assert_eq!((code(&output), stderr(&output)), (0, ""));
    assert_eq!(stdout(&output), "a.html: open it in a browser\n");
    let page = std::fs::read_to_string(folder.path().join("a.html")).unwrap();
    assert!(page.contains("\\u003c/script> ends no element"), "the scenario is inside");
    assert!(page.contains(r#"[["duration","2.5"],["seed","3"]]"#), "so are the overrides");
    assert!(page.contains(r#""sim_seconds":2.5"#), "and the result");
    assert!(
        !page.contains("@REQUEST@") && !page.contains("wall_seconds\":0."),
        "nothing depends on the machine"
    );
}

#[test]
fn what_a_page_cannot_simulate_is_refused() {
    let moving = "duration = 5.0\nmobility = { kind = \"ns2\", file = \"a.tcl\" }\n\
                  topology = { kind = \"chain\", hops = 1 }\n[[flow]]\nfrom = 0\nto = 1\ntransport = \"newreno\"\n";
    let movement =
        "$node_(0) set X_ 0.0\n$node_(0) set Y_ 0.0\n$node_(1) set X_ 200.0\n$node_(1) set Y_ 0.0\n";
    let folder = Folder::new("view-refused").with("file.toml", moving).with("a.tcl", movement);
    let output = multihop(&folder, &["view", "file.toml"]);
    let message = "multihop: file.toml: mobility.file names a file, a.tcl, which a page cannot simulate\n";
    assert_eq!((code(&output), stderr(&output)), (2, message));
    let folder = Folder::new("view-paced")
        .with("paced.toml", &format!("{}app = \"paced\"\n", SHORT.replace("newreno", "udp")));
    let output = multihop(&folder, &["view", "paced.toml"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("app = \"paced\""), "{}", stderr(&output));
}

#[test]
fn a_folder_of_results_is_viewed_with_its_own_scenario_and_result() {
    let folder = Folder::new("view-folder").with("a.toml", SHORT);
    let run = multihop(&folder, &["run", "a.toml", "--seed", "7", "--out", "o", "--view"]);
    if stderr(&run).contains("built without the page") {
        println!("skipped: the command was built without the page of multihop view");
        return;
    }
    assert_eq!(code(&run), 0, "{}", stderr(&run));
    assert!(stdout(&run).ends_with("o/view.html: open it in a browser\n"), "{}", stdout(&run));
    let page = folder.read("o/view.html");
    std::fs::remove_file(folder.path().join("a.toml")).unwrap();
    let viewed = multihop(&folder, &["view", "o", "--out", "again.html"]);
    assert_eq!((code(&viewed), stderr(&viewed)), (0, ""));
    assert!(folder.read("again.html") == page, "the page of the folder is that of the run");
    assert!(page.contains(r#"[["seed","7"]]"#) && page.contains(r#""sim_seconds":2.0"#));
    let changed = multihop(&folder, &["view", "o", "--set", "duration=1.5", "--out", "changed.html"]);
    assert_eq!(code(&changed), 0, "{}", stderr(&changed));
    assert!(folder.read("changed.html").contains(r#""sim_seconds":1.5"#), "another run has another result");
}

#[test]
fn a_folder_without_a_run_is_refused() {
    let folder = Folder::new("view-no-run");
    std::fs::create_dir(folder.path().join("o")).unwrap();
    let output = multihop(&folder, &["view", "o"]);
    let message = "multihop: o has no run.json, which multihop run --out writes, and no recording, which multihop emulate \
                   --record o/run.rec writes\n";
    assert_eq!((code(&output), stderr(&output)), (2, message));
}

#[test]
fn a_page_is_written_into_a_new_folder() {
    let folder = Folder::new("view-out");
    let output = multihop(&folder, &["view", "--playground", "--out", "new/deep/page.html"]);
    if stderr(&output).contains("built without the page") {
        println!("skipped: the command was built without the page of multihop view");
        return;
    }
    assert_eq!((code(&output), stderr(&output)), (0, ""));
    assert!(folder.read("new/deep/page.html").contains(r#"{"runs":[]}"#));
}

#[test]
fn the_playground_needs_no_scenario() {
    let folder = Folder::new("view-playground");
    let output = multihop(&folder, &["view", "--playground"]);
    if stderr(&output).contains("built without the page") {
        println!("skipped: the command was built without the page of multihop view");
        return;
    }
    assert_eq!((code(&output), stdout(&output)), (0, "playground.html: open it in a browser\n"));
    assert!(folder.read("playground.html").contains(r#"{"runs":[]}"#));
    let both = multihop(&folder, &["view", "a.toml", "--playground"]);
    assert_eq!(code(&both), 2);
}
