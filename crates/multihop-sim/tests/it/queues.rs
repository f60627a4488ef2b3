//! Disciplines of the interface queue under TCP that fills it.

use multihop_sim::results::RunResult;

use crate::support::result;

/// One flow over one hop for 30 s.
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
