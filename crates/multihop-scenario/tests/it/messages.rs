//! One test for each kind of problem.

use multihop_scenario::{Scenario, Source};

use super::{SMALLEST, load, load_with, refused, refused_with as with};

#[test]
fn an_unknown_word_is_an_error() {
    let text = format!("{SMALLEST}\n[radio]\n\nrate = \"3M\"\n");
    assert_eq!(
        refused(&text),
        "x.toml:10:8: radio.rate: found \"3M\", allowed: \"1M\", \"2M\", \"5.5M\", \"11M\""
    );
}

#[test]
fn a_value_of_another_type() {
    assert_eq!(with("mac", "eifs = 1"), "x.toml:8:8: mac.eifs: found 1, allowed: true, false");
    assert_eq!(
        with("mac", "queue = 2.5"),
        "x.toml:8:9: mac.queue: found 2.5, allowed: a whole number from 1 to 1000000"
    );
    assert_eq!(with("", "radio = 4"), "x.toml:1:9: radio: found 4, allowed: a table");
    assert_eq!(
        with("", "name = []"),
        "x.toml:1:8: name: found an empty array, allowed: text of 1 to 500 characters"
    );
    assert_eq!(
        with("radio", "loss = 1979-05-27"),
        "x.toml:8:8: radio.loss: found a date, allowed: a number from 0.0 to 1.0"
    );
}

#[test]
fn access_categories_under_the_rules_of_ns2() {
    assert_eq!(
        with("mac", "edca = true"),
        "x.toml:8:8: mac.edca: found true, allowed: false unless flavour = \"standard\""
    );
    assert_eq!(
        with("mac", "flavour = \"standard\"\nedca = { voice = { aifsn = 0 } }"),
        "x.toml:9:28: mac.edca.voice.aifsn: found 0, allowed: a whole number from 1 to 15"
    );
}

#[test]
fn a_rate_control_that_does_not_exist_or_lacks_a_key() {
    assert_eq!(
        with("mac", "rate_control = \"minstral\""),
        "x.toml:8:16: mac.rate_control: found \"minstral\", allowed: \"fixed\", \"arf\", \"aarf\", \"cara\", \
         \"kernel\", \"minstrel\", or a table such as { kind = \"minstrel\" }, did you mean \"minstrel\"?"
    );
    assert_eq!(
        with("mac", "rate_control = { kind = \"arf\", lookaround = 0.1 }"),
        "x.toml:8:32: mac.rate_control.lookaround: is not a key here, allowed with kind = \"minstrel\""
    );
    assert_eq!(
        with("mac", "rate_control = {}"),
        "x.toml:8:16: mac.rate_control.kind: is missing, allowed: \"fixed\", \"arf\", \"aarf\", \"cara\", \"kernel\", \
         \"minstrel\""
    );
}

#[test]
fn aggregation_without_802_11n_or_the_rules_of_the_standard() {
    assert_eq!(
        with("mac", "ampdu = 64"),
        "x.toml:8:9: mac.ampdu: found 64, allowed: \"off\" with phy = \"802.11b\": only 802.11n, 802.11ac and 802.11ax aggregate"
    );
    assert_eq!(
        with("mac", "amsdu = 3839\nflavour = \"ns2\"\n[radio]\nphy = \"802.11n-20\""),
        "x.toml:8:9: mac.amsdu: found 3839, allowed: \"off\" with flavour = \"ns2\", which does not aggregate"
    );
    assert_eq!(
        with("mac", "ampdu = 257"),
        "x.toml:8:9: mac.ampdu: found 257, allowed: a whole number from 2 to 256, or \"off\""
    );
    assert_eq!(
        with("mac", "ampdu = 65\nflavour = \"standard\"\n[radio]\nphy = \"802.11ac-80\""),
        "x.toml:8:9: mac.ampdu: found 65, allowed: a whole number from 2 to 64, or \"off\" with phy = \"802.11ac-80\""
    );
}

#[test]
fn protection_without_stations_that_need_it() {
    let at = "x.toml:8:14: mac.protection: found \"cts-to-self\", allowed: \"off\"";
    for (more, reason) in [
        ("", "with phy = \"802.11b\": only 802.11g needs it"),
        ("[radio]\nphy = \"802.11n-20\"", "with phy = \"802.11n-20\": only 802.11g needs it"),
        ("flavour = \"ns2\"\n[radio]\nphy = \"802.11g\"", "with flavour = \"ns2\", which has none"),
        ("[radio]\nphy = \"802.11g\"", "with basic_rate = \"6M\", which stations of 802.11b cannot receive"),
        ("edca = true\n[radio]\nphy = \"802.11g\"\nbasic_rate = \"1M\"", "with edca"),
    ] {
        let found = with("mac", &format!("protection = \"cts-to-self\"\n{more}"));
        assert_eq!(found, format!("{at} {reason}"));
    }
}

