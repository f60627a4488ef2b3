//! `multihop route` in network namespaces.
#![cfg(target_os = "linux")]

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use multihop_linux::netns::Namespace;
use serde_json::Value;

use super::super::{Folder, code, multihop, stderr, stdout};

/// A namespace with one interface whose peer is in no other host; `None` if this machine allows none.
#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
fn host() -> Option<Namespace> {
    match Namespace::new().and_then(|made| made.ip("link show lo").map(|()| made)) {
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotFound) => {
            println!("skipped: network namespaces need root and the command ip: {error}");
            None
        }
        made => Some(made.unwrap()),
    }
}

fn multihop_in(namespace: &Namespace, args: &[&str]) -> Output {
    let run = || Command::new(env!("CARGO_BIN_EXE_multihop")).args(args).output();
    namespace.run(run).unwrap().unwrap()
}

fn start_in(namespace: &Namespace, args: &[&str]) -> Child {
    namespace.spawn(Command::new(env!("CARGO_BIN_EXE_multihop")).arg("-q").args(args)).unwrap()
}

fn status(namespace: &Namespace) -> Option<Value> {
    let output = multihop_in(namespace, &["route", "status", "--json"]);
    (code(&output) == 0).then(|| serde_json::from_str(stdout(&output)).unwrap())
}

fn routes(namespace: &Namespace) -> String {
    let list = || Command::new("ip").args(["route", "show", "proto", "77"]).output();
    stdout(&namespace.run(list).unwrap().unwrap()).to_owned()
}

#[track_caller]
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

const QUICK: [&str; 6] = [
    "--set",
    "routing.hello_interval=0.2",
    "--set",
    "routing.tc_interval=0.3",
    "--set",
    "routing.max_jitter=0.05",
];

fn daemon<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    [&["route"], &QUICK[..], rest].concat()
}

#[test]
fn routes_of_a_killed_daemon_go_with_the_next_start_or_by_command() {
    let (Some(left), Some(middle), Some(right)) = (host(), host(), host()) else { return };
    left.join(("veth-a", "10.0.1.1/24"), &middle, ("veth-b", "10.0.1.2/24")).unwrap();
    middle.join(("veth-c", "10.0.2.2/24"), &right, ("veth-d", "10.0.2.3/24")).unwrap();
    let mut others = [
        start_in(&middle, &daemon(&["veth-b", "veth-c"])),
        start_in(&right, &daemon(&["veth-d", "--announce", "192.168.7.0/24"])),
    ];
    let mut killed = start_in(&left, &daemon(&["veth-a"]));
    let has_route = || routes(&left).contains("192.168.7.0/24 via 10.0.1.2");
    eventually("a route", has_route);
    let shown = status(&left).unwrap();
    assert_eq!(shown["main_address"], "10.0.1.1");
    assert_eq!(shown["routes"]["192.168.7.0/24"]["via"], "10.0.1.2");
    let text = multihop_in(&left, &["route", "status"]);
    assert!(stdout(&text).contains("| 192.168.7.0/24 | 10.0.1.2 | veth-a |"), "{}", stdout(&text));

    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(has_route(), "nobody removes it");
    let mut next = start_in(&left, &daemon(&["veth-a", "--within", "10.0.1.0/24"]));
    eventually("another daemon", || status(&left).is_some());
    assert!(!routes(&left).contains("192.168.7.0"));
    next.kill().unwrap();
    next.wait().unwrap();

    let mut last = start_in(&left, &daemon(&["veth-a"]));
    eventually("a route again", has_route);
    last.kill().unwrap();
    last.wait().unwrap();
    assert!(stdout(&multihop_in(&left, &["route", "flush"])).starts_with("removed "));
    assert_eq!(routes(&left), "");
    for other in &mut others {
        other.kill().unwrap();
        other.wait().unwrap();
    }
}

