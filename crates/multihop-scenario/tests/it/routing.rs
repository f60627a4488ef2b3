//! `[routing]`: what each key does, and what is refused.

use std::any::Any;

use multihop_core::Duration;
use multihop_routing::network::AgentConfig;
use multihop_routing::{aodv, apdr, dsr, olsr};
use multihop_scenario::{Routing, RoutingProtocol};
use multihop_wire::olsr::Willingness;

use super::{SMALLEST, load, refused_with};

fn routing(keys: &str) -> Routing {
    load(&format!("{SMALLEST}[routing]\n{keys}\n")).routing
}

fn config<C: AgentConfig + Clone>(protocol: &str, keys: &str) -> C {
    let RoutingProtocol::Agents(agents) = routing(&format!("protocol = \"{protocol}\"\n{keys}")).protocol
    else {
        panic!("static routes")
    };
    let config: &dyn Any = &*agents.config;
    config.downcast_ref::<C>().expect("the protocol's configuration").clone()
}

fn aodv(keys: &str) -> aodv::Config {
    config("aodv", keys)
}

fn dsr(keys: &str) -> dsr::Config {
    config("dsr", keys)
}

fn olsr(keys: &str) -> olsr::Config {
    config("olsr", keys)
}

fn apdr(keys: &str) -> olsr::Config {
    config::<apdr::Config>("apdr", keys).olsr
}

