//! Daemons with Babel, among themselves and with babeld.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use multihop_core::Duration as Time;
use multihop_route::{Config, Family, HostProtocol, Key};
use multihop_routing_extra::babel;
use serde_json::Value;

use super::layouts::{
    chain, diamond, extension, four, has_installed, heals, join, metric, networks, quick_hosts,
    reach_each_other, refused, six, symmetric_neighbours,
};
use super::network::{Host, eventually};

/// Babel that needs a second for what takes 15 with the values of the RFC.
fn quick(interfaces: &[&str]) -> Config {
    let babel = babel::Config {
        hello_interval: Time::from_millis(300),
        update_interval: Time::from_millis(1200),
        max_jitter: Time::from_millis(20),
        hysteresis: Time::from_millis(300),
        ..babel::Config::default()
    };
    extension("babel", HostProtocol::new(babel).unwrap(), interfaces)
}

/// A babeld that runs on a host.
struct Babeld(Child);

impl Babeld {
    fn start(host: &Host, interfaces: &[&str], rest: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = |end: &str| -> PathBuf {
            let name = format!("babeld-{}-{number}.{end}", std::process::id());
            [env!("CARGO_TARGET_TMPDIR"), &name].iter().collect()
        };
        for parameter in ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"] {
            host.namespace.set(parameter, "1").unwrap();
        }
        let names = interfaces.iter().map(|name| format!("interface {name}\n"));
        let text = format!(
            "skip-kernel-setup true\nrandom-id true\n{rest}\ndefault type wired hello-interval 0.3 update-interval 1.2\n{}",
            names.collect::<String>()
        );
        fs::write(file("conf"), text).unwrap();
        let mut command = Command::new("babeld");
        command.arg("-c").arg(file("conf")).arg("-S").arg(file("state")).args(["-I", ""]);
        let log = fs::File::create(file("log")).unwrap();
        command.stdout(Stdio::null()).stderr(log);
        Self(host.namespace.spawn(&mut command).unwrap())
    }
}

impl Drop for Babeld {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
fn has_babeld() -> bool {
    let found = Command::new("babeld").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        println!("skipped: there is no babeld");
    }
    found
}

#[test]
fn babel_finds_routes_of_both_families_along_a_chain() {
    let Some([mut a, mut b, mut c, mut d]) = chain() else { return };
    a.start(Config { announce: networks("1"), ..quick(&["veth-a"]) });
    b.start(quick(&["veth-b", "veth-c"]));
    c.start(quick(&["veth-d", "veth-e"]));
    d.start(Config { announce: networks("4"), ..quick(&["veth-f"]) });
    reach_each_other(&a, &d);
    eventually("routes of both families are installed", || {
        ["10.0.9.4/32", "fd00:0:0:9::4/128"].iter().all(|to| has_installed(&a, to))
    });
    eventually("the metric of three cables", || metric(&a, "10.0.9.4/32") == Some(288));
    let status = a.status().unwrap();
    assert_eq!((&status["protocol"], &status["main_address"]), (&"babel".into(), &"10.0.1.1".into()));
    assert_eq!(status["neighbours"][0]["cost"], 96);
    assert_eq!(
        (&status["neighbours"][0]["symmetric"], &status["routes"]["10.0.9.4/32"]["hops"]),
        (&true.into(), &Value::Null)
    );
    assert!(status["messages"]["hellos"].as_u64() > Some(1));
    assert!(a.status_of(Family::Ipv6).is_some(), "one daemon has the routes of both families");
    d.end().unwrap();
    eventually("the end of the routes", || metric(&a, "10.0.9.4/32").is_none() && a.via(six(3, 4)).is_none());
    a.end().unwrap();
    assert_eq!(a.routes(), []);
}

#[test]
fn babel_and_babeld_find_the_routes_of_a_chain() {
    let Some([mut a, b, mut c, d]) = chain() else { return };
    if !has_babeld() {
        return;
    }
    a.start(Config { announce: networks("1"), ..quick(&["veth-a"]) });
    let _b = Babeld::start(&b, &["veth-b", "veth-c"], "");
    c.start(quick(&["veth-d", "veth-e"]));
    let _d = Babeld::start(&d, &["veth-f"], "");
    reach_each_other(&a, &d);
    eventually("the metric of three cables", || {
        metric(&a, "10.0.9.4/32") == Some(288) && metric(&a, "fd00:0:0:9::4/128") == Some(288)
    });
    assert_eq!(a.status().unwrap()["datagrams"]["malformed"], 0);
}

#[test]
fn a_diamond_with_babeld_heals_when_a_link_is_cut() {
    let Some([mut left, upper, mut lower, right]) = diamond() else { return };
    if !has_babeld() {
        return;
    }
    left.start(quick(&["veth-a", "veth-e"]));
    let _upper = Babeld::start(&upper, &["veth-b", "veth-c"], "");
    lower.start(quick(&["veth-f", "veth-g"]));
    let _right = Babeld::start(&right, &["veth-d", "veth-h"], "");
    eventually("both ways have the same metric", || metric(&left, "10.0.9.4/32") == Some(192));
    heals([&left, &lower, &right], || symmetric_neighbours(&lower) == 2);
}

/// A pair of hosts whose links are signed; babeld has the key as hexadecimal digits.
#[test]
fn babel_and_babeld_with_the_same_key_trust_each_other_and_no_other_key() {
    let Some([mut a, b]) = quick_hosts() else { return };
    if !has_babeld() {
        return;
    }
    join(&a, "veth-a", &b, "veth-b", (1, 1, 2));
    a.start(Config { key: Some(Key::new([0xa5; 32])), ..quick(&["veth-a"]) });
    let with_key =
        |digits: &str| format!("key id mesh type hmac-sha256 value {}\ndefault key mesh", digits.repeat(32));
    let wrong = Babeld::start(&b, &["veth-b"], &with_key("5a"));
    eventually("datagrams of another key are counted", || refused(&a, "wrong_key") > 5);
    assert_eq!(a.routes(), []);
    drop(wrong);
    let unsigned = Babeld::start(&b, &["veth-b"], "");
    eventually("datagrams without a signature are counted", || refused(&a, "unsigned") > 5);
    assert_eq!(a.routes(), []);
    drop(unsigned);
    let right = Babeld::start(&b, &["veth-b"], &with_key("a5"));
    eventually("the route of a genuine neighbour", || {
        a.via(six(1, 2)).is_some() && a.via(four(1, 2)).is_some()
    });
    // babeld challenges this host as well, and installs its route.
    let routes = || b.namespace.run(|| multihop_linux::netlink::routes(42)).unwrap().unwrap();
    eventually("the route of babeld", || routes().iter().any(|route| route.destination.0 == four(1, 1)));
    drop(right);
    let _restarted = Babeld::start(&b, &["veth-b"], &with_key("a5"));
    let count = refused(&a, "unproven");
    eventually("a restarted neighbour proves itself again", || {
        refused(&a, "unproven") > count && a.status().unwrap()["neighbours"][0]["symmetric"] == true
    });
}
