//! Disciplines of the interface queue, which TCP fills.

use multihop_sim::results::RunResult;

use crate::support::result;

/// Runs one flow over one hop for 30 s.
fn one_hop(discipline: &str, transport: &str) -> RunResult {
    result(&format!(
        "duration = 30.0\nwarmup = 5.0\n\
         [mac]\narp = \"oracle\"\ndiscipline = \"{discipline}\"\ncodel_target = 0.015\nmark_above = 0.015\n\
         [topology]\nkind = \"chain\"\nhops = 1\n[[flow]]\ntransport = {transport}\n"
    ))
}

fn round_trip(result: &RunResult) -> f64 {
    result.flows[0].rtt_ms.as_ref().expect("ACKs came").mean
}

const RENO: &str = "{ kind = \"newreno\", preset = \"linux-6\" }";
const MARKED: &str = "{ kind = \"newreno\", preset = \"linux-6\", ecn = true }";

/// A queue of 50 packets holds a window of 49; CoDel lets it stand for 15 ms, and goodput remains.
#[test]
fn codel_shortens_the_queue_and_keeps_the_goodput() {
    let full = one_hop("drop-tail", RENO);
    assert!(round_trip(&full) > 200.0, "{}", round_trip(&full));
    for discipline in ["codel", "fq-codel"] {
        let short = one_hop(discipline, RENO);
        assert!(round_trip(&short) < 80.0, "{discipline}: {}", round_trip(&short));
        let share = short.totals.goodput_kbps / full.totals.goodput_kbps;
        assert!(share > 0.95, "{discipline}: {share}");
        assert!(short.flows[0].segments_retransmitted > 0, "{discipline} dropped something");
    }
}

/// With marks nothing is lost, and the scalable control has the shortest queue.
#[test]
fn marks_take_the_place_of_losses() {
    let marked = one_hop("fq-codel", MARKED);
    let scalable = one_hop("fq-codel", "\"prague\"");
    for result in [&marked, &scalable] {
        assert_eq!(result.flows[0].segments_retransmitted, 0);
        assert!(result.totals.goodput_kbps > 1200.0, "{}", result.totals.goodput_kbps);
    }
    assert!(round_trip(&scalable) < round_trip(&marked), "{} {}", round_trip(&scalable), round_trip(&marked));
    assert!(round_trip(&scalable) < 50.0, "{}", round_trip(&scalable));
}

/// A greedy flow of voice over one hop for 3 s, which may send bursts of 3.264 ms: four packets of 200 bytes at 11 Mb/s.
fn bursts(discipline: &str) -> f64 {
    let result = result(&format!(
        "duration = 3.0\nwarmup = 1.0\n[radio]\nrate = \"11M\"\n\
         [mac]\nflavour = \"standard\"\nrts_threshold = \"off\"\narp = \"oracle\"\nedca = true\ndiscipline = \"{discipline}\"\n\
         [topology]\nkind = \"chain\"\nhops = 1\n\
         [[flow]]\napp = \"cbr\"\nrate_kbps = 5000.0\nsize = 200\ncategory = \"voice\"\n"
    ));
    result.totals.goodput_kbps
}

#[test]
fn a_discipline_does_not_end_transmission_opportunities() {
    let [plain, codel, fair] = ["drop-tail", "codel", "fq-codel"].map(bursts);
    for (discipline, kbps) in [("codel", codel), ("fq-codel", fair)] {
        assert!((kbps / plain - 1.0).abs() < 0.01, "{discipline}: {kbps}, without: {plain}");
    }
}

/// Bulk data of best effort beside a packet of voice each 20 ms: each category has its own queue and discipline.
#[test]
fn under_a_discipline_each_category_has_its_own_queue() {
    for discipline in ["drop-tail", "codel", "fq-codel"] {
        let result = result(&format!(
            "duration = 12.0\nwarmup = 2.0\n\
             [mac]\nflavour = \"standard\"\narp = \"oracle\"\nedca = true\ndiscipline = \"{discipline}\"\ncodel_target = 0.015\n\
             [topology]\nkind = \"chain\"\nhops = 1\n\
             [[flow]]\napp = \"cbr\"\nrate_kbps = 3000.0\nsize = 1460\n\
             [[flow]]\nfrom = 0\nto = 1\napp = \"cbr\"\nrate_kbps = 64.0\nsize = 160\ncategory = \"voice\"\n"
        ));
        let [bulk, voice] =
            [0, 1].map(|flow| result.flows[flow].delay_ms.as_ref().expect("packets came").mean);
        assert_eq!(result.flows[1].segments_sent, result.flows[1].segments_delivered, "{discipline}");
        // A packet of voice waits for one packet of 6.3 ms at most, and for its own exchange.
        assert!(voice < 10.0, "{discipline}: {voice}");
        assert!(bulk > 2.0 * voice, "{discipline}: {bulk}, voice: {voice}");
    }
}

/// A window of 16 segments over four hops of 802.11n for 4 s.
fn one_frame(discipline: &str) -> f64 {
    let result = result(&format!(
        "duration = 5.0\nwarmup = 1.0\n\
         [radio]\nphy = \"802.11n-20\"\nrate = \"MCS7\"\nbudget = \"ns-2\"\nmodel = \"sinr\"\ndetection_db = 4.0\nbasic_rate = \"6M\"\n\
         [mac]\nflavour = \"standard\"\nrts_threshold = \"off\"\narp = \"oracle\"\nampdu = 64\nqueue = 100\ndiscipline = \"{discipline}\"\n\
         [topology]\nkind = \"chain\"\nhops = 4\nspacing = 200.0\n\
         [[flow]]\ntransport = {{ kind = \"newreno\", window_max = 16 }}\n"
    ));
    result.totals.goodput_kbps
}

/// Packets that arrive in one frame leave in one, as from the MAC's own queue: the first of them does not leave alone.
#[test]
fn under_a_discipline_a_frame_collects_packets_until_it_is_transmitted() {
    let [plain, codel, fair] = ["drop-tail", "codel", "fq-codel"].map(one_frame);
    for (discipline, kbps) in [("codel", codel), ("fq-codel", fair)] {
        assert!(kbps > 0.97 * plain, "{discipline}: {kbps}, without: {plain}");
    }
}
