//! Tests that compare a checked scenario with its document.

use multihop_core::{BitRate, Duration, NodeId};
use multihop_radio::energy::{Battery, Energy, Powers};
use multihop_radio::frame::Category;
use multihop_radio::params::{CategoryParams, Change, Fading, MacParams, Model, PathLoss, RadioParams, Sinr};
use multihop_radio::rate_control::{LadderParams, MinstrelParams, RateControlParams};
use multihop_scenario::{
    App, ArpKind, Mobility, Protocol, Record, RoutingProtocol, Scenario, Series, Source, schema,
};
use multihop_transport::congestion::Variant;
use multihop_transport::pacing::{Clock, Cov, KMean, PacingConfig, Rules};
use multihop_transport::tcp::{
    AckRule, AdtcpConfig, Config, DelayedAck, DensityConfig, Ending, Exit, Identify, Pacing, PartialAckTimer,
    Probe, ProbeInterval, Probing, Restore, RoundTrips, Standby,
};

use super::{SMALLEST, load, load_with};

#[test]
fn the_defaults_are_those_of_ns2() {
    let scenario = load(SMALLEST);
    assert_eq!(scenario.name, "x");
    assert_eq!((scenario.duration, scenario.warmup), (Duration::from_secs(10), Duration::ZERO));
    assert_eq!(scenario.seed, 1);
    assert_eq!(*scenario.radio(), RadioParams::default());
    assert_eq!(*scenario.mac(), MacParams::default());
    assert_eq!(scenario.radios[0].arp, ArpKind::Ns2);
    assert_eq!(scenario.mobility, Mobility::Static);
    let RoutingProtocol::Static { next_hops } = &scenario.routing.protocol else { panic!("static routes") };
    assert!(next_hops.is_empty());
    assert_eq!(scenario.routing.ip_extra, 0);
    let flow = &scenario.flows[0];
    assert_eq!((flow.from, flow.to, flow.app), (NodeId(0), NodeId(4), App::Ftp));
    assert_eq!((flow.start, flow.stop), (Duration::ZERO, None));
    assert!(scenario.record.is_none() && scenario.energy.is_none() && scenario.sweep.is_none());
}

#[test]
fn the_defaults_of_the_sinr_model_are_the_radios() {
    let scenario = load(&format!("{SMALLEST}[radio]\nmodel = \"sinr\"\n"));
    assert_eq!(scenario.radio().model, Model::Sinr(Sinr::default()));
    assert!((scenario.decode_range() - 250.0).abs() < 0.5, "{}", scenario.decode_range());
}

/// Every key, each with a value that is not its default.
const EVERY_KEY: &str = r#"
name = "all"
duration = 60
warmup = 5.5
seed = 18446744073709551615
[radio]
rate = "11M"
basic_rate = "2M"
preamble = "short"
model = "sinr"
tx_power_dbm = 20
path_loss = { kind = "log-distance", exponent = 2.7, reference_db = 40 }
shadowing_db = 4
fading = { kind = "rician", k = 6, coherence = 0.02 }
noise_floor_dbm = -95
cca_dbm = -90
sensitivity_dbm = -89
capture_db = 5
loss = 0.1
frame_loss = 0.01
burst = { good = 0.001, bad = 0.5, p = 0.02, r = 0.3 }
[mac]
flavour = "standard"
timing = "ns2-1999"
rts_threshold = "off"
eifs = false
llc = true
queue = 20
arp = "oracle"
short_retry = "off"
long_retry = 9
link_delay = 0
[topology]
kind = "list"
positions = [[0, 0], [100, 0.5], [-200, 0]]
[mobility]
kind = "static"
[routing]
protocol = "static"
next_hops = [[0, 2, 1]]
ip_extra = 20
[[flow]]
from = 0
to = 2
app = "pareto"
mean_bytes = 30_000
shape = 1.5
mean_pause = 0.1
transport = "tcp-3+dyn"
start = 1
stop = 50.25
[[flow]]
from = 2
to = 1
app = "cbr"
rate_kbps = 192
size = 1000
[[flow]]
from = 2
to = 1
app = "paced"
transport = "udp"
[[flow]]
from = 2
to = 1
app = "file"
bytes = 27_000_000
transport = { kind = "tcp-uc", preset = "linux", window_max = 12, recovery = "slow-but-steady",
    timestamps = "off", max_retries = 3, tick = 0.01, ack_delay = 0.2, mss = 512, sack = false }
