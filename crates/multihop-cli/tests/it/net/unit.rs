//! The units of systemd, which must allow what the programs need and nothing that they give up.

use std::collections::BTreeMap;
use std::process::Command;

use crate::{Folder, stdout};

const ROUTE: &str = include_str!("../../../../../packaging/multihop-route.service");

/// The settings of a unit with their words.
fn settings(unit: &str) -> BTreeMap<&str, Vec<&str>> {
    let lines = unit.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
    lines.map(|(key, value)| (key, value.split_whitespace().collect())).collect()
}

#[test]
fn the_unit_of_the_daemon_allows_its_rights_sockets_and_sandbox() {
    let unit = settings(ROUTE);
    let rights = ["CAP_NET_ADMIN", "CAP_NET_BIND_SERVICE", "CAP_NET_RAW"];
    assert_eq!(unit["AmbientCapabilities"], rights);
    assert_eq!(unit["CapabilityBoundingSet"], rights);
    let sockets = ["AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_UNIX"];
    assert_eq!(unit["RestrictAddressFamilies"], sockets);
    for call in ["seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"] {
        assert!(unit["SystemCallFilter"].contains(&call), "{call}");
    }
    assert_eq!(unit["SystemCallErrorNumber"], ["EPERM"]);
    assert_eq!(unit["DeviceAllow"], ["/dev/net/tun", "rw"]);
    // Each of the three settings would hide /proc/sys/net or /dev/net/tun.
    for absent in ["ProtectKernelTunables", "PrivateDevices", "ProcSubset"] {
        assert!(!unit.contains_key(absent), "{absent}");
    }
    assert!(unit.contains_key("MemoryMax") && unit.contains_key("TasksMax"));
}

/// By the measure of systemd, from 0 (confined) to 10.
#[test]
fn systemd_finds_little_exposure_in_the_unit() {
    let folder = Folder::new("exposure").with("multihop-route.service", ROUTE);
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["security", "--offline=true", "--no-pager"]);
    let output = match analyze.arg(folder.path().join("multihop-route.service")).output() {
        Err(error) => return println!("skipped: the exposure is judged by systemd-analyze: {error}"),
        Ok(output) => output,
    };
    let text = stdout(&output);
    let last = text.lines().find_map(|line| line.split_once("Overall exposure level for"));
    let Some((_, last)) = last else {
        return println!("skipped: this systemd-analyze judges no files: {text}");
    };
    let level: f64 = last.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    assert!(level < 3.0, "{text}");
}
