//! Results as tables.

use comfy_table::{CellAlignment, Table, presets};
use multihop_sim::interval::Estimate;
use multihop_sim::results::RunResult;
use multihop_sim::sweep::{self, Plan};

/// The flows of a run, and its totals.
pub(crate) fn run(result: &RunResult) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([
        "flow",
        "from",
        "to",
        "app",
        "transport",
        "goodput kb/s",
        "retransmitted",
        "timeouts",
        "rtt ms",
        "hops",
    ]);
    for flow in &result.flows {
        table.add_row([
            flow.id.to_string(),
            flow.from.to_string(),
            flow.to.to_string(),
            flow.app.clone(),
            flow.transport.clone(),
            format!("{:.1}", flow.goodput_kbps),
            number(flow.retransmission_index, 4),
            flow.timeouts.to_string(),
            number(flow.rtt_ms.map(|rtt| rtt.mean), 1),
            number(flow.mean_hops, 2),
        ]);
    }
    right(&mut table, &[0, 1, 2, 5, 6, 7, 8, 9]);
    let totals = &result.totals;
    format!(
        "{table}\n\n{}, seed {}: {:.1} kb/s in total, fairness {}, {} simulated s in {} s",
        result.scenario,
        result.seed,
        totals.goodput_kbps,
        number(totals.jain, 3),
        result.sim_seconds,
        number(result.wall_seconds, 2),
    )
}

/// One row for each combination of a sweep, with intervals over its seeds.
pub(crate) fn sweep(plan: &Plan, combinations: &[Vec<RunResult>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let measured = ["runs", "goodput kb/s", "fairness", "retransmitted"].map(str::to_owned);
    table.set_header(plan.keys().iter().cloned().chain(measured));
    for (n, results) in combinations.iter().enumerate() {
        let summary = sweep::summary(results, LEVEL);
        let values = plan.values(n).iter().map(|value| match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.to_string(),
        });
        table.add_row(values.chain([
            summary.runs.to_string(),
            interval(summary.goodput_kbps, 1),
            interval(summary.jain, 3),
            interval(summary.retransmission_index, 4),
        ]));
    }
    let axes = plan.keys().len();
    right(&mut table, &[axes, axes + 1, axes + 2, axes + 3]);
    format!("{table}\n\nmean over seeds ± half the {:.0}% confidence interval", LEVEL * 100.0)
}

fn right(table: &mut Table, columns: &[usize]) {
    for &column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

fn interval(estimate: Option<Estimate>, digits: usize) -> String {
    match estimate {
        None => "-".to_owned(),
        Some(Estimate { mean, half_width: None }) => format!("{mean:.digits$}"),
        Some(Estimate { mean, half_width: Some(half) }) => format!("{mean:.digits$} ± {half:.digits$}"),
    }
}

/// The level of the confidence intervals.
const LEVEL: f64 = 0.95;
