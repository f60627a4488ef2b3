//! Tables of results for terminals.

use comfy_table::{CellAlignment, ColumnConstraint, Table, presets};
use multihop_sim::interval::Estimate;
use multihop_sim::links::{InitialLink, InitialLinks};
use multihop_sim::results::RunResult;
use multihop_sim::sweep::{self, Plan};

/// The flows of a run, and its totals.
pub(crate) fn run(result: &RunResult, width: Option<usize>) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([
        "flow",
        "from",
        "to",
        "app",
        "transport",
        "goodput kb/s",
        "delivered",
        "delay ms",
        "p95 ms",
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
            number(flow.delivery_ratio, 4),
            number(flow.delay_ms.map(|delay| delay.mean), 1),
            number(flow.delay_ms.map(|delay| delay.p95), 1),
            number(flow.retransmission_index, 4),
            flow.timeouts.to_string(),
            number(flow.rtt_ms.map(|rtt| rtt.mean), 1),
            number(flow.mean_hops, 2),
        ]);
    }
    right(&mut table, &[0, 1, 2, 5, 6, 7, 8, 9, 10, 11, 12]);
    let hidden = fit(&mut table, &[3, 12, 11, 8, 10, 9, 7, 6, 2, 1], width);
    let totals = &result.totals;
    format!(
        "{table}\n{hidden}\n{}, seed {}: {:.1} kb/s in total, fairness {}, {} simulated s in {} s",
        result.scenario,
        result.seed,
        totals.goodput_kbps,
        number(totals.jain, 3),
        result.sim_seconds,
        number(result.wall_seconds, 2),
    )
}

/// The links of a scenario at its start.
pub(crate) fn links(links: &InitialLinks, width: Option<usize>) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["from", "to", "m", "dBm", "SNR dB", "fastest rate", "data"]);
    for InitialLink { from, to, budget, carries_data, fastest } in &links.list {
        table.add_row([
            from.to_string(),
            to.to_string(),
            format!("{:.1}", budget.distance),
            number(budget.power_dbm, 1),
            number(budget.snr_db, 1),
            (*fastest).to_owned(),
            if *carries_data { "yes" } else { "no" }.to_owned(),
        ]);
    }
    right(&mut table, &[0, 1, 2, 3, 4]);
    let hidden = fit(&mut table, &[3, 4], width);
    let how =
        links.data_rate.map_or_else(|| "at the rate of each link".to_owned(), |rate| format!("at {rate}"));
    format!(
        "{table}\n{hidden}\n{} links; data: whether frames {how} are received, without interference and fading",
        links.list.len()
    )
}

/// One row for each combination of a sweep, with intervals over its seeds.
pub(crate) fn sweep(plan: &Plan, combinations: &[Vec<RunResult>], width: Option<usize>) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let measured = ["runs", "goodput kb/s", "fairness", "delivered", "delay ms", "p95 ms", "retransmitted"]
        .map(str::to_owned);
    table.set_header(plan.keys().iter().cloned().chain(measured));
    for (n, results) in combinations.iter().enumerate() {
        let summary = sweep::summary(results, LEVEL);
        let values = plan.values(n).iter().map(value);
        table.add_row(values.chain([
            summary.runs.to_string(),
            interval(summary.goodput_kbps, 1),
            interval(summary.jain, 3),
            interval(summary.delivery_ratio, 4),
            interval(summary.delay_ms, 1),
            interval(summary.delay_p95_ms, 1),
            interval(summary.retransmission_index, 4),
        ]));
    }
    let axes = plan.keys().len();
    right(&mut table, &[0, 1, 2, 3, 4, 5, 6].map(|measured| axes + measured));
    let hidden = fit(&mut table, &[0, 2, 5, 6, 4, 3].map(|measured| axes + measured), width);
    format!("{table}\n{hidden}\nmean over seeds ± half the {:.0}% confidence interval", LEVEL * 100.0)
}

/// Table of metrics, whose first column contains their names.
pub(crate) fn compared(heading: &[String], rows: &[Vec<String>], width: Option<usize>) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(heading).add_rows(rows);
    let numbers: Vec<_> = (1..heading.len()).collect();
    right(&mut table, &numbers);
    // Differences are in the rightmost columns.
    let hidden = fit(&mut table, &numbers, width);
    format!("{table}\n{hidden}")
}

#[cfg(all(feature = "network", target_os = "linux"))]
/// Table whose cells are words. If the width is too small, the rightmost columns are hidden first.
pub(crate) fn of_words(heading: &[String], rows: &[Vec<String>], width: Option<usize>) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(heading).add_rows(rows);
    let least_first: Vec<_> = (1..heading.len()).rev().collect();
    let hidden = fit(&mut table, &least_first, width);
    format!("{table}\n{hidden}")
}

/// Hides columns in the given order until the table fits; returns a line about the hidden columns.
fn fit(table: &mut Table, least_first: &[usize], width: Option<usize>) -> String {
    let Some(width) = width else { return String::new() };
    // Each cell has a space on both sides, and bars separate cells and enclose the row.
    let mut taken: usize =
        table.column_max_content_widths().iter().map(|&column| usize::from(column) + 3).sum();
    let mut hidden = Vec::new();
    for &index in least_first {
        if taken < width {
            break;
        }
        taken -= usize::from(table.column_max_content_widths()[index]) + 3;
        hidden.extend(
            table.header().and_then(|header| header.cell_iter().nth(index)).map(|cell| cell.content()),
        );
        if let Some(column) = table.column_mut(index) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
    if hidden.is_empty() {
        String::new()
    } else {
        format!("columns that do not fit: {}\n", hidden.join(", "))
    }
}

fn right(table: &mut Table, columns: &[usize]) {
    for &column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// Text of a value on an axis.
pub(crate) fn value(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(crate) fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

pub(crate) fn interval(estimate: Option<Estimate>, digits: usize) -> String {
    match estimate {
        None => "-".to_owned(),
        Some(Estimate { mean, half_width: None }) => format!("{mean:.digits$}"),
        Some(Estimate { mean, half_width: Some(half) }) => format!("{mean:.digits$} ± {half:.digits$}"),
    }
}

/// Confidence level of the intervals.
const LEVEL: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_hides_columns_and_says_so() {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(["flow", "app", "goodput"]).add_row(["0", "ftp", "±1.5"]);
        let whole = "| flow | app | goodput |\n|------|-----|---------|\n| 0    | ftp | ±1.5    |";
        for width in [None, Some(24)] {
            let hidden = fit(&mut table, &[1, 0], width);
            assert_eq!((table.to_string().as_str(), hidden.as_str()), (whole, ""));
        }
        let narrow = "| flow | goodput |\n|------|---------|\n| 0    | ±1.5    |";
        let hidden = fit(&mut table, &[1, 0], Some(23));
        assert_eq!((table.to_string().as_str(), hidden.as_str()), (narrow, "columns that do not fit: app\n"));
    }
}