[record]
every = 0
what = ["queue", "cwnd", "rtt", "hops", "goodput"]
[energy]
idle = 1
"#;

#[test]
fn every_key_of_the_network_arrives() {
    let scenario = load(EVERY_KEY);
    assert_eq!((scenario.name.as_str(), scenario.seed), ("all", u64::MAX));
    assert_eq!(scenario.warmup, Duration::from_millis(5500));
    assert_eq!(scenario.radio().bit_rate(), BitRate(11_000_000));
    let Model::Sinr(sinr) = &scenario.radio().model else { panic!("{:?}", scenario.radio()) };
    assert_eq!(sinr.path_loss, PathLoss::LogDistance { exponent: 2.7, reference_db: 40.0 });
    assert_eq!(sinr.fading, Fading::Rician { k: 6.0, change: Change::Blocks(Duration::from_millis(20)) });
    assert_eq!(
        (sinr.tx_power_dbm, sinr.noise_floor_dbm, sinr.cca_dbm, sinr.sensitivity_dbm, sinr.capture_db),
        (20.0, -95.0, -90.0, -89.0, 5.0)
    );
    let burst = scenario.radio().burst.unwrap();
    assert_eq!((burst.good, burst.bad, burst.p, burst.r), (0.001, 0.5, 0.02, 0.3));
    assert_eq!((scenario.radio().loss, scenario.radio().frame_loss), (0.1, 0.01));
    assert_eq!((scenario.mac().rts_threshold, scenario.mac().short_retry), (None, None));
    assert_eq!((scenario.mac().long_retry, scenario.mac().link_delay), (Some(9), Duration::ZERO));
    assert_eq!((scenario.mac().eifs, scenario.mac().llc, scenario.mac().queue), (false, true, 20));
    assert_eq!(scenario.radios[0].arp, ArpKind::Oracle);
    assert_eq!(scenario.topology.place(3).unwrap().positions[2], [-200.0, 0.0]);
    let RoutingProtocol::Static { next_hops } = &scenario.routing.protocol else { panic!("static routes") };
    assert_eq!(next_hops[&(NodeId(0), NodeId(2))], NodeId(1));
    assert_eq!(scenario.routing.ip_extra, 20);
}

#[test]
fn every_key_of_the_traffic_arrives() {
    let scenario = load(EVERY_KEY);
    let [pareto, cbr, paced, file] = &scenario.flows[..] else { panic!("four flows") };
    let pause = Duration::from_millis(100);
    assert_eq!(pareto.app, App::Pareto { mean_bytes: 30_000.0, shape: 1.5, mean_pause: pause });
    assert_eq!(pareto.stop, Some(Duration::from_millis(50_250)));
    assert_eq!(cbr.app, App::Cbr { rate: BitRate(192_000), size: 1000 });
    assert!(matches!(cbr.transport.protocol, Protocol::Udp));
    assert_eq!(paced.app, App::Paced { size: 1460 });
    assert_eq!(file.app, App::File { bytes: 27_000_000 });
    assert_eq!(file.transport.name, "tcp-uc");
    let linux = Config::linux();
    let mut expected = Config { window_max: 12, timestamps: None, max_retries: Some(3), ..linux };
    expected.rto.granularity = Duration::from_millis(10);
    expected.newreno.timer = PartialAckTimer::SlowButSteady;
    expected.ack_delay = Duration::from_millis(200);
    expected.mss = 512;
    expected.sack = false;
    assert_eq!(config(&scenario, 3), &expected);

    let [cwnd, rtt] = [("cwnd", ""), ("rtt", "ms")].map(|(name, unit)| Series::Declared { name, unit });
    let what = vec![Series::Queue, cwnd, rtt, Series::Hops, Series::Goodput];
    assert_eq!(scenario.record, Some(Record { every: Duration::ZERO, what }));
    let powers = Powers { transmit: 1.4, receive: 0.9, idle: 1.0, sleep: 0.0 };
    assert_eq!(scenario.energy, Some(Energy { powers, battery: Battery::Mains }));
}

