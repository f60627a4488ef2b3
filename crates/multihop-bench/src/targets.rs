//! Targets of the benchmark, and whether they are met.

use serde::Serialize;

use crate::cases::{CASES, Family};
use crate::measure::Cost;
use crate::rows::{Report, Row};
use crate::scaling::{self, Scaling};

/// One measurement and its target.
#[derive(Debug, Serialize)]
pub(crate) struct TargetResult {
    scenario: &'static str,
    what: String,
    value: f64,
    target: Bound,
    met: bool,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl TargetResult {
    fn new(scenario: &'static str, what: impl Into<String>, value: f64, target: Bound) -> Self {
        let met = match target {
            Bound::AtLeast(bound) => value >= bound,
            Bound::AtMost(bound) => value <= bound,
        };
        Self { scenario, what: what.into(), value, target, met }
    }

    pub(crate) fn text(&self) -> String {
        let (words, bound) = match self.target {
            Bound::AtLeast(bound) => ("at least", bound),
            Bound::AtMost(bound) => ("at most", bound),
        };
        let met = if self.met { "met" } else { "MISSED" };
        format!("{:<15} {:>6.2} {} (target: {words} {bound}, {met})", self.scenario, self.value, self.what)
    }
}

/// All measurements that have a target.
pub(crate) fn verdicts(Report { rows, scaling, .. }: &Report) -> Vec<TargetResult> {
    let mut verdicts: Vec<_> = rows.iter().filter_map(against_ns3).collect();
    verdicts.extend(rows.iter().filter_map(events_per_second));
    verdicts.extend(rows.iter().filter_map(real_time));
    verdicts.extend(ax_beside_n(rows));
    verdicts.extend(growth(rows));
    verdicts.extend(rows.iter().filter_map(memory));
    verdicts.extend(rows.iter().filter_map(memory_over_time));
    verdicts.extend(scaling.as_ref().map(scales));
    verdicts
}

/// Wall-clock seconds that ns-3 took per simulated second of the same network: version 3.37 as packaged by Debian
/// (optimised), on another machine with two cores and no other load.
const NS3: [(&str, f64); 3] = [("mobile-50-aodv", 0.19), ("mobile-50-olsr", 0.18), ("mobile-50-dsr", 0.18)];

fn against_ns3(row: &Row) -> Option<TargetResult> {
    let &(_, seconds) = NS3.iter().find(|(name, _)| *name == row.scenario)?;
    let what = format!(
        "times as fast as ns-3 3.37, which took {seconds} s for a simulated second on another machine"
    );
    Some(TargetResult::new(row.scenario, what, seconds / row.seconds_per_sim_second(), Bound::AtLeast(50.0)))
}

fn events_per_second(row: &Row) -> Option<TargetResult> {
    NS3.iter().find(|(name, _)| *name == row.scenario)?;
    let events = row.events_per_sim_second() / row.seconds_per_sim_second();
    let what = "million events per second of CPU time";
    Some(TargetResult::new(row.scenario, what, events * 1e-6, Bound::AtLeast(5.0)))
}

/// Networks that must not take longer than the time that they simulate.
const REAL_TIME: [&str; 4] = ["mobile-10000", "mobile-10000-ofdm", "two-radios-1000", "two-radios-1000-aodv"];

fn real_time(row: &Row) -> Option<TargetResult> {
    let seconds = row.seconds_per_sim_second();
    let what = "s of CPU time for a simulated second";
    REAL_TIME
        .contains(&row.scenario)
        .then(|| TargetResult::new(row.scenario, what, seconds, Bound::AtMost(1.0)))
}

/// The cost of an MPDU of 802.11ax relative to one of 802.11n.
fn ax_beside_n(rows: &[Row]) -> Option<TargetResult> {
    let [n, ax] = ["saturated-10-n", "saturated-10-ax"]
        .map(|name| rows.iter().find(|row| row.scenario == name)?.instructions.map(|cost| cost.per_mpdu));
    let what = "times the instructions per MPDU of saturated-10-n";
    Some(TargetResult::new("saturated-10-ax", what, ax? / n?, Bound::AtMost(1.15)))
}

/// Costs in a larger network relative to those in the smallest one of its family.
fn growth(rows: &[Row]) -> impl Iterator<Item = TargetResult> {
    [Family::Still, Family::Moving].into_iter().flat_map(|family| {
        let mut members = rows.iter().filter(move |row| family_of(row) == Some(family));
        let base = members.next();
        members.flat_map(move |row| base.into_iter().flat_map(|base| grown(base, row)))
    })
}

fn grown(base: &Row, row: &Row) -> Vec<TargetResult> {
    let instructions = base.instructions.zip(row.instructions).map(|costs| ("instructions", costs));
    let time = ("CPU time", (base.time(), row.time()));
    let of = |(what, (before, after)): (&str, (Cost, Cost))| {
        let (event, frame) = (after.per_event / before.per_event, after.per_frame / before.per_frame);
        let verdict = |what, ratio| TargetResult::new(row.scenario, what, ratio, Bound::AtMost(1.5));
        let than = base.scenario;
        // A small network has a larger share of its nodes at the border, with fewer neighbours.
        let reached = format!("each reaches {:.2} times as many stations", frame / event);
        [
            verdict(format!("times the {what} per frame of {than}, and {reached}"), frame),
            verdict(format!("times the {what} per frame and station of {than}"), event),
        ]
    };
    // In a quick look, times are too short to compare.
    let time = (base.time().per_frame > 0.0).then_some(time);
    let mut verdicts: Vec<_> = instructions.into_iter().chain(time).flat_map(of).collect();
    // Only networks with equal load per node can be compared.
    let load = row.frames_per_node_second() / base.frames_per_node_second();
    let what = format!("times as many frames per node and second as {}", base.scenario);
    verdicts.push(TargetResult::new(row.scenario, what, load, Bound::AtMost(1.3)));
    verdicts
}

fn memory(row: &Row) -> Option<TargetResult> {
    let kilobytes = row.bytes_per_node()? * 1e-3;
    Some(TargetResult::new(row.scenario, "kB per node", kilobytes, Bound::AtMost(20.0)))
}

fn scales(scaling: &Scaling) -> TargetResult {
    let what = format!("of the throughput of {} times one thread", scaling.threads);
    TargetResult::new(scaling::NAME, what, scaling.share_of_linear(), Bound::AtLeast(0.9))
}

fn memory_over_time(row: &Row) -> Option<TargetResult> {
    let [once, longer] = row.memory.peak_bytes_over_time?;
    let what = format!("times the peak memory of {} simulated s in {} s", WATCHED[0], WATCHED[1]);
    Some(TargetResult::new(row.scenario, what, longer as f64 / once as f64, Bound::AtMost(1.05)))
}

fn family_of(row: &Row) -> Option<Family> {
    CASES.iter().find(|case| case.name == row.scenario)?.family
}

/// Simulated seconds of the runs that show whether memory grows. In the shorter one, caches and tables with a limit are
/// already full.
pub(crate) const WATCHED: [f64; 2] = [1000.0, 4000.0];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Sample;
    use crate::rows::Memory;