#[test]
fn a_number_out_of_bounds() {
    assert_eq!(
        with("radio", "frame_loss = 1.5"),
        "x.toml:8:14: radio.frame_loss: found 1.5, allowed: a number from 0.0 to 1.0"
    );
    assert_eq!(
        with("radio", "capture_db = nan"),
        "x.toml:8:14: radio.capture_db: found NaN, allowed: a number from 0.0 to 200.0"
    );
    assert_eq!(
        with("radio", "sense_range = inf"),
        "x.toml:8:15: radio.sense_range: found inf, allowed: a number from 0.001 to 1e7"
    );
    assert_eq!(
        with("", "seed = -1"),
        "x.toml:1:8: seed: found -1, allowed: a whole number from 0 to 18446744073709551615"
    );
    assert_eq!(
        with("", "seed = 99999999999999999999999999999999999999999"),
        "x.toml:1:8: seed: found an integer out of range, allowed: a whole number from 0 to \
         18446744073709551615"
    );
    assert_eq!(
        refused(&SMALLEST.replace("hops = 4", "hops = 0")),
        "x.toml:4:8: topology.hops: found 0, allowed: a whole number from 1 to 99999"
    );
}

#[test]
fn a_number_or_off() {
    assert_eq!(
        with("mac", "short_retry = \"never\""),
        "x.toml:8:15: mac.short_retry: found \"never\", allowed: a whole number from 1 to 1000000, or \"off\""
    );
}

#[test]
fn a_key_that_does_not_exist() {
    assert_eq!(
        with("radio", "rtae = \"2M\""),
        "x.toml:8:1: radio.rtae: is not a key here, did you mean \"rate\"?"
    );
    assert_eq!(
        with("energy", "recieve = 1"),
        "x.toml:8:1: energy.recieve: is not a key here, allowed: battery, card, idle, receive, sleep, transmit, \
         did you mean \"receive\"?"
    );
    assert_eq!(
        with("energy", "colour = 1"),
        "x.toml:8:1: energy.colour: is not a key here, allowed: battery, card, idle, receive, sleep, transmit"
    );
    assert_eq!(with("", "sede = 1"), "x.toml:1:1: sede: is not a key here, did you mean \"seed\"?");
    for (key, meant) in
        [("hops", "topology.hops"), ("rts_threshold", "mac.rts_threshold"), ("category", "flow.*.category")]
    {
        let found = with("", &format!("{key} = 1"));
        assert!(found.ends_with(&format!(", did you mean {meant:?}?")), "{found}");
    }
}

#[test]
fn a_key_of_another_kind_is_an_error() {
    assert_eq!(
        with("topology", "area = [1.0, 1.0]"),
        "x.toml:3:1: topology.area: is not a key here, allowed with kind = \"random\""
    );
    assert_eq!(
        with("[flow]", "bytes = 4"),
        "x.toml:6:1: flow.0.bytes: is not a key here, allowed with app = \"file\", \"spread\""
    );
}

#[test]
fn a_key_that_is_missing() {
    assert_eq!(refused(&SMALLEST.replace("duration = 10.0", "")), "x.toml:1:1: duration: is missing");
    assert_eq!(refused(&SMALLEST.replace("hops = 4", "")), "x.toml:2:1: topology.hops: is missing");
    let kinds = refused(&SMALLEST.replace("kind = \"chain\"", ""));
    assert!(
        kinds.starts_with("x.toml:2:1: topology.kind: is missing, allowed: \"chain\", \"cross\","),
        "{kinds}"
    );
    assert_eq!(refused(""), "x.toml:1:1: duration: is missing\nx.toml:1:1: topology: is missing");
}