#[test]
fn short_names_of_tcp() {
    let delayed = AckRule::Delayed(DelayedAck::Ns2);
    for (name, variant, ack_rule, window) in [
        ("reno", Variant::Reno, AckRule::Every, 64),
        ("newreno", Variant::NewReno, AckRule::Every, 64),
        ("vegas+da", Variant::Vegas, delayed, 64),
        ("westwood+dyn", Variant::Westwood, AckRule::Dynamic, 64),
        ("tcp-2", Variant::NewReno, delayed, 2),
        ("tcp-3", Variant::NewReno, delayed, 3),
        ("tcp-uc", Variant::NewReno, delayed, 64),
        ("reno+da", Variant::Reno, delayed, 64),
        ("newreno+dyn", Variant::NewReno, AckRule::Dynamic, 64),
        ("reno+tack", Variant::Reno, AckRule::Tack, 64),
        ("tcp-3+ack1", Variant::NewReno, AckRule::Every, 3),
    ] {
        let scenario = load(&SMALLEST.replace("newreno", name));
        let expected =
            Config { congestion: variant.into(), ack_rule, window_max: window, ..Config::default() };
        assert_eq!(config(&scenario, 0), &expected, "{name}");
        assert_eq!(scenario.flows[0].transport.name, name);
    }
    let cubic = Config { congestion: Variant::Cubic.into(), ack_rule: AckRule::Every, ..Config::rfc() };
    assert_eq!(config(&load(&SMALLEST.replace("newreno", "cubic")), 0), &cubic);
    for (name, variant) in [("bbr", Variant::Bbr), ("bbr3", Variant::Bbr3), ("prague", Variant::Prague)] {
        let scenario = load(&SMALLEST.replace("newreno", name));
        assert_eq!(
            config(&scenario, 0),
            &Config { congestion: variant.into(), ..Config::linux_6() },
            "{name}"
        );
    }
    let by_hops = |name: &str| {
        let scenario = load(&SMALLEST.replace("newreno", name));
        config(&scenario, 0).window_by_hops
    };
    assert!(by_hops("tcp-cwl") && by_hops("tcp-cwl+da") && !by_hops("tcp-3"));
}

#[test]
fn short_names_of_link_failure_notification() {
    for (name, variant, ack_rule, restore) in [
        ("elfn", Variant::Reno, AckRule::Every, Restore::Keep),
        ("elfn-w", Variant::Reno, AckRule::Every, Restore::Window),
        ("elfn-rto-w", Variant::Reno, AckRule::Every, Restore::RtoWindow),
        ("elfn+da", Variant::Reno, AckRule::Delayed(DelayedAck::Ns2), Restore::Keep),
        ("newreno+elfn", Variant::NewReno, AckRule::Every, Restore::Keep),
        ("newreno+elfn+dyn", Variant::NewReno, AckRule::Dynamic, Restore::Keep),
    ] {
        let scenario = load(&SMALLEST.replace("newreno", name));
        let elfn = Some(standby(Ending { restore, ..Standby::elfn().end }));
        assert_eq!(
            config(&scenario, 0),
            &Config { congestion: variant.into(), ack_rule, elfn, ..Config::default() },
            "{name}"
        );
    }
}

const fn standby(end: Ending) -> Standby {
    Standby { end, ..Standby::elfn() }
}

#[test]
fn keys_of_standby() {
    let plan = |keys: &str| {
        let table = format!("{{ kind = \"elfn-w\", {keys} }}");
        config(&load(&SMALLEST.replace("\"newreno\"", &table)), 0).elfn.unwrap()
    };
    let changed = plan(
        "probe_interval = \"rtt\", probe = \"lowest-lost\", exit = \"new\", restore = \"rto-window\", probe_max = 9",
    );
    let expected = Standby {
        probing: Probing { interval: ProbeInterval::RoundTrips, max_probes: Some(9) },
        at_once: false,
        end: Ending { probe: Probe::LowestLost, exit: Exit::New, restore: Restore::RtoWindow },
    };
    assert_eq!(changed, expected);
    assert_eq!(plan("probe_interval = 30").probing.interval, ProbeInterval::Fixed(Duration::from_secs(30)));
    assert_eq!(
        plan("probe_max = \"off\""),
        standby(Ending { restore: Restore::Window, ..Standby::elfn().end })
    );
}

