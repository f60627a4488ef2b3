//! TPA in scenario files.

use multihop_core::Duration;
use multihop_scenario::{Protocol, Scenario};
use multihop_transport::lifecycle;
use multihop_transport::pacing::KMean;
use multihop_transport::tpa::{self, AckPolicy};

use super::{SMALLEST, load, refused};

#[test]
fn short_names_of_tpa() {
    for (name, shown, cwnd_max, ack_policy) in [
        ("tpa-2", "tpa-2", 2, AckPolicy::EveryTwo),
        ("tpa-3", "tpa-3", 3, AckPolicy::EveryTwo),
        ("tpa*-2", "tpa*-2", 2, AckPolicy::EveryWindow),
        ("tpa*-3", "tpa*-3", 3, AckPolicy::EveryWindow),
        ("tpa-star-3", "tpa*-3", 3, AckPolicy::EveryWindow),
    ] {
        let scenario = load(&SMALLEST.replace("newreno", name));
        let expected = tpa::Config { cwnd_max, ack_policy, ..tpa::Config::paper() };
        assert_eq!(tpa_config(&scenario), &expected, "{name}");
        assert_eq!(scenario.flows[0].transport.name, shown);
    }
}

#[test]
fn paced_kinds_of_tpa() {
    for (name, base) in [
        ("tpa-ap-2", "tpa-2"),
        ("tpa-ap-3", "tpa-3"),
        ("tpa*-ap-3", "tpa*-3"),
        ("tpa-star-ap-3", "tpa*-3"),
        ("tpa-3+ap", "tpa-3"),
    ] {
        let [paced, base] = [name, base].map(|name| load(&SMALLEST.replace("newreno", name)));
        let config = tpa_config(&paced);
        assert_eq!(&tpa::Config { pacing: None, ..config.clone() }, tpa_config(&base), "{name}");
        let pacing = config.pacing.unwrap();
        assert_eq!((pacing.alpha, pacing.history, pacing.k, pacing.reuse_hops), (700, 50, 1, 4));
    }
    let table = r#"{ kind = "tpa-ap-2", pacing_k = 3, pacing_k_mean = "scaled" }"#;
    let scenario = load(&SMALLEST.replace("\"newreno\"", table));
    let pacing = tpa_config(&scenario).pacing.unwrap();
    assert_eq!((pacing.k, pacing.k_mean), (3, KMean::Scaled));
}