    fn row(name: &str, wall_seconds: f64, cost: Cost) -> Row {
        let case = CASES.iter().find(|case| case.name == name).unwrap();
        let sample = Sample {
            sim_seconds: 2.0,
            wall_seconds,
            cpu_seconds: Some(wall_seconds / 2.0),
            events: 1_000_000,
            frames: 4,
            mpdus: 2,
            peak_bytes: Some(3_000_000),
        };
        let memory = Memory {
            peak_bytes_over_time: Some([3_000_000, 3_600_000]),
            peak_bytes_of_few: (case.nodes >= 100).then_some((10, 1_200_000)),
            ..Memory::default()
        };
        Row::new(case, &[sample], sample.events, Some(cost), memory)
    }

    fn texts(rows: Vec<Row>) -> Vec<String> {
        verdicts(&Report { rows, scaling: None, machine: None }).iter().map(TargetResult::text).collect()
    }

    const COST: Cost = Cost { per_event: 100.0, per_frame: 1000.0, per_mpdu: 1000.0 };

    #[test]
    fn growth_is_relative_to_the_smallest_network_of_the_family() {
        let grown = Cost { per_event: 110.0, per_frame: 1320.0, per_mpdu: 1320.0 };
        let rows = vec![
            row("chain-1", 1.0, Cost { per_event: 1.0, per_frame: 1.0, per_mpdu: 1.0 }),
            row("random-100", 1.0, COST),
            row("random-1000", 1.25, grown),
            row("mobile-100", 1.0, Cost { per_event: 55.0, per_frame: 600.0, per_mpdu: 600.0 }),
            row("mobile-1000", 2.0, grown),
        ];
        let growth: Vec<_> = texts(rows).into_iter().filter(|text| text.contains("per frame")).collect();
        assert_eq!(
            growth,
            [
                "random-1000       1.32 times the instructions per frame of random-100, and each reaches 1.20 times as many stations (target: at most 1.5, met)",
                "random-1000       1.10 times the instructions per frame and station of random-100 (target: at most 1.5, met)",
                "random-1000       1.25 times the CPU time per frame of random-100, and each reaches 1.00 times as many stations (target: at most 1.5, met)",
                "random-1000       1.25 times the CPU time per frame and station of random-100 (target: at most 1.5, met)",
                "mobile-1000       2.20 times the instructions per frame of mobile-100, and each reaches 1.10 times as many stations (target: at most 1.5, MISSED)",
                "mobile-1000       2.00 times the instructions per frame and station of mobile-100 (target: at most 1.5, MISSED)",
                "mobile-1000       2.00 times the CPU time per frame of mobile-100, and each reaches 1.00 times as many stations (target: at most 1.5, MISSED)",
                "mobile-1000       2.00 times the CPU time per frame and station of mobile-100 (target: at most 1.5, MISSED)",
            ]
        );
    }