#[test]
fn a_daemon_of_ipv6_is_asked_and_its_routes_are_flushed_by_an_option() {
    let (Some(left), Some(right)) = (host(), host()) else { return };
    left.join(("veth-a", "10.0.1.1/24"), &right, ("veth-b", "10.0.1.2/24")).unwrap();
    left.ip("addr add fd00::1/64 dev veth-a nodad").unwrap();
    right.ip("addr add fd00::2/64 dev veth-b nodad").unwrap();
    let start = |host: &Namespace, interface| start_in(host, &daemon(&[interface, "--ipv6"]));
    let mut daemons = [start(&left, "veth-a"), start(&right, "veth-b")];
    let six = || {
        let list = || Command::new("ip").args(["-6", "route", "show", "proto", "77"]).output();
        stdout(&left.run(list).unwrap().unwrap()).to_owned()
    };
    eventually("a route", || six().contains("fd00::2 dev veth-a"));
    let shown = multihop_in(&left, &["route", "status", "--json", "--ipv6"]);
    let shown: Value = serde_json::from_str(stdout(&shown)).unwrap();
    assert_eq!(
        (&shown["main_address"], &shown["routes"]["fd00::2/128"]["hops"]),
        (&"fd00::1".into(), &1.into())
    );
    let other = multihop_in(&left, &["route", "status"]);
    assert!(
        stderr(&other)
            .contains("no multihop route for IPv4 answers in this network namespace (for IPv6, pass --ipv6")
    );
    for daemon in &mut daemons {
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }
    assert_eq!(stdout(&multihop_in(&left, &["route", "flush"])), "removed 0 routes\n");
    assert_eq!(stdout(&multihop_in(&left, &["route", "flush", "--ipv6"])), "removed 1 routes\n");
    assert_eq!(six(), "");
}

