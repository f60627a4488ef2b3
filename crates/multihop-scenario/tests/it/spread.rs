//! Flows with `app = "spread"`.

use multihop_scenario::{App, Protocol};

use super::{load, refused};

/// A chain of two hops with a host on a wire, and a flow with these keys.
fn flow(keys: &str) -> String {
    format!(
        "duration = 10.0\n[topology]\nkind = \"chain\"\nhops = 2\n[[host]]\nname = \"server\"\ngateway = 2\n\
         [[flow]]\napp = \"spread\"\n{keys}"
    )
}

#[test]
fn a_file_to_every_node_has_a_size_and_uses_udp() {
    let scenario = load(&flow("bytes = 1000\nfrom = 0\nto = 2\n"));
    assert_eq!(scenario.flows[0].app, App::Spread { bytes: 1000, expect: 1 });
    assert!(matches!(scenario.flows[0].transport.protocol, Protocol::Udp));
    assert!(refused(&flow("from = 0\nto = 2\n")).contains("flow.0.bytes"));
}

#[test]
fn hosts_and_a_stop_are_refused() {
    let problem = |keys: &str| refused(&flow(&format!("bytes = 1000\n{keys}")));
    let text = problem("from = 0\nto = \"server\"\n");
    assert!(text.contains("flow.0.to: found host 3, allowed with app = \"spread\": 0 to 2"), "{text}");
    let text = problem("from = 0\nto = 2\nstop = 5.0\n");
    assert!(text.contains("flow.0.stop: found with app = \"spread\""), "{text}");
    let nine = "bytes = 1000\nfrom = 0\nto = 2\n[[flow]]\napp = \"spread\"\n".repeat(8);
    let text = problem(&format!(
        "from = 0\nto = 2\n[[flow]]\napp = \"spread\"\n{nine}bytes = 1\nfrom = 1\nto = 2\n"
    ));
    assert!(text.contains("allowed: at most 8"), "{text}");
}