fn refused(protocol: &str, keys: &str) -> String {
    refused_with("routing", &format!("protocol = \"{protocol}\"\n{keys}"))
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn the_defaults_are_those_of_the_simulators() {
    assert_eq!(aodv(""), aodv::Config::new(aodv::Preset::Ns2, aodv::LinkFailure::Mac));
    assert_eq!(dsr(""), dsr::Config::default());
    assert_eq!(olsr(""), olsr::Config::um_olsr());
    for protocol in ["static", "aodv", "dsr", "olsr", "apdr", "apdr-pr"] {
        let routing = routing(&format!("protocol = \"{protocol}\"\nip_extra = 20"));
        assert_eq!((routing.protocol.name(), routing.ip_extra), (protocol, 20));
    }
}

#[test]
fn presets_and_link_failure() {
    for (word, preset) in [("ns2", aodv::Preset::Ns2), ("uu", aodv::Preset::Uu)] {
        for (failure, link_failure) in [("mac", aodv::LinkFailure::Mac), ("hello", aodv::LinkFailure::Hello)]
        {
            let config = aodv(&format!("preset = \"{word}\"\nlink_failure = \"{failure}\""));
            assert_eq!(config, aodv::Config::new(preset, link_failure));
        }
    }
    assert_eq!(olsr("preset = \"rfc\""), olsr::Config::rfc());
    assert_eq!(olsr("link_failure = \"mac\"").link_failure, olsr::LinkFailure::Mac);
}

#[test]
fn every_key_of_aodv() {
    let keys = "preset = \"uu\"\nexpanding_ring = false\nlocal_repair = \"rfc\"\ngratuitous_replies = true\n\
        destination_only = true\nactive_route_timeout = 11\nmy_route_timeout = 12\nreverse_route_life = 13\n\
        reverse_life_per_hop = 0.5\nrequest_id_life = 14\ndelete_period = \"off\"\nttl_start = 3\n\
        ttl_increment = 4\nttl_threshold = 9\nnet_diameter = 40\nnode_traversal = 0.1\ntimeout_buffer = 5\n\
        network_wide_requests = 6\ntick = 0.25\nhello_interval = 1.5\nhello_jitter = 0.125\n\
        neighbour_life = 6\nbuffer_packets = 65\nbuffer_life = 15\nrelease_spacing = 0.03\njitter = 0.04\n\
        rate_limit = \"off\"\nreply_ttl = 31\nmax_repair_ttl = 7";
    let expected = aodv::Config {
        expanding_ring: false,
        local_repair: aodv::LocalRepair::Rfc,
        gratuitous_replies: true,
        destination_only: true,
        active_route_timeout: s(11),
        my_route_timeout: s(12),
        reverse_route_life: s(13),
        reverse_life_per_hop: ms(500),
        request_id_life: s(14),
        delete_period: None,
        ttl_start: 3,
        ttl_increment: 4,
        ttl_threshold: 9,
        net_diameter: 40,
        node_traversal: ms(100),
        timeout_buffer: 5,
        network_wide_requests: 6,
        tick: Some(ms(250)),
        hello_interval: ms(1500),
        hello_jitter: ms(125),
        neighbour_life: s(6),
        buffer_packets: 65,
        buffer_life: s(15),
        release_spacing: ms(30),
        jitter: ms(40),
        rate_limit: None,
        reply_ttl: 31,
        max_repair_ttl: 7,
        ..aodv::Config::new(aodv::Preset::Uu, aodv::LinkFailure::Mac)
    };
    assert_eq!(aodv(keys), expected);
    assert_eq!(aodv("max_wait = 3").max_wait, s(3));
    assert_eq!(aodv("delete_period = 3").delete_period, Some(s(3)));
    assert_eq!(aodv("rate_limit = 3").rate_limit, Some(3));
    assert_eq!(aodv("tick = \"off\"").tick, None);
}

#[test]
fn every_key_of_dsr() {
    let keys = "ring0 = false\nring0_timeout = 0.04\nrequest_period = 0.6\nrreq_backoff_max = 11\n\
        broadcast_jitter = 0.02\ncache_replies = false\ncache_timeout = 5\nnegative_cache = 6\n\
        primary_cache = 31\nsecondary_cache = 65\nsnoop = false\ngratuitous = false\nsalvage = false\n\
        salvage_limit = 14\nbuffer_packets = 66\nbuffer_time = 31\nrelease_gap = 0.05";
    let expected = dsr::Config {
        ring0: false,
        ring0_timeout: ms(40),
        request_period: ms(600),
        rreq_backoff_max: s(11),
        broadcast_jitter: ms(20),
        cache_replies: false,
        cache_timeout: Some(s(5)),
        negative_cache: Some(s(6)),
        primary_cache: 31,
        secondary_cache: 65,
        snoop: false,
        gratuitous: false,
        salvage: false,
        salvage_limit: 14,
        buffer_packets: 66,
        buffer_time: s(31),
        release_gap: ms(50),
    };
    assert_eq!(dsr(keys), expected);
}

#[test]
fn neighbours_without_cached_replies_are_not_asked_first() {
    assert!(!dsr("cache_replies = false").ring0);
    assert!(dsr("cache_replies = false\nring0 = true").ring0);
}

#[test]
fn every_key_of_olsr() {
    let keys = "hello_interval = 1\ntc_interval = 4\nneighbour_hold = 7\ntopology_hold = 16\n\
        duplicate_hold = 31\nmax_jitter = 0.125\nown_messages_wait = false\nmessages_per_packet = 5\n\
        willingness = 7\ntc_redundancy = 2\nmpr_coverage = 3\nempty_tcs = true\n\
        hysteresis = { scaling = 0.25, high = 0.9 }\nlink_failure = \"mac\"\ntell_source = false\ncount_changes = true\n\
        triggered = { min_interval = 0.5, burst = 3 }";
    let expected = olsr::Config {
        preset: olsr::Preset::UmOlsr,
        hello_interval: s(1),
        tc_interval: s(4),
        neighbour_hold: s(7),
        topology_hold: s(16),
        duplicate_hold: s(31),
        max_jitter: ms(125),
        own_messages_wait: false,
        messages_per_packet: 5,
        willingness: Willingness::ALWAYS,
        advertised: olsr::Advertised::Neighbours,
        mpr_coverage: 3,
        empty_tcs: true,
        hysteresis: Some(olsr::Hysteresis { scaling: 250_000, high: 900_000, low: 300_000 }),
        link_failure: olsr::LinkFailure::Mac,
        tell_source: false,
        metric: None,
        count_changes: true,
        triggered: Some(olsr::Triggered { min_interval: ms(500), burst: 3 }),
    };
    assert_eq!(olsr(keys), expected);
    assert_eq!(olsr("tc_redundancy = 1").advertised, olsr::Advertised::SelectorsAndMprs);
    assert_eq!(olsr("hysteresis = true").hysteresis, Some(olsr::Hysteresis::default()));
    assert_eq!(olsr("hysteresis = {}").hysteresis, Some(olsr::Hysteresis::default()));
    assert_eq!(olsr("hysteresis = false").hysteresis, None);
    assert_eq!(olsr("triggered = true").triggered, Some(olsr::Triggered::default()));
    let min_interval = |keys| olsr(keys).triggered.unwrap().min_interval;
    assert_eq!(min_interval("hello_interval = 1\ntriggered = { burst = 3 }"), ms(100));
    assert_eq!([olsr(""), olsr("preset = \"rfc\"")].map(|config| config.triggered), [None; 2]);
}

#[test]
fn every_key_of_apdr() {
    let metric = olsr::Metric::default();
    let olsr = olsr::Config::um_olsr();
    assert_eq!(apdr(""), olsr.clone().with_metric(metric));
    let keys = "metric = \"etx\"\nweight = 0.75\nclocks = \"echoed\"\nhellos_wait = false\n\
        hysteresis = 0.2\nhold = 10\nown_load = true\nhello_interval = 1";
    let (kind, clocks) = (&olsr::ETX, olsr::Clocks::Echoed);
    let metric = olsr::Metric {
        kind,
        clocks,
        weight: 750_000,
        switching: olsr::Switching { hysteresis: 200_000, hold: s(10), own_load: true },
        hellos_wait: false,
    };
    let times = [1000, 3000, 250].map(ms);
    let [hello_interval, neighbour_hold, max_jitter] = times;
    let expected = olsr::Config { hello_interval, neighbour_hold, max_jitter, ..olsr }.with_metric(metric);
    assert_eq!(apdr(keys), expected);
    let links = "link_hysteresis = { scaling = 0.25 }\nhysteresis = 0.2";
    let expected = olsr::Hysteresis { scaling: 250_000, ..olsr::Hysteresis::default() };
    assert_eq!(apdr(links).hysteresis, Some(expected), "of links, not of routes");
    let reservation = |keys| config::<apdr::Config>("apdr-pr", keys).reservation.expect("paths are reserved");
    let hold =
        apdr::Reservation { on_break: apdr::OnBreak::Hold, max_delay: None, ..apdr::Reservation::default() };
    assert_eq!(reservation(""), hold);
    let keys = "on_break = \"reselect\"\nmax_delay = 0.25";
    let reselect = apdr::Reservation {
        on_break: apdr::OnBreak::Reselect,
        max_delay: Some(ms(250)),
        ..apdr::Reservation::default()
    };
    assert_eq!(reservation(keys), reselect);
    let limit = refused("apdr-pr", "metric = \"etx\"\nmax_delay = 0.25");
    assert!(limit.contains("routing.max_delay: the limit is a delay"), "{limit}");
    assert!(refused("apdr", "tc_redundancy = 0").contains("routing.tc_redundancy: is not a key here"));
}

#[test]
fn hold_times_and_jitter_follow_the_intervals() {
    let config = olsr("hello_interval = 1\ntc_interval = 3");
    assert_eq!((config.neighbour_hold, config.topology_hold, config.max_jitter), (s(3), s(9), ms(250)));
}

#[test]
fn keys_of_another_protocol() {
    assert_eq!(
        refused("aodv", "salvage = true"),
        "x.toml:9:1: routing.salvage: is not a key here, allowed with protocol = \"dsr\""
    );
    assert_eq!(
        refused("dsr", "hello_interval = 1"),
        "x.toml:9:1: routing.hello_interval: is not a key here, allowed with protocol = \"aodv\", \"olsr\", \"apdr\", \"apdr-pr\""
    );
    assert_eq!(
        refused("olsr", "next_hops = []"),
        "x.toml:9:1: routing.next_hops: is not a key here, allowed with protocol = \"static\""
    );
    assert_eq!(
        refused_with("routing", "preset = \"uu\""),
        "x.toml:8:1: routing.preset: is not a key here, allowed with protocol = \"aodv\", \"olsr\", \"apdr\", \"apdr-pr\""
    );
    assert_eq!(
        refused("dsr", "salvge = true"),
        "x.toml:9:1: routing.salvge: is not a key here, did you mean \"salvage\"?"
    );
}

#[test]
fn words_and_numbers_of_protocols() {
    assert_eq!(
        refused("aodv", "preset = \"um-olsr\""),
        "x.toml:9:10: routing.preset: found \"um-olsr\", allowed: \"ns2\", \"uu\""
    );
    assert_eq!(
        refused("olsr", "link_failure = \"beacon\""),
        "x.toml:9:16: routing.link_failure: found \"beacon\", allowed: \"hello\", \"mac\""
    );
    assert_eq!(
        refused("aodv", "local_repair = true"),
        "x.toml:9:16: routing.local_repair: found true, allowed: \"off\", \"rfc\", \"ns2\""
    );
    assert_eq!(
        refused("dsr", "cache_timeout = \"never\""),
        "x.toml:9:17: routing.cache_timeout: found \"never\", allowed: a number from 0.001 to 1e6, or \"off\""
    );
    assert_eq!(
        refused("olsr", "tc_interval = 0"),
        "x.toml:9:15: routing.tc_interval: found 0, allowed: a number from 0.1 to 1000.0"
    );
    assert_eq!(
        refused("olsr", "willingness = 8"),
        "x.toml:9:15: routing.willingness: found 8, allowed: a whole number from 0 to 7"
    );
    assert_eq!(
        refused("olsr", "hysteresis = 0.5"),
        "x.toml:9:14: routing.hysteresis: found 0.5, allowed: true, false, or a table such as { scaling = 0.5 }"
    );
    assert_eq!(
        refused("olsr", "hysteresis = { hi = 0.5 }"),
        "x.toml:9:16: routing.hysteresis.hi: is not a key here, allowed: high, low, scaling"
    );
}

#[test]
fn parameters_that_contradict_each_other() {
    assert_eq!(
        refused("aodv", "link_failure = \"hello\"\nlocal_repair = \"rfc\""),
        "x.toml:10:16: routing.local_repair: local repair needs the packet that the MAC could not deliver, allowed with \
         link_failure = \"mac\""
    );
    assert_eq!(
        refused("aodv", "preset = \"uu\"\nmax_wait = 5"),
        "x.toml:10:12: routing.max_wait: found 5, allowed with preset = \"ns2\""
    );
    assert_eq!(
        refused("aodv", "hello_jitter = 1"),
        "x.toml:9:16: routing.hello_jitter: found 1, allowed: less than hello_interval, 1"
    );
    assert_eq!(
        refused("aodv", "neighbour_life = 1"),
        "x.toml:9:18: routing.neighbour_life: found 1, allowed: more than hello_interval, 1"
    );
    assert_eq!(
        refused("dsr", "rreq_backoff_max = 0.1"),
        "x.toml:9:20: routing.rreq_backoff_max: found 0.1, allowed: at least request_period, 0.5"
    );
    assert_eq!(
        refused("olsr", "neighbour_hold = 2\ntopology_hold = 1"),
        "x.toml:9:18: routing.neighbour_hold: found 2, allowed: more than hello_interval, 2\n\
         x.toml:10:17: routing.topology_hold: found 1, allowed: more than tc_interval, 5"
    );
    assert_eq!(
        refused("olsr", "hysteresis = { high = 0.2 }"),
        "x.toml:9:23: routing.hysteresis.high: found 0.2, allowed: more than low, 0.3"
    );
}

#[test]
fn the_first_range_and_its_steps_stay_below_the_largest_ttl() {
    assert_eq!(
        refused("aodv", "ttl_threshold = 129"),
        "x.toml:9:17: routing.ttl_threshold: found 129, allowed: a whole number from 1 to 128"
    );
    assert_eq!(
        refused("aodv", "ttl_increment = 128"),
        "x.toml:9:17: routing.ttl_increment: found 128, allowed: a whole number from 1 to 127"
    );
}