#[test]
fn adtcp_is_of_2002_with_timestamps() {
    let of = |transport: &str| config(&load(&SMALLEST.replace("\"newreno\"", transport)), 0).clone();
    let tick = Some(Duration::from_micros(1));
    let plain = Config { congestion: Variant::Adtcp.into(), timestamps: tick, ..Config::ns2_2002() };
    assert_eq!(of("\"adtcp\""), plain);
    let delayed = AckRule::Delayed(DelayedAck::Ns2);
    assert_eq!(of("\"adtcp+da\""), Config { ack_rule: delayed, ..plain.clone() });
    let linux = of(r#"{ kind = "adtcp", preset = "linux" }"#);
    assert_eq!(
        linux,
        Config { congestion: Variant::Adtcp.into(), ack_rule: AckRule::Every, ..Config::linux() }
    );
    let table = r#"{ kind = "adtcp", identify = "idd", samples = 30, option_kind = 254, timestamps = 0.01,
        probe_interval = 4, probe_max = 3, bins = 16, high = 0.2, low = 0.4 }"#;
    let changed = of(&table.replace('\n', " "));
    let disconnected = Standby {
        probing: Probing { interval: ProbeInterval::Fixed(Duration::from_secs(4)), max_probes: Some(3) },
        ..plain.adtcp.disconnected
    };
    let density = DensityConfig { samples: 30, bins: 16, high: 200, low: 400 };
    let adtcp = AdtcpConfig { option_kind: 254, density, identify: Identify::Idd, disconnected };
    let timestamps = Some(Duration::from_millis(10));
    assert_eq!(changed, Config { adtcp, timestamps, ..plain });
}

