//! `multihop view`. How the page works is tested in `web/test`.

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