#[test]
fn a_signal_ends_a_daemon_without_a_trace_and_rights_are_given_up() {
    let (Some(left), Some(right)) = (host(), host()) else { return };
    left.join(("veth-a", "10.0.1.1/24"), &right, ("veth-b", "10.0.1.2/24")).unwrap();
    let mut other = start_in(&right, &daemon(&["veth-b"]));
    let mut command = Command::new(env!("CARGO_BIN_EXE_multihop"));
    command.args(daemon(&["veth-a", "veth-x", "--set", "user=nobody"])).stderr(Stdio::piped());
    let ended = left.spawn(&mut command).unwrap();
    eventually("a route", || routes(&left).contains("10.0.1.2"));
    let proc = std::fs::read_to_string(format!("/proc/{}/status", ended.id())).unwrap();
    let field = |name: &str| proc.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    // CAP_NET_BIND_SERVICE is 10, CAP_NET_ADMIN 12.
    for set in ["CapPrm:", "CapEff:", "CapBnd:"] {
        assert_eq!(u64::from_str_radix(&field(set), 16).unwrap() & !(1 << 10 | 1 << 12), 0, "{set}");
    }
    assert_ne!(field("Uid:").split('\t').next(), Some("0"));
    let pid = ended.id().to_string();
    Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    let ended = ended.wait_with_output().unwrap();
    assert_eq!(code(&ended), 0);
    let said = stderr(&ended);
    assert_eq!(said.matches("waiting for veth-x: there is no such interface").count(), 1, "{said}");
    assert_eq!(routes(&left), "");
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_neighbour_with_another_key_is_shown_and_logged_until_the_key_is_mended() {
    let (Some(left), Some(right)) = (host(), host()) else { return };
    left.join(("veth-a", "10.0.1.1/24"), &right, ("veth-b", "10.0.1.2/24")).unwrap();
    let folder = Folder::new("route-log");
    for key in ["a.key", "b.key"] {
        assert_eq!(code(&multihop(&folder, &["keygen", "--shared", key])), 0);
    }
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut other = start_in(&right, &daemon(&["veth-b", "--key", &path("b.key")]));
    let mut command = Command::new(env!("CARGO_BIN_EXE_multihop"));
    command.args(["-v"]).args(daemon(&["veth-a", "--log-json", "--key", &path("a.key")]));
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let mut logging = left.spawn(command.stderr(log)).unwrap();
    let events = |message: &str| {
        let text = folder.read("log");
        let objects = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        objects.filter(|event| event["message"] == message).collect::<Vec<_>>()
    };
    eventually("a refusal", || !events("peer refused").is_empty());
    let refused = &events("peer refused")[0];
    assert_eq!(
        (&refused["level"], &refused["address"], &refused["reason"]),
        (&"warn".into(), &"10.0.1.2".into(), &"wrong_key".into())
    );
    let shown = status(&left).unwrap();
    let refusal = &shown["refusals"][0];
    assert_eq!((&refusal["address"], &refusal["reason"]), (&"10.0.1.2".into(), &"wrong_key".into()));
    assert!(refusal["count"].as_u64() > Some(0) && refusal["last_ago"].as_f64() < Some(60.0), "{refusal}");
    let text = multihop_in(&left, &["route", "status"]);
    assert!(stdout(&text).contains("| 10.0.1.2 | wrong key |"), "{}", stdout(&text));

    let hang_up = || Command::new("kill").args(["-HUP", &logging.id().to_string()]).status().unwrap();
    std::fs::rename(folder.path().join("a.key"), folder.path().join("old.key")).unwrap();
    hang_up();
    eventually("a failed reload", || {
        !events("configuration not reloaded: the daemon keeps the earlier one").is_empty()
    });
    std::fs::copy(folder.path().join("b.key"), folder.path().join("a.key")).unwrap();
    hang_up();
    eventually("a neighbour", || events("neighbour up").iter().any(|one| one["address"] == "10.0.1.2"));
    assert_eq!(events("configuration reloaded").len(), 1);
    eventually("a route", || events("route added").iter().any(|one| one["to"] == "10.0.1.2/32"));
    other.kill().unwrap();
    other.wait().unwrap();
    eventually("its end", || events("neighbour down").iter().any(|one| one["address"] == "10.0.1.2"));
    Command::new("kill").arg(logging.id().to_string()).status().unwrap();
    assert_eq!(logging.wait().unwrap().code(), Some(0));
    assert_eq!(events("daemon ended").len(), 1);
}

#[test]
fn a_second_daemon_has_an_exit_code_of_its_own() {
    let (Some(left), Some(right)) = (host(), host()) else { return };
    left.join(("veth-a", "10.0.1.1/24"), &right, ("veth-b", "10.0.1.2/24")).unwrap();
    let mut first = start_in(&left, &daemon(&["veth-a"]));
    eventually("a daemon", || status(&left).is_some());
    let second = multihop_in(&left, &daemon(&["veth-a"]));
    assert_eq!(code(&second), 4);
    let said = "multihop: another multihop route of IPv4 runs in this network namespace\n";
    assert!(stderr(&second).ends_with(said), "{}", stderr(&second));
    assert_eq!(first.try_wait().unwrap(), None);
    // Another daemon takes over from one that was killed, even before the kernel has ended the killed one.
    first.kill().unwrap();
    let mut third = start_in(&left, &daemon(&["veth-a"]));
    first.wait().unwrap();
    eventually("a daemon after the one that was killed", || status(&left).is_some());
    assert_eq!(third.try_wait().unwrap(), None);
    third.kill().unwrap();
    third.wait().unwrap();
}

#[test]
fn what_is_wrong_with_a_configuration_is_said() {
    let toml = "interfaces = [\"wlan0\"]\nannounce = [\"10.0.0.1/8\"]\n[routing]\nhello_interval = 0\n";
    let folder = Folder::new("route").with("route.toml", toml);
    let said = |args: &[&str]| {
        let output = multihop(&folder, &[&["route"], args].concat());
        assert_eq!(code(&output), 2, "{args:?}");
        stderr(&output).to_owned()
    };
    assert!(said(&[]).contains("no interface"));
    let text = said(&["--config", "route.toml"]);
    assert!(
        text.contains("route.toml:4") && text.contains("found 0, allowed: a number from 0.1 to 1000"),
        "{text}"
    );
    let text = said(&["--config", "route.toml", "--set", "routing.hello_interval=1"]);
    assert!(text.contains("announce: found \"10.0.0.1/8\", allowed: ADDRESS/BITS"), "{text}");
    let output = multihop(&folder, &["route", "wlan0", "--key", "none.key"]);
    assert!(
        stderr(&output).contains("cannot read the key (multihop keygen --shared creates one): "),
        "{}",
        stderr(&output)
    );
    let text = said(&["wlan0", "--neighbor", "here"]);
    assert!(text.contains("neighbors: found \"here\", allowed: an IPv4 address"), "{text}");
    let text = said(&["wlan0", "--set", "routing.protocol=apdr", "--set", "routing.clocks=synchronised"]);
    assert!(text.contains("found \"synchronised\", allowed on real interfaces: \"echoed\""), "{text}");
    let text = said(&["wlan0", "--set", "routing.protocol=aodw"]);
    assert!(text.contains("\"olsr\", \"apdr\", \"apdr-pr\", \"aodv\""), "{text}");
    let aodv = |rest: &[&str]| said(&[&["wlan0", "--set", "routing.protocol=aodv"], rest].concat());
    let text = aodv(&["--set", "routing.link_failure=mac"]);
    assert!(text.contains("found \"mac\", allowed on real interfaces: \"hello\""), "{text}");
    let text = aodv(&["--announce", "default"]);
    assert!(text.contains("allowed with protocol = \"olsr\" or \"apdr\""), "{text}");
    let text = aodv(&["--ipv6"]);
    assert!(
        text.contains("allowed with protocol = \"olsr\" or \"apdr\": AODV (RFC 3561) has no IPv6"),
        "{text}"
    );
    let text = said(&["wlan0", "--set", "routing.protocol=babel", "--ipv6"]);
    assert!(text.contains("\"apdr\": babel always routes IPv4 and IPv6"), "{text}");
    let text = said(&["wlan0", "--ipv6", "--announce", "10.0.0.0/8"]);
    assert!(text.contains("announce: found \"10.0.0.0/8\", allowed: ADDRESS/BITS of IPv6"), "{text}");
    let text = said(&["wlan0", "--set", "within=[\"fd00::/8\"]"]);
    assert!(text.contains("within: found \"fd00::/8\", allowed: ADDRESS/BITS of IPv4"), "{text}");
    let text = said(&["wlan0", "--ipv6", "--set", "group=fd00::1"]);
    assert!(text.contains("group: found \"fd00::1\", allowed: a multicast address of IPv6"), "{text}");
    let text = said(&["wlan0", "--set", "group=ff0e::1"]);
    assert!(text.contains("allowed with ipv6 = true"), "{text}");
    let text = said(&["wlan0", "--set", "on_demand=[\"default\"]"]);
    assert!(text.contains("allowed with protocol = \"aodv\""), "{text}");
}

const UNIT: &str = include_str!("../../../../../packaging/multihop-route.service");

#[test]
fn systemd_accepts_the_unit() {
    // Neither the command nor its manual is installed.
    let unit = UNIT.replace("/usr/local/bin/multihop", env!("CARGO_BIN_EXE_multihop"));
    let lines = unit.lines().filter(|line| !line.starts_with("Documentation="));
    let unit = lines.collect::<Vec<_>>().join("\n");
    let folder = Folder::new("unit").with("multihop-route.service", &unit);
    let path = folder.path().join("multihop-route.service");
    match Command::new("systemd-analyze").arg("verify").arg(path).output() {
        Err(error) => println!("skipped: the unit is checked by systemd-analyze: {error}"),
        Ok(output) => assert_eq!((output.status.code(), stderr(&output)), (Some(0), "")),
    }
}

/// The daemon runs as systemd starts it: as another user, with the rights of the unit and no means to get
/// more.
#[test]
fn the_rights_of_the_unit_suffice_for_olsr() {
    the_rights_of_the_unit_suffice("olsr");
}

#[test]
fn the_rights_of_the_unit_suffice_for_aodv() {
    let mode = std::fs::metadata("/dev/net/tun").map_or(0, |device| device.permissions().mode());
    if mode & 0o006 != 0o006 {
        return println!(
            "skipped: AODV needs /dev/net/tun, which only root may open here (mode {:o})",
            mode & 0o777
        );
    }
    the_rights_of_the_unit_suffice("aodv");
}

fn the_rights_of_the_unit_suffice(protocol: &str) {
    let (Some(left), Some(right)) = (host(), host()) else { return };
    left.join(("veth-a", "10.0.1.1/24"), &right, ("veth-b", "10.0.1.2/24")).unwrap();
    let rights = |key: &str| {
        let line = UNIT.lines().find_map(|line| line.strip_prefix(key)).unwrap().to_lowercase();
        let names = line.split_whitespace().map(|name| format!("+{}", name.strip_prefix("cap_").unwrap()));
        names.collect::<Vec<_>>().join(",")
    };
    let (ambient, bounding) = (rights("AmbientCapabilities="), rights("CapabilityBoundingSet="));
    let command = |interface: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]);
        command.args([format!("--bounding-set=-all,{bounding}"), format!("--inh-caps=-all,{ambient}")]);
        command.arg(format!("--ambient-caps={ambient}")).arg(env!("CARGO_BIN_EXE_multihop"));
        let set = format!("routing.protocol={protocol}");
        command.args(["-q", "route", interface, "--set", "routing.hello_interval=0.2", "--set", &set]);
        command
    };
    let start = |host: &Namespace, interface| host.spawn(&mut command(interface)).unwrap();
    let mut daemons = [start(&left, "veth-a"), start(&right, "veth-b")];
    eventually(protocol, || {
        assert_eq!(daemons[0].try_wait().unwrap(), None, "{protocol}: it has ended");
        routes(&left).contains("10.0.1.2 dev veth-a")
    });
    for daemon in &mut daemons {
        Command::new("kill").arg(daemon.id().to_string()).status().unwrap();
        assert_eq!(daemon.wait().unwrap().code(), Some(0));
    }
    assert_eq!(routes(&left), "");
}

