//! A libFuzzer program with the targets whose features are enabled.
//!
//! The environment variable `FUZZ_TARGET` selects one of several targets.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: prepare(), |data: &[u8]| {
    (TARGET.get().expect("prepare sets it"))(data);
});

type Target = fn(&[u8]);

static TARGET: OnceLock<Target> = OnceLock::new();

/// Selects the target and runs it once: libFuzzer limits the time of an input, and the first one may fill tables.
fn prepare() {
    let name = std::env::var("FUZZ_TARGET").ok();
    let selected = match (&name, TARGETS) {
        (None, [(_, only)]) => Some(only),
        _ => TARGETS.iter().find(|(one, _)| Some(*one) == name.as_deref()).map(|(_, target)| target),
    };
    let Some(target) = selected else {
        let names: Vec<&str> = TARGETS.iter().map(|(one, _)| *one).collect();
        eprintln!("FUZZ_TARGET is {name:?}, allowed: {}", names.join(", "));
        std::process::exit(2);
    };
    TARGET.get_or_init(|| *target)(b"");
}

/// Declares a module for each target and a feature of the same name.
macro_rules! targets {
    ($($name:ident $feature:literal,)*) => {
        #[path = "../targets"]
        mod targets {
            $(#[cfg(feature = $feature)] pub mod $name;)*
        }

        const TARGETS: &[(&str, Target)] = &[$(#[cfg(feature = $feature)] ($feature, targets::$name::fuzz),)*];
    };
}

targets! {
    aodv "aodv",
    arp "arp",
    babel "babel",
    batman "batman",
    bonnmotion "bonnmotion",
    code "code",
    cookie "cookie",
    dot11 "dot11",
    dsr "dsr",
    files "files",
    folder "folder",
    gpx "gpx",
    group "group",
    hub "hub",
    hwmp "hwmp",
    hwsim "hwsim",
    icmp "icmp",
    ipv4 "ipv4",
    keys "keys",
    known_peers "known_peers",
    mesh "mesh",
    mesh_endpoint "mesh_endpoint",
    ns2 "ns2",
    olsr "olsr",
    olsrv2 "olsrv2",
    perf "perf",
    radiotap "radiotap",
    route "route",
    routing_host "routing_host",
    scenario "scenario",
    sealed "sealed",
    socks "socks",
    spread "spread",
    sumo "sumo",
    tcp "tcp",
    tpa "tpa",
    tpa_endpoint "tpa_endpoint",
    tunnel "tunnel",
    udp "udp",
    wmediumd "wmediumd",
}
