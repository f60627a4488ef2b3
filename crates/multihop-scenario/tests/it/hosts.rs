//! Hosts, and flows that pass on what others deliver.

use multihop_core::{BitRate, Duration, NodeId};
use multihop_scenario::{App, Host};

use super::{SMALLEST, load, refused};

const RELAY: &str = "[[flow]]\nfrom = 4\nto = \"server\"\napp = \"relay\"\nof = 0\ntransport = \"newreno\"\n";

fn with_host(rest: &str) -> String {
    format!("{SMALLEST}{rest}[[host]]\ngateway = 4\nname = \"server\"\n")
}

#[test]
fn a_host_comes_after_the_nodes() {
    let scenario = load(&with_host(RELAY));
    let [host] = &scenario.hosts[..] else { panic!("one host") };
    let (rate, delay) = (BitRate(10_000_000), Duration::from_millis(10));
    let (loss_to_host, loss_from_host) = (0.0, 0.0);
    let gateway = NodeId(4);
    let (trace_to_host, trace_from_host) = (None, None);
    let expected = Host {
        gateway,
        wire: 0,
        rate,
        trace_to_host,
        trace_from_host,
        delay,
        queue: 50,
        loss_to_host,
        loss_from_host,
    };
    assert_eq!(*host, expected);
    assert_eq!(scenario.flows[1].to, NodeId(5));
    assert!(scenario.is_host(NodeId(5)) && !scenario.is_host(NodeId(4)));
    assert_eq!([4, 5].map(|n| scenario.in_mesh(NodeId(n))), [NodeId(4); 2]);
    assert!(matches!(scenario.flows[1].app, App::Relay { buffer: 65_536, .. }));
}

#[test]
fn a_host_on_the_wire_of_another_has_its_rate_and_queue() {
    let wire = "rate_kbps = 500.0\nqueue = 7\n[[host]]\ngateway = 4\nwire = \"server\"\ndelay = 0.2\nloss_to_host = 0.1\n\
                [[host]]\ngateway = 4\nwire = 6\n";
    let scenario = load(&(with_host("") + wire));
    let [first, second, third] = &scenario.hosts[..] else { panic!("three hosts") };
    assert_eq!(*second, Host { delay: Duration::from_millis(200), loss_to_host: 0.1, ..first.clone() });
    assert_eq!((third.wire, third.rate, third.queue), (0, BitRate(500_000), 7));
}

#[test]
fn problems_of_a_shared_wire() {
    let second = |rest: &str| refused(&format!("{}[[host]]\ngateway = 4\n{rest}\n", with_host("")));
    assert_eq!(
        second("wire = \"serve\""),
        "x.toml:12:8: host.1.wire: found \"serve\", allowed: 0 to 5, \"server\", did you mean \"server\"?"
    );
    assert_eq!(second("wire = 4"), "x.toml:12:8: host.1.wire: found a node, allowed: an earlier host");
    assert_eq!(
        second("wire = 5\nqueue = 9"),
        "x.toml:13:9: host.1.queue: is not a key here: a host with wire uses the value of that host"
    );
    let other = with_host("") + "[[host]]\ngateway = 3\nwire = 5\n";
    assert_eq!(
        refused(&other),
        "x.toml:12:8: host.1.wire: found a host of another gateway, allowed: an earlier host of the same gateway"
    );
}

#[test]
fn problems_of_the_trace_of_a_wire() {
    let found = refused(&with_host("").replace("gateway", "trace_to_host = \"none.trace\"\ngateway"));
    assert!(found.starts_with("x.toml:8:17: host.0.trace_to_host: none.trace: "), "{found}");
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../multihop-sim/tests/pinned/files/wire.trace");
    let traces = format!("trace_to_host = {trace:?}\ntrace_from_host = {trace:?}\n");
    assert_eq!(
        refused(&(with_host("") + "rate_kbps = 5.0\n" + &traces)),
        "x.toml:10:13: host.0.rate_kbps: is not a key here: both directions have a trace"
    );
    let shared = format!("{}{traces}[[host]]\ngateway = 4\nwire = 5\n", with_host(""));
    let scenario = load(&shared);
    assert_eq!(scenario.hosts[1].trace_to_host, scenario.hosts[0].trace_to_host);
    assert!(scenario.hosts[1].trace_from_host.is_some());
    let found = refused(&(shared + &traces));
    assert!(found.contains("host.1.trace_to_host: is not a key here: a host with wire uses"), "{found}");
}

#[test]
fn problems_of_a_host() {
    let text = with_host("").replace("gateway = 4", "gateway = 5");
    assert_eq!(refused(&text), "x.toml:8:11: host.0.gateway: found 5, allowed: 0 to 4");
    let text = with_host("") + "[[host]]\ngateway = 3\nname = \"server\"\n";
    assert_eq!(refused(&text), "x.toml:12:8: host.1.name: is the name of another node or host");
    let text = with_host("[[flow]]\nfrom = 0\nto = \"serve\"\ntransport = \"newreno\"\n");
    assert_eq!(
        refused(&text),
        "x.toml:9:6: flow.1.to: found \"serve\", allowed: 0 to 5, \"server\", did you mean \"server\"?"
    );
    let text = with_host("[routing]\nnext_hops = [[0, 5, 1]]\n");
    assert!(refused(&text).contains("found 5, allowed: 0 to 4"), "a host has no place in the mesh");
}

#[test]
fn problems_of_a_relay() {
    let found = |relay: &str| refused(&with_host(relay)).split_once(": ").unwrap().1.to_owned();
    assert_eq!(found(&RELAY.replace("of = 0", "of = 2")), "flow.1.of: found 2, allowed: 0 to 1");
    let stream = "allowed: a flow of a reliable transport that is not itself a relay";
    assert_eq!(found(&RELAY.replace("of = 0", "of = 1")), format!("flow.1.of: found 1, {stream}"));
    assert_eq!(
        found(&RELAY.replace("from = 4", "from = 3")),
        "flow.1.of: found 0, which ends at 4, allowed: a flow that ends at 3"
    );
    assert_eq!(found(&RELAY.repeat(2)), "flow.2.of: found 0, which another flow already relays");
    let datagrams = RELAY.replace("newreno", "udp");
    assert!(found(&datagrams).starts_with("flow.1.transport: found \"udp\" under app \"relay\""));
}