#[test]
fn a_delayed_ack_follows_the_preset_unless_it_is_named() {
    let rule = |table: &str| {
        let scenario = load(&SMALLEST.replace("\"newreno\"", table));
        config(&scenario, 0).ack_rule
    };
    let (ns2, linux) = (AckRule::Delayed(DelayedAck::Ns2), AckRule::Delayed(DelayedAck::Linux));
    assert_eq!(rule(r#"{ kind = "tcp-2" }"#), ns2);
    assert_eq!(rule(r#"{ kind = "tcp-2", preset = "linux" }"#), linux);
    assert_eq!(rule(r#"{ kind = "tcp-2", delack = "linux" }"#), linux);
    assert_eq!(rule(r#"{ kind = "tcp-2", preset = "linux", delack = "ns2" }"#), ns2);
    assert_eq!(rule(r#"{ kind = "newreno", preset = "linux" }"#), AckRule::Every);
}

#[test]
fn paced_tcp() {
    let pacing = |transport: &str| {
        let scenario = load(&SMALLEST.replace("\"newreno\"", transport));
        let config = config(&scenario, 0);
        assert_eq!(config.congestion, Variant::NewReno.into());
        (config.pacing, config.ack_rule)
    };
    let paper = PacingConfig::new(BitRate(2_000_000));
    let authors = paper.with_rules(Rules::Authors);
    let paced = |pacer| Some(Pacing::new(pacer));
    assert_eq!(pacing(r#""newreno""#).0, None);
    assert_eq!(pacing(r#""tcp-ap""#), (paced(authors), AckRule::Every));
    assert_eq!(pacing(r#""newreno+ap""#), (paced(authors), AckRule::Every));
    assert_eq!(pacing(r#""tcp-ap+dyn""#), (paced(authors), AckRule::Dynamic));
    assert_eq!(pacing(r#""newreno+dyn+ap""#), (paced(authors), AckRule::Dynamic));
    assert_eq!(pacing(r#"{ kind = "tcp-ap", rules = "paper" }"#).0, paced(paper));
    let synchronised = PacingConfig { clock: Clock::Synchronised, ..paper };
    assert_eq!(pacing(r#""tcp-ap-sync""#).0, paced(synchronised));
    let (alpha, history, reuse_hops, k) = (250, 10, 3, 2);
    let (cov, k_mean, clock) = (Cov::Mad, KMean::Scaled, Clock::Synchronised);
    let own = PacingConfig { alpha, history, reuse_hops, k, cov, k_mean, clock, ..paper };
    let table = r#"{ kind = "tcp-ap", rules = "paper", alpha = 0.25, history = 10, reuse_hops = 3, cov = "mad", pacing_k = 2,
        pacing_k_mean = "scaled", clock = "synchronised", ap_rtt = "timed", ap_across_timeouts = true }"#;
    assert_eq!(
        pacing(&table.replace('\n', "")).0,
        Some(Pacing { round_trips: RoundTrips::Timed, across_timeouts: true, pacer: own })
    );
}

#[test]
fn flows_without_ends_take_the_pairs_of_the_layout_in_turn() {
    let text = SMALLEST.replace("chain", "cross").replace("hops = 4", "");
    let text =
        format!("{text}[[flow]]\nfrom = 8\nto = 0\ntransport = \"reno\"\n[[flow]]\ntransport = \"reno\"\n");
    let ends: Vec<_> = load(&text).flows.iter().map(|flow| (flow.from.0, flow.to.0)).collect();
    assert_eq!(ends, [(0, 4), (8, 0), (5, 8)]);
}

#[test]
fn a_range_for_each_rate() {
    let scenario = load(&format!("{SMALLEST}[radio]\nrange = {{ \"1M\" = 300.0, \"2M\" = 250 }}\n"));
    let Model::Threshold(threshold) = &scenario.radio().model else { panic!("{:?}", scenario.radio()) };
    assert_eq!(threshold.range, [300.0, 250.0, 0.0, 0.0]);
    assert_eq!(scenario.decode_range(), 250.0);
}

#[test]
fn rate_control_is_a_word_or_a_table() {
    let rate_control =
        |given: &str| load_with(SMALLEST, &[("mac.rate_control", given)]).unwrap().mac().rate_control.clone();
    assert_eq!(load(SMALLEST).mac().rate_control, RateControlParams::Fixed);
    assert_eq!(rate_control("fixed"), RateControlParams::Fixed);
    assert_eq!(rate_control("aarf"), RateControlParams::Ladder(LadderParams::AARF));
    let cara = LadderParams { failures: 3, rts_after: Some(2), ..LadderParams::CARA };
    assert_eq!(
        rate_control("{ kind = \"cara\", failures = 3, rts_after = 2 }"),
        RateControlParams::Ladder(cara)
    );
    let arf = LadderParams { successes: 20, most_successes: 20, ..LadderParams::ARF };
    assert_eq!(rate_control("{ kind = \"arf\", successes = 20 }"), RateControlParams::Ladder(arf));
    let minstrel = MinstrelParams { lookaround: 0.05, ..MinstrelParams::default() };
    assert_eq!(
        rate_control("{ kind = \"minstrel\", lookaround = 0.05 }"),
        RateControlParams::Minstrel(minstrel)
    );
}

#[test]
fn access_categories_of_stations_and_flows() {
    let text = format!("{SMALLEST}[mac]\nflavour = \"standard\"\nedca = {{ voice = {{ txop = 0.001 }} }}\n");
    let scenario = load_with(&text, &[("flow.0.category", "video")]).unwrap();
    let edca = scenario.mac().edca.clone().expect("four categories");
    assert_eq!(edca.categories[Category::Voice as usize].txop, Some(Duration::from_millis(1)));
    assert_eq!(edca.categories[Category::Video as usize], CategoryParams::default());
    assert_eq!(scenario.flows[0].category, Category::Video);
    let plain = load(SMALLEST);
    assert_eq!((plain.mac().edca.clone(), plain.flows[0].category), (None, Category::BestEffort));
}

#[test]
fn overrides_reach_every_part() {
    let overrides = [
        ("topology.hops", "2"),
        ("flow.*.transport", "tcp-2+da"),
        ("flow.0.start", "1.5"),
        ("radio.rate", "11M"),
        ("mac.arp", "\"oracle\""),
        ("radio.range", "{ \"1M\" = 300, \"11M\" = 200 }"),
        ("sweep", "{ seeds = 3 }"),
    ];
    let scenario = load_with(SMALLEST, &overrides).unwrap();
    assert_eq!(scenario.topology.nodes(), 3);
    assert_eq!(scenario.flows[0].transport.name, "tcp-2+da");
    assert_eq!(scenario.flows[0].start, Duration::from_millis(1500));
    assert_eq!(scenario.radio().bit_rate(), BitRate(11_000_000));
    assert_eq!(scenario.radios[0].arp, ArpKind::Oracle);
    assert_eq!(scenario.decode_range(), 200.0);
    assert_eq!(scenario.sweep.unwrap().seeds, 3);
    let later_wins = load_with(SMALLEST, &[("seed", "2"), ("seed", "3")]).unwrap();
    assert_eq!(later_wins.seed, 3);
}

#[test]
fn json_and_toml_mean_the_same() {
    let text = r#"{"duration": 10, "topology": {"kind": "chain", "hops": 4},
        "flow": [{"transport": {"kind": "tcp-3", "preset": "ns2-2.30"}}]}"#;
    let json = Source::Json { text: text.to_owned(), name: "x".to_owned() };
    let from_json = Scenario::load(&json, &[]).unwrap();
    let table = "{ kind = \"tcp-3\", preset = \"ns2-2.30\" }";
    let from_toml = load(&SMALLEST.replace("\"newreno\"", table));
    assert_eq!(format!("{from_json:?}"), format!("{from_toml:?}"));
}

#[test]
fn axes_keep_the_order_of_the_file() {
    let text = format!(
        "{SMALLEST}[sweep]\nseeds = 10\n\"flow.*.transport\" = [\"newreno\", {{ kind = \"reno\", mss = 512 }}]\n\
         topology.hops = [1, 2]\nradio.loss = [0.0, 1e-3]\n\"duration\" = [5]\n"
    );
    let sweep = load(&text).sweep.unwrap();
    let keys: Vec<&str> = sweep.axes.iter().flat_map(|axis| &axis.keys).map(String::as_str).collect();
    assert_eq!(keys, ["flow.*.transport", "topology.hops", "radio.loss", "duration"]);
    assert_eq!(sweep.seeds, 10);
    for axis in &sweep.axes {
        for point in &axis.points {
            load_with(SMALLEST, &[(&axis.keys[0], &point[0].text)]).unwrap();
        }
    }
    assert_eq!(sweep.axes[0].points[1][0].json, serde_json::json!({ "kind": "reno", "mss": 512 }));
    assert_eq!(sweep.axes[2].points[1][0].text, "0.001");
}

#[test]
fn keys_of_a_zipped_axis_vary_together() {
    let text = format!(
        "{SMALLEST}[sweep]\n\"topology.hops\" = [1, 2]\n[[sweep.zip]]\nradio.rate = [\"2M\", \"11M\"]\n\
         \"radio.range\" = [250, 100]\n[[sweep.zip]]\nduration = [5]\n"
    );
    let sweep = load(&text).sweep.unwrap();
    let keys: Vec<&[String]> = sweep.axes.iter().map(|axis| &axis.keys[..]).collect();
    assert_eq!(keys, [&["topology.hops"][..], &["radio.rate", "radio.range"], &["duration"]]);
    let texts: Vec<Vec<&str>> =
        sweep.axes[1].points.iter().map(|point| point.iter().map(|value| &*value.text).collect()).collect();
    assert_eq!(texts, [["\"2M\"", "250"], ["\"11M\"", "100"]]);
}

#[test]
fn the_schema_describes_every_key() {
    let schema = schema();
    let tables = &schema["properties"];
    let mac = &tables["mac"]["properties"];
    assert_eq!(mac["short_retry"]["default"], 7);
    let rts = &mac["rts_threshold"];
    assert_eq!(rts["default"], serde_json::Value::Null, "it depends on the budget of the radio");
    assert!(rts["description"].as_str().unwrap().starts_with("Length from which on frames"));
    let topology = tables["topology"]["oneOf"].as_array().unwrap();
    assert_eq!(topology.len(), 13);
    assert_eq!(topology[0]["properties"]["kind"]["const"], "chain");
    assert_eq!(topology[0]["required"], serde_json::json!(["hops", "kind"]));
    assert_eq!(schema["required"], serde_json::json!(["duration", "topology"]));
    assert_eq!(schema["unevaluatedProperties"], false);
    let text = schema.to_string();
    for word in [
        "\"tcp-3+dyn\"",
        "\"newreno+da+elfn+ap\"",
        "\"newreno+ap+da\"",
        "\"tpa-star-3+ap\"",
        "\"5.5M\"",
        "\"ns2-2.30\"",
        "\"ftp\"",
        "\"next_hops\"",
        "\"sinr\"",
        "\"rreq_backoff_max\"",
        "\"um-olsr\"",
    ] {
        assert!(text.contains(word), "{word} in {text}");
    }
}

#[test]
fn the_schema_has_every_order_of_suffixes_and_each_is_read() {
    let names = &schema()["$defs"]["TransportName"]["enum"];
    let names: Vec<_> = names.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    for words in [["da", "elfn", "ap"], ["ap", "elfn", "dyn"], ["elfn", "ack1", "ap"]] {
        assert!(names.contains(&format!("newreno+{}", words.join("+")).as_str()), "{words:?}");
    }
    // UDP is only for other applications.
    for name in names.into_iter().filter(|name| *name != "udp") {
        load(&SMALLEST.replace("newreno", name));
    }
}

fn config(scenario: &Scenario, flow: usize) -> &Config {
    match &scenario.flows[flow].transport.protocol {
        Protocol::Tcp { config, .. } => config,
        other => panic!("flow {flow} is no TCP: {other:?}"),
    }
}