#[test]
fn parameters_of_tpa_lie_on_top_of_a_profile() {
    let table = |inner: &str| load(&SMALLEST.replace("\"newreno\"", &format!("{{ {inner} }}")));
    let scenario = table(r#"kind = "tpa", profile = "net""#);
    assert_eq!(tpa_config(&scenario), &tpa::Config::net());
    let scenario = table(r#"kind = "tpa-2", profile = "net", cwnd_max = 4, loss_by_txseq = "off""#);
    let expected = tpa::Config {
        cwnd_max: 4,
        ack_policy: AckPolicy::EveryTwo,
        loss_by_txseq: None,
        ..tpa::Config::net()
    };
    assert_eq!(tpa_config(&scenario), &expected);
    let scenario = table(
        r#"kind = "tpa", cwnd_max = 3, ack_policy = "every-cwnd", fill = "segment", block_fill = 0,
           block_size = 6, ack_interval = 0.02, ack_block_end = true, hold_in = "both",
           ack_interval_min = 0.01, ack_gaps = true, late_samples = true,
           loss_by_txseq = 3, notices = true,
           th_cong = 2, th_route = 3, th_ack = 4, th_rc = 5, n_rc = 6, rto_initial = 1, rto_min = 0.05,
           rto_max = 10, freeze_rto_max = 1, rto_covers_hold = true,
           rto_short_samples = false, silence_max = 5, user_timeout = "off", keepalive = 60,
           g = 0.25, h = 0.5, g1 = 0.75, h1 = 1"#,
    );
    let paper = tpa::Config::paper();
    let expected = tpa::Config {
        cwnd_max: 3,
        ack_policy: AckPolicy::EveryWindow,
        fill: tpa::Fill::Segment,
        block_fill: Duration::ZERO,
        block_size: 6,
        ack_interval: Duration::from_millis(20),
        ack_interval_min: Some(Duration::from_millis(10)),
        ack_block_end: true,
        ack_gaps: true,
        late_samples: true,
        hold_in: tpa::HoldIn::Both,
        loss_by_txseq: Some(3),
        notices: true,
        th_cong: 2,
        th_route: 3,
        th_ack: 4,
        rto: tpa::RtoConfig {
            initial: Duration::from_secs(1),
            min: Duration::from_millis(50),
            max: Duration::from_secs(10),
            freeze_max: Some(Duration::from_secs(1)),
            covers_hold: true,
            short_samples: false,
            th_rc: 5,
            n_rc: 6,
            g: 250,
            h: 500,
            g1: 750,
            h1: 1000,
        },
        silence_max: Duration::from_secs(5),
        lifecycle: lifecycle::Config {
            user_timeout: None,
            keepalive: Some(Duration::from_secs(60)),
            ..paper.lifecycle
        },
        ..paper
    };
    assert_eq!(tpa_config(&scenario), &expected);
}

#[test]
fn keys_of_another_family() {
    let table = |inner: &str| refused(&SMALLEST.replace("\"newreno\"", &format!("{{ {inner} }}")));
    assert_eq!(
        table("kind = \"tpa-2\", window_max = 4"),
        "x.toml:6:31: flow.0.transport.window_max: is not a key here, allowed with a TCP kind or mesh"
    );
    assert_eq!(
        table("kind = \"newreno\", cwnd_max = 4"),
        "x.toml:6:33: flow.0.transport.cwnd_max: is not a key here, allowed with a TPA kind"
    );
    assert_eq!(
        table("kind = \"tpa-2\", fil = 4"),
        "x.toml:6:31: flow.0.transport.fil: is not a key here, did you mean \"fill\"?"
    );
}

#[test]
fn parameters_that_do_not_go_together() {
    let table = |inner: &str| refused(&SMALLEST.replace("\"newreno\"", &format!("{{ {inner} }}")));
    assert_eq!(
        table("kind = \"tpa-3\", block_size = 2"),
        "x.toml:6:44: flow.0.transport.block_size: found 2, allowed: at least cwnd_max, 3"
    );
    assert_eq!(
        table("kind = \"tpa-3\", rto_min = 5, rto_max = 2"),
        "x.toml:6:41: flow.0.transport.rto_min: 5.000000000s is more than rto_max, 2.000000000s"
    );
    assert_eq!(
        table("kind = \"tpa-3\", ack_policy = \"every\""),
        "x.toml:6:44: flow.0.transport.ack_policy: found \"every\", allowed: \"every-2\", \"every-cwnd\", did you mean \"every-2\"?"
    );
    assert_eq!(
        refused(&SMALLEST.replace("newreno", "tpa-2+da")),
        "x.toml:6:13: flow.0.transport: found \"tpa-2+da\", but TPA has its own ACK rules: TPA and TPA*"
    );
    assert_eq!(
        table("kind = \"tpa-3\", pacing_k = 2"),
        "x.toml:6:42: flow.0.transport.pacing_k: \"tpa-3\" is not paced, allowed with: the suffix +ap"
    );
    assert_eq!(
        table("kind = \"tpa-ap-3\", ap_rtt = \"timed\""),
        "x.toml:6:34: flow.0.transport.ap_rtt: is not a key here, allowed with a TCP kind"
    );
}

fn tpa_config(scenario: &Scenario) -> &tpa::Config {
    match &scenario.flows[0].transport.protocol {
        Protocol::Tpa { config } => config,
        other => panic!("no TPA: {other:?}"),
    }
}