    #[test]
    fn networks_of_a_family_must_have_equal_load() {
        let [few, mut many] = ["random-100", "random-1000"].map(|name| row(name, 1.0, COST));
        many.frames *= 14;
        let texts = texts(vec![few, many]);
        let load = texts.iter().find(|text| text.contains("frames per node")).unwrap();
        assert_eq!(
            load,
            "random-1000       1.40 times as many frames per node and second as random-100 (target: at most 1.3, MISSED)"
        );
    }

    #[test]
    fn networks_measured_with_ns3_are_compared_with_it() {
        let texts = texts(vec![row("mobile-50-aodv", 0.008, COST), row("mobile-50-dsr", 0.8, COST)]);
        assert!(texts[0].starts_with("mobile-50-aodv   95.00 times as fast as ns-3 3.37"), "{}", texts[0]);
        assert!(texts[0].ends_with("(target: at least 50, met)"), "{}", texts[0]);
        assert!(texts[1].ends_with("(target: at least 50, MISSED)"), "{}", texts[1]);
        assert!(texts[2].starts_with("mobile-50-aodv  250.00 million events per second"), "{}", texts[2]);
        assert!(NS3.iter().all(|(name, _)| CASES.iter().any(|case| case.name == *name)));
    }

    #[test]
    fn ten_thousand_moving_nodes_must_keep_up_with_real_time() {
        let texts = texts(vec![row("mobile-1000", 9.0, COST), row("mobile-10000-ofdm", 4.8, COST)]);
        let real_time: Vec<_> = texts.iter().filter(|text| text.contains("simulated second")).collect();
        let expected =
            "mobile-10000-ofdm   1.20 s of CPU time for a simulated second (target: at most 1, MISSED)";
        assert_eq!(real_time, [expected]);
    }

    #[test]
    fn an_mpdu_of_802_11ax_may_cost_15_percent_more_than_one_of_802_11n() {
        let ax = Cost { per_mpdu: 1200.0, ..COST };
        let texts = texts(vec![row("saturated-10-n", 1.0, COST), row("saturated-10-ax", 1.0, ax)]);
        let verdict = "saturated-10-ax   1.20 times the instructions per MPDU of saturated-10-n (target: at most 1.15, MISSED)";
        assert_eq!(texts[0], verdict);
    }

    #[test]
    fn memory_is_reported_per_node_and_over_time() {
        let texts = texts(vec![row("mobile-100-olsr", 1.0, COST)]);
        let memory: Vec<_> = texts.iter().filter(|text| text.starts_with("mobile-100-olsr")).collect();
        assert_eq!(memory[0], "mobile-100-olsr  20.00 kB per node (target: at most 20, met)");
        assert_eq!(
            memory[1],
            "mobile-100-olsr   1.20 times the peak memory of 1000 simulated s in 4000 s (target: at most 1.05, MISSED)"
        );
    }
}