#[test]
fn a_protocol_that_does_not_exist() {
    let message = with("routing", "protocol = \"bgp\"");
    let expected = "x.toml:8:12: routing.protocol: found \"bgp\", allowed: \"static\", \"aodv\", \"dsr\", ";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn transfers_that_cannot_be_drawn() {
    let drawn = |keys: &str| {
        let text = format!("{SMALLEST}[traffic]\ncount = 2\ntransport = \"newreno\"\nbytes = 1000\n{keys}\n");
        refused(&text)
    };
    assert_eq!(
        drawn("gap = [5.0, 1.0]"),
        "x.toml:11:7: traffic.gap: found [5, 1], allowed: [shortest, longest]"
    );
    assert!(drawn("first = 1e6").contains("traffic.first: found 1000000, allowed: less than duration"));
    assert!(
        drawn("restart = 1e-6")
            .contains("traffic.restart: found 0.000001, which makes more than 100000 transfers")
    );
    assert!(drawn("app = \"ftp\"").contains("traffic.app: found \"ftp\", allowed: \"file\""));
}

#[test]
fn all_problems_at_once_in_the_order_of_the_text() {
    let text = "duration = 0\nwarmup = -1\n[topology]\nkind = \"chain\"\nhops = \"x\"\nhop = 2\n\
                [mac]\nqueue = 0\n[[flow]]\nbogus = 1\n[[flow]]\ntransport = 3\n";
    let found = refused(text);
    let places: Vec<&str> = found.lines().map(|line| line.split(' ').next().unwrap()).collect();
    let expected = [
        "x.toml:1:12:",
        "x.toml:2:10:",
        "x.toml:5:8:",
        "x.toml:6:1:",
        "x.toml:8:9:",
        "x.toml:10:1:",
        "x.toml:12:13:",
    ];
    assert_eq!(places, expected, "{found}");
}

#[test]
fn at_most_a_hundred_problems_are_listed() {
    let positions = "[0, \"x\"], ".repeat(150);
    let text = format!("duration = 1\n[topology]\nkind = \"list\"\npositions = [{positions}]\n[[flow]]\n");
    let found = refused(&text);
    assert_eq!(found.lines().count(), 101);
    assert!(found.ends_with("\nand 50 more"), "{found}");
}

#[test]
fn times_that_contradict_each_other() {
    assert_eq!(with("", "warmup = 10"), "x.toml:1:10: warmup: found 10, allowed: less than duration, 10");
    assert_eq!(
        with("[flow]", "start = 10.5"),
        "x.toml:6:9: flow.0.start: found 10.5, allowed: less than duration, 10"
    );
    assert_eq!(
        with("[flow]", "start = 5\nstop = 5"),
        "x.toml:7:8: flow.0.stop: found 5, allowed: more than start, 5"
    );
}

#[test]
fn start_jitter_that_does_not_fit() {
    assert_eq!(
        with("[flow]", "start = 4\nstart_jitter = 6.5"),
        "x.toml:7:16: flow.0.start_jitter: found 6.5, allowed: at most duration minus start, 6"
    );
    assert_eq!(
        with("[flow]", "start = 4\nstart_jitter = 2\nstop = 5"),
        "x.toml:8:8: flow.0.stop: found 5, allowed: at least start and start_jitter together, 6"
    );
}

#[test]
fn contradictory_windows_are_an_error() {
    assert_eq!(
        with("mac", "cw_min = 63\ncw_max = 31"),
        "x.toml:9:10: mac.cw_max: found 31, allowed: at least cw_min, 63"
    );
    assert_eq!(
        with("mac", "cw_min = 2047"),
        "x.toml:8:10: mac.cw_min: found 2047, allowed: at most 1023, the largest window of \"802.11b\", unless cw_max is larger"
    );
    assert_eq!(
        with("mac", "cw_min = 0"),
        "x.toml:8:10: mac.cw_min: found 0, allowed: a whole number from 1 to 32767"
    );
}

#[test]
fn rates_of_stations_and_links() {
    let rate = |rest: &str| with("[data_rate]", rest);
    assert_eq!(rate("from = 9\nrate = \"2M\""), "x.toml:8:8: data_rate.0.from: found 9, allowed: 0 to 4");
    assert_eq!(
        rate("from = 1\nto = 1\nrate = \"2M\""),
        "x.toml:9:6: data_rate.0.to: found 1, allowed: another node than from"
    );
    assert_eq!(
        rate("from = 1\nrate = \"3M\""),
        "x.toml:9:8: data_rate.0.rate: found \"3M\", allowed: \"1M\", \"2M\", \"5.5M\", \"11M\""
    );
    assert_eq!(
        rate("from = 1\nrate = \"11M\"\n[[data_rate]]\nfrom = 1\nrate = \"2M\""),
        "x.toml:10:1: data_rate.1: has the same from and to as an earlier table"
    );
    assert_eq!(
        rate("from = 1\nrate = \"11M\"\n[mac]\nrate_control = \"arf\""),
        "x.toml:7:1: data_rate: is not a key here, allowed with mac.rate_control = \"fixed\""
    );
    assert_eq!(
        rate("from = 1\nrate = \"11M\"\n[radio]\nrange = { \"1M\" = 250, \"2M\" = 250 }"),
        "x.toml:9:8: data_rate.0.rate: found \"11M\", allowed: a rate for which radio.range has a range; it has none for \"11M\""
    );
}

#[test]
fn ranges_that_contradict_each_other() {
    assert_eq!(
        with("radio", "sense_range = 200"),
        "x.toml:8:15: radio.sense_range: found 200, allowed: at least range, 250"
    );
    assert_eq!(
        with("radio", "range = { \"2M\" = 250.0, \"11M\" = 600 }"),
        "x.toml:7:1: radio.sense_range: found 550, allowed: at least range, 600\n\
         x.toml:8:9: radio.range: has no range for \"1M\", a rate in use"
    );
    // Data at 54 Mb/s is acknowledged at 24 Mb/s.
    let text = with(
        "radio",
        "phy = \"802.11a\"\nbudget = \"ns-2\"\nrate = \"54M\"\nrange = { \"54M\" = 250, \"6M\" = 250 }",
    );
    assert!(text.contains("radio.range: has no range for \"24M\", a rate in use"), "{text}");
    assert_eq!(
        with("radio", "range = { \"1M\" = 1, \"2M\" = 1, \"3M\" = 1 }"),
        "x.toml:8:31: radio.range.3M: is not a key here, allowed: 11M, 1M, 2M, 5.5M"
    );
    assert_eq!(
        with("radio", "range = true"),
        "x.toml:8:9: radio.range: found true, allowed: a number from 0.001 to 1e7, or a table such as { 1M = 250.0 }"
    );
    assert_eq!(
        with("radio", "model = \"sinr\"\ncca_dbm = -99"),
        "x.toml:9:11: radio.cca_dbm: found -99, allowed: above noise_floor_dbm, -93.55, or the medium is always busy"
    );
}

#[test]
fn nodes_that_do_not_exist() {
    assert_eq!(with("[flow]", "from = 0\nto = 9"), "x.toml:7:6: flow.0.to: found 9, allowed: 0 to 4");
    assert_eq!(
        with("[flow]", "from = 3\nto = 3"),
        "x.toml:7:6: flow.0.to: found 3, allowed: another node than from"
    );
    assert_eq!(with("[flow]", "from = 0"), "x.toml:5:1: flow.0.to: is missing, required together with from");
    assert_eq!(with("[flow]", "to = 0"), "x.toml:5:1: flow.0.from: is missing, required together with to");
    let diamond = SMALLEST.replace("chain", "diamond").replace("hops = 4", "");
    assert_eq!(
        refused(&format!("{diamond}from = \"S\"\nto = \"X\"\n")),
        "x.toml:8:6: flow.0.to: found \"X\", allowed: 0 to 7, \"A\", \"B\", \"C\", \"D\", \"E\", \"F\", \"G\", \"S\""
    );
    assert_eq!(
        refused(&format!("{SMALLEST}[[flow]]\ntransport = \"reno\"\n")),
        "x.toml:7:1: flow.1: from and to are missing; pairs that the layout names for the first flows: 1"
    );
    assert_eq!(
        with("routing", "next_hops = [[0, 4, 7], [1, 1, 2], [0, 4, 1], [0, 4, 2]]"),
        "x.toml:8:21: routing.next_hops.0.2: found 7, allowed: 0 to 4\n\
         x.toml:8:25: routing.next_hops.1: a node needs no route to itself and cannot be its own next hop\n\
         x.toml:8:47: routing.next_hops.3: found a second next hop from 0 to 4, allowed: one"
    );
}

#[test]
fn a_transport_that_does_not_suit() {
    assert_eq!(
        with("[flow]", "app = \"cbr\"\nrate_kbps = 8"),
        "x.toml:8:13: flow.0.transport: found \"newreno\" under app \"cbr\", allowed: \"udp\""
    );
    assert_eq!(
        refused(&SMALLEST.replace("newreno", "udp")),
        "x.toml:6:13: flow.0.transport: found \"udp\" under app \"ftp\", allowed: a reliable transport, such as \
         \"newreno\""
    );
    assert_eq!(
        refused(&SMALLEST.replace("transport = \"newreno\"", "")),
        "x.toml:5:1: flow.0.transport: is missing, allowed: a transport such as \"newreno\""
    );
}

#[test]
fn a_transport_that_does_not_exist() {
    let near = [
        ("newren", Some("newreno")),
        ("newreno+", Some("newreno+da")),
        ("+da", None),
        ("tpa*", Some("tpa*-2")),
    ];
    for (name, near) in near {
        let found = refused(&SMALLEST.replace("newreno", name));
        let begin = format!(
            "x.toml:6:13: flow.0.transport: found {name:?}, allowed: \"udp\", \"reno\", \"newreno\", \"cubic\", "
        );
        assert!(found.starts_with(&begin), "{found}");
        let end = ", tpa-star for tpa*, after a TCP kind +da, +dyn, +tack, +ack1, +elfn, +ap, after a TPA kind +ap, or a \
                   table of parameters";
        let hint = near.map(|near| format!(", did you mean {near:?}?")).unwrap_or_default();
        assert!(found.ends_with(&format!("{end}{hint}")), "{found}");
    }
}

#[test]
fn suffixes_that_do_not_go_together() {
    for (name, reason) in [
        ("udp+da", "UDP has no ACKs"),
        ("udp+elfn", "UDP has no retransmissions that +elfn could suspend"),
        ("elfn-w+elfn", "it has stand-by already"),
        ("adtcp+elfn", "ADTCP detects disconnections itself"),
        ("tpa-2+elfn", "TPA has its own freeze state: use notices = true"),
        ("tpa-2+da", "TPA has its own ACK rules: TPA and TPA*"),
        ("tcp-ap+ap", "it is paced already"),
        ("udp+ap", "UDP does not measure the round trips that pacing needs"),
        ("newreno+da+dyn", "two suffixes set the same parameter"),
    ] {
        assert_eq!(
            refused(&SMALLEST.replace("newreno", name)),
            format!("x.toml:6:13: flow.0.transport: found {name:?}, but {reason}")
        );
    }
}

#[test]
fn options_of_tcp_that_need_another_one() {
    let table = |inner: &str| {
        refused(&SMALLEST.replace("\"newreno\"", &format!("{{ kind = \"newreno\", {inner} }}")))
    };
    for key in ["all_rtt", "prr", "undo"] {
        assert_eq!(
            table(&format!("{key} = true")),
            format!(
                "x.toml:6:{}: flow.0.transport.{key}: found true, allowed only with rack = true",
                36 + key.len()
            )
        );
    }
    // The preset turns these keys on, and without rack they have no effect.
    let without =
        SMALLEST.replace("\"newreno\"", "{ kind = \"newreno\", preset = \"linux-6\", rack = false }");
    load(&without);
    assert_eq!(
        table("ack_delay = 0.04, ack_delay_max = 0.03"),
        "x.toml:6:67: flow.0.transport.ack_delay_max: found less than ack_delay, allowed: at least ack_delay"
    );
}

#[test]
fn transport_parameters() {
    let table = |inner: &str| refused(&SMALLEST.replace("\"newreno\"", &format!("{{ {inner} }}")));
    assert_eq!(table("mss = 1000"), "x.toml:6:13: flow.0.transport.kind: is missing");
    assert_eq!(
        table("kind = \"udp\""),
        "x.toml:6:22: flow.0.transport.kind: \"udp\" has no table form, allowed: transport = \"udp\""
    );
    assert_eq!(
        table("kind = \"udp\", mss = 512"),
        "x.toml:6:22: flow.0.transport.kind: \"udp\" has no table form, allowed: transport = \"udp\"\n\
         x.toml:6:29: flow.0.transport.mss: is not a key here, allowed with a TCP kind or a TPA kind or mesh"
    );
    assert_eq!(
        table("kind = \"reno\", preset = \"bsd\""),
        "x.toml:6:39: flow.0.transport.preset: found \"bsd\", allowed: \"rfc\", \"ns2-1999\", \"ns2-2002\", \
         \"ns2-2005\", \"ns2-2.30\", \"linux\", \"linux-6\""
    );
    assert_eq!(
        table("kind = \"tcp-cwl\", window_max = 4"),
        "x.toml:6:46: flow.0.transport.window_max: \"tcp-cwl\" sets the window by the number of hops, allowed: no window_max"
    );
    assert_eq!(
        table("kind = \"newreno\", delack = \"linux\""),
        "x.toml:6:42: flow.0.transport.delack: \"newreno\" does not delay ACKs, allowed with: the suffix +da"
    );
    assert_eq!(
        table("kind = \"newreno\", probe_max = 3, exit = \"any\""),
        "x.toml:6:45: flow.0.transport.probe_max: \"newreno\" does not react to link-failure notices, allowed with: the suffix +elfn\n\
         x.toml:6:55: flow.0.transport.exit: \"newreno\" does not react to link-failure notices, allowed with: the suffix +elfn"
    );
    assert_eq!(
        table("kind = \"newreno\", samples = 10"),
        "x.toml:6:43: flow.0.transport.samples: \"newreno\" does not identify network states, allowed with: adtcp"
    );
    assert_eq!(
        table("kind = \"newreno\", high = 0.2"),
        "x.toml:6:40: flow.0.transport.high: \"newreno\" does not identify network states, allowed with: adtcp"
    );
    assert_eq!(
        table("kind = \"adtcp\", bins = 6"),
        "x.toml:6:38: flow.0.transport.bins: found 6, allowed: a multiple of 4"
    );
    assert_eq!(
        table("kind = \"adtcp\", timestamps = \"off\", exit = \"any\""),
        "x.toml:6:44: flow.0.transport.timestamps: \"adtcp\" needs timestamps, allowed: a duration, the tick \
         of the timestamps\n\
         x.toml:6:58: flow.0.transport.exit: \"adtcp\" does not react to link-failure notices, allowed with: \
         elfn, or a TCP with the suffix +elfn"
    );
    assert_eq!(
        table("kind = \"elfn\", probe_interval = 0"),
        "x.toml:6:47: flow.0.transport.probe_interval: found 0, allowed: a number from 0.001 to 1e6, or \"rtt\""
    );
    assert_eq!(
        table("kind = \"newreno\", alpha = 0.5, ap_rtt = \"net\""),
        "x.toml:6:41: flow.0.transport.alpha: \"newreno\" is not paced, allowed with: the suffix +ap\n\
         x.toml:6:55: flow.0.transport.ap_rtt: \"newreno\" is not paced, allowed with: the suffix +ap"
    );
    assert_eq!(
        refused(&SMALLEST.replace("newreno", "tcp-ap+ap")),
        "x.toml:6:13: flow.0.transport: found \"tcp-ap+ap\", but it is paced already"
    );
    assert_eq!(
        table("kind = \"newreno\", rto_min = 5, rto_max = 2"),
        "x.toml:6:43: flow.0.transport.rto_min: 5.000000000s is more than rto_max, 2.000000000s"
    );
}

#[test]
fn recorded_series() {
    assert_eq!(with("record", "what = [\"cwnd\", \"cwnd\"]"), "x.toml:8:17: record.what.1: is listed twice");
    assert_eq!(
        with("record", "what = []"),
        "x.toml:8:8: record.what: found an empty array, allowed: at least one series"
    );
    assert_eq!(
        with("record", "what = [\"rtt\"]\nevery = 1e-7"),
        "x.toml:9:9: record.every: found 0.0000001, allowed: 0, or so long that a run records at most 10000000 values"
    );
}

#[test]
fn sweeps() {
    assert_eq!(
        with("sweep", "\"topology.hops\" = 4"),
        "x.toml:8:19: sweep.topology.hops: found 4, allowed: an array of values"
    );
    assert_eq!(
        with("sweep", "seeds = 1000000\n\"topology.hops\" = [1, 2]"),
        "x.toml:7:1: sweep: found more than 1000000 runs, allowed: at most 1000000"
    );
    assert_eq!(
        with("sweep", "topology.hops = [1, 2]\n[[sweep.zip]]\ntopology.hops = [1]"),
        "x.toml:7:1: sweep: found two axes of topology.hops, allowed: one"
    );
    assert_eq!(
        with("[sweep.zip]", "topology.hops = [1, 2]\nduration = [1]"),
        "x.toml:7:1: sweep.zip.0: found different numbers of values: 2 of topology.hops, 1 of duration, allowed: \
         the same number for every key"
    );
    assert_eq!(with("[sweep.zip]", ""), "x.toml:7:1: sweep.zip.0: found a table, allowed: a table of axes");
    assert_eq!(with("sweep", "zip = [1]"), "x.toml:8:8: sweep.zip.0: found 1, allowed: a table of axes");
}

#[test]
fn a_network_that_cannot_be_connected() {
    let random = SMALLEST.replace("chain", "random").replace("hops = 4", "nodes = 3\narea = [1e6, 1e6]");
    let found = refused(&format!("{random}from = 0\nto = 1\n"));
    assert_eq!(
        found,
        "x.toml:2:1: topology: 1000 draws of 3 nodes in 1000000 x 1000000 m gave no connected network at 250 m; \
         use more nodes, a smaller area, or connected = false"
    );
}

#[test]
fn files_of_positions() {
    let file =
        |name: &str| SMALLEST.replace("chain", "file").replace("hops = 4", &format!("file = {name:?}"));
    let found = refused(&file("no-such-file.csv"));
    assert!(found.starts_with("x.toml:4:8: topology.file: no-such-file.csv: "), "{found}");
    let folder = std::env::temp_dir().join(format!("multihop-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("bad.csv"), "x,y\n0,0\n1,far\n").unwrap();
    std::fs::write(folder.join("twice.csv"), "x,y,name\n0,0,a\n1,1,a\n").unwrap();
    std::fs::write(folder.join("good.csv"), "x,y,name\n0,0,a\n200,0,b\n").unwrap();
    let in_folder = |text: String| {
        let name = folder.join("scenario.toml").display().to_string();
        Scenario::load(&Source::Toml { text, name }, &[]).map_err(|problems| problems.to_string())
    };
    let bad = in_folder(file("bad.csv")).unwrap_err();
    assert!(bad.ends_with("bad.csv:3: found \"far\", allowed: a number from -1e7 to 1e7"), "{bad}");
    let twice = in_folder(file("twice.csv")).unwrap_err();
    assert!(twice.ends_with("twice.csv: found two nodes named \"a\""), "{twice}");
    let good = in_folder(format!("{}from = \"b\"\nto = \"a\"\n", file("good.csv"))).unwrap();
    assert_eq!((good.flows[0].from.0, good.flows[0].to.0), (1, 0));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[cfg(unix)]
#[test]
fn files_without_end() {
    let zero = std::path::Path::new("/dev/zero");
    assert_eq!(
        Source::from_file(zero).unwrap_err().to_string(),
        "/dev/zero: found more than 16777216 bytes, allowed: up to 16777216"
    );
    let positions = SMALLEST.replace("chain", "file").replace("hops = 4", "file = \"/dev/zero\"");
    assert_eq!(
        refused(&positions),
        "x.toml:4:8: topology.file: /dev/zero: found more than 67108864 bytes, allowed: up to 67108864"
    );
}

#[test]
fn text_that_is_not_toml() {
    let found = refused("duration = \n[topology\nkind = 3");
    let first = found.lines().next().unwrap();
    assert!(first.starts_with("x.toml:1:1"), "{found}");
    assert!(found.lines().any(|line| line.starts_with("x.toml:2:")), "{found}");
    assert_eq!(refused("seed = 1\nseed = 2"), "x.toml:2:1: duplicate key");
    let deep = format!("{} = 1", vec!["a"; 100_000].join("."));
    assert_eq!(refused(&deep), "x.toml:1:1: found more than 100 dots in a line");
    let long = "#".repeat((16 << 20) + 1);
    assert_eq!(refused(&long), "x.toml: found 16777217 bytes, allowed: up to 16777216");
}

#[test]
fn problems_of_json() {
    let refused = |text: &str| {
        let source = Source::Json { text: text.to_owned(), name: "dict".to_owned() };
        Scenario::load(&source, &[]).unwrap_err().to_string()
    };
    assert_eq!(refused("[1]"), "dict: found an array, allowed: an object");
    assert!(refused("{\"duration\": 1,\n}").starts_with("dict:2:1: trailing comma"));
    assert!(refused("{\"seed\": 1, \"seed\": 2}").contains("duplicate key \"seed\""));
    let text =
        r#"{"duration": null, "topology": {"kind": "chain", "hops": 1}, "flow": [{"transport": "x"}]}"#;
    let found = refused(text);
    assert!(
        found.starts_with("dict: duration: found null, allowed: a number from 0.000001 to 1e9\n"),
        "{found}"
    );
    assert!(found.contains("\ndict: flow.0.transport: found \"x\", allowed: "), "{found}");
}

#[test]
fn problems_of_overrides_name_the_override() {
    let refused = |key: &str, value: &str| load_with(SMALLEST, &[(key, value)]).unwrap_err();
    assert_eq!(
        refused("radio.rate", "3M"),
        "override radio.rate=3M: radio.rate: found \"3M\", allowed: \"1M\", \"2M\", \"5.5M\", \"11M\""
    );
    assert_eq!(
        refused("mac.quue", "3"),
        "override mac.quue=3: mac.quue: is not a key here, did you mean \"queue\"?"
    );
    assert_eq!(
        refused("flows.0.start", "3"),
        "override flows.0.start=3: flows.0.start: there is no flows, did you mean \"flow\"?"
    );
    assert_eq!(
        refused("flow.1.start", "3"),
        "override flow.1.start=3: flow.1.start: flow has 1 entries, allowed: a number below 1, or *"
    );
    assert_eq!(
        refused("duration.x", "3"),
        "override duration.x=3: duration.x: duration is 10.0, which has no key \"x\""
    );
    assert_eq!(
        refused("flows.*.start", "3"),
        "override flows.*.start=3: flows.*.start: there is no flows, did you mean \"flow\"?"
    );
    let deep = "a.".repeat(40);
    for key in ["", "a..b", ".", &deep] {
        let found = refused(key, "3");
        assert!(
            found.ends_with("found no key, allowed: names joined by dots, such as radio.rate"),
            "{found}"
        );
    }
    assert_eq!(
        refused("warmup", "20"),
        "override warmup=20: warmup: found 20, allowed: less than duration, 10"
    );
}

#[test]
fn a_misspelt_value() {
    let flow = refused(&SMALLEST.replace("newreno", "newrenoo"));
    assert!(flow.ends_with("a table of parameters, did you mean \"newreno\"?"), "{flow}");
    let expected = "x.toml:8:8: radio.rate: found \"2m\", allowed: \"1M\", \"2M\", \"5.5M\", \"11M\", did you mean \"2M\"?";
    assert_eq!(with("radio", "rate = \"2m\""), expected);
    let protocol = with("routing", "protocol = \"adov\"");
    assert!(protocol.ends_with(", did you mean \"aodv\"?"), "{protocol}");
    let kind = refused(&SMALLEST.replace("\"chain\"", "\"chian\""));
    assert!(kind.ends_with(", did you mean \"chain\"?"), "{kind}");
    let off = with("mac", "short_retry = \"of\"");
    assert!(!off.contains("did you mean"), "two letters resemble too much: {off}");
    let nodes = "duration = 1.0\n[topology]\nkind = \"diamond\"\n[[flow]]\nfrom = \"S\"\nto = \"DD\"\n";
    assert!(refused(nodes).contains("found \"DD\", allowed: 0 to"), "{}", refused(nodes));
}

#[test]
fn a_random_network_of_more_than_a_million_nodes() {
    let random = |nodes: u32| {
        let layout = format!("kind = \"random\"\nnodes = {nodes}\narea = [1e5, 1e5]\nconnected = false\n");
        SMALLEST
            .replace("kind = \"chain\"\nhops = 4\n", &layout)
            .replace("[[flow]]", "[[flow]]\nfrom = 0\nto = 1")
    };
    assert_eq!(
        refused(&random(1_000_001)),
        "x.toml:4:9: topology.nodes: found 1000001, allowed: a whole number from 1 to 1000000"
    );
    assert_eq!(load(&random(1_000_000)).topology.nodes(), 1_000_000);
}

#[test]
fn a_grid_without_nodes_or_with_too_many() {
    let grid = |keys: &str| {
        let text = SMALLEST.replace("kind = \"chain\"\nhops = 4\n", &format!("kind = \"grid\"\n{keys}\n"));
        refused(&text)
    };
    assert_eq!(
        grid("rows = 0"),
        "x.toml:4:8: topology.rows: found 0, allowed: a whole number from 1 to 1000000"
    );
    assert_eq!(
        grid("columns = 2.5"),
        "x.toml:4:11: topology.columns: found 2.5, allowed: a whole number from 1 to 1000000"
    );
    assert_eq!(
        grid("rows = 4000\ncolumns = 300"),
        "x.toml:4:8: topology.rows: found 4000 x 300 nodes, allowed: at most 1000000"
    );
    assert_eq!(
        grid("rows = 1\ncolumns = 1"),
        "x.toml:6:1: flow.0: from and to are missing; pairs that the layout names for the first flows: 0"
    );
    assert_eq!(
        refused(&SMALLEST.replace("hops = 4", "hops = 4\nrows = 3")),
        "x.toml:5:1: topology.rows: is not a key here, allowed with kind = \"grid\""
    );
}

#[test]
fn applications_with_wrong_values() {
    let flow = |keys: &str| refused(&SMALLEST.replace("transport = \"newreno\"", keys));
    assert_eq!(
        flow("app = \"voice\"\ncodec = \"opus\""),
        "x.toml:7:9: flow.0.codec: found \"opus\", allowed: \"g711\", \"g729\""
    );
    assert_eq!(
        flow("app = \"voice\"\npacket = 1"),
        "x.toml:7:10: flow.0.packet: found 1, allowed: a number from 0.01 to 0.2"
    );
    assert_eq!(
        flow("app = \"voice\"\nplayout_delay = 0"),
        "x.toml:7:17: flow.0.playout_delay: found 0, allowed: a number from 0.001 to 10.0"
    );
    assert_eq!(
        flow("app = \"voice\"\nspeech = \"always\""),
        "x.toml:7:10: flow.0.speech: found \"always\", allowed: \"spurts\", \"continuous\""
    );
    assert_eq!(
        flow("app = \"voice\"\ntransport = \"newreno\""),
        "x.toml:7:13: flow.0.transport: found \"newreno\" under app \"voice\", allowed: \"udp\""
    );
    assert_eq!(
        flow("app = \"web\"\nreading = 0\ntransport = \"newreno\""),
        "x.toml:7:11: flow.0.reading: found 0, allowed: a number from 0.000001 to 1e9"
    );
    assert_eq!(
        flow("app = \"web\""),
        "x.toml:5:1: flow.0.transport: is missing, allowed: a transport such as \"newreno\""
    );
    let video = |keys: &str| flow(&format!("app = \"video\"\ntransport = \"newreno\"\n{keys}"));
    assert_eq!(video(""), "x.toml:5:1: flow.0.rate_kbps: is missing");
    assert_eq!(
        video("rate_kbps = 100\nsegment = 4\nbuffer_time = 3"),
        "x.toml:10:15: flow.0.buffer_time: found 3, allowed: at least segment, 4"
    );
    assert_eq!(
        video("rate_kbps = 100\nsegment = 4\nbuffer_time = 11\nstartup = 10"),
        "x.toml:11:11: flow.0.startup: found 10, allowed: at most 8, the whole segments that fit into the buffer"
    );
}