#[test]
fn nothing_is_left_of_a_killed_daemon_of_aodv_after_the_next_start() {
    let (Some(left), Some(right)) = (host(), host()) else { return };
    left.join(("veth-a", "10.0.1.1/24"), &right, ("veth-b", "10.0.1.2/24")).unwrap();
    let aodv = |interface| ["route", interface, "--set", "routing.protocol=aodv"];
    let mut other = start_in(&right, &aodv("veth-b"));
    let mut killed = start_in(&left, &aodv("veth-a"));
    eventually("a neighbour", || routes(&left).contains("10.0.1.2 dev veth-a"));
    let into_tun = |text: &str| text.lines().filter(|line| line.contains("dev multihop")).count();
    assert_eq!(into_tun(&routes(&left)), 3, "{}", routes(&left));
    killed.kill().unwrap();
    killed.wait().unwrap();
    eventually("an end of the TUN interface", || into_tun(&routes(&left)) == 0);
    assert!(routes(&left).contains("10.0.1.2 dev veth-a"), "the neighbour's route is left");
    let mut next = start_in(&left, &aodv("veth-a"));
    eventually("another daemon", || into_tun(&routes(&left)) == 3);
    Command::new("kill").arg(next.id().to_string()).status().unwrap();
    assert_eq!(next.wait().unwrap().code(), Some(0));
    let links = left.run(|| Command::new("ip").args(["-o", "link"]).output()).unwrap().unwrap();
    assert_eq!((routes(&left).as_str(), stdout(&links).contains("multihop")), ("", false));
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn the_commands_of_the_guide_ping_across() {
    pings_across("Three network namespaces in a line", "-6", "fd00:0:0:2::3", "ttl=63");
}

/// Executes the two blocks of commands behind a heading of the guide, and looks for the answer and for routes
/// that are left over.
#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
fn pings_across(heading: &str, family: &str, to: &str, answer: &str) {
    if let Err(error) = Command::new("ping").arg("-V").output() {
        return println!("skipped: ping is not installed: {error}");
    }
    let guide = include_str!("../../../../../docs/route.md");
    let (_, section) = guide.split_once(heading).unwrap();
    let blocks: Vec<_> = section.split("```\n").skip(1).step_by(2).take(2).collect();
    let [network, daemons] = blocks[..] else { panic!("two blocks of commands") };
    let (daemons, ping) = daemons.trim().rsplit_once('\n').unwrap();
    assert!(ping.ends_with(&format!(" ping {to}")), "{ping}");
    // Names of namespaces are files; nobody else sees those of this test.
    let script = format!(
        "mount -t tmpfs none /run\n{network}{daemons}\n\
         for try in $(seq 60); do {ping} -c 1 -W 1 && break; sleep 0.5; done\nkill $(jobs -p)\nwait\n\
         for name in left middle right; do echo $name; ip -n $name {family} route show proto 77; done\n"
    );
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_multihop")).parent().unwrap();
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap_or_default());
    let run = Command::new("unshare").args(["-m", "-n", "bash", "-c", &script]).env("PATH", path).output();
    let output = run.unwrap();
    if stderr(&output).contains("unshare failed") {
        println!("skipped: no namespaces: {}", stderr(&output).trim());
        return;
    }
    let text = stdout(&output);
    let reply = format!("64 bytes from {to}: icmp_seq=1 {answer} ");
    assert!(text.contains(&reply), "{text}{}", stderr(&output));
    assert!(text.ends_with("left\nmiddle\nright\n"), "no route is left: {text}");
}
