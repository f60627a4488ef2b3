//! The report, as a table and as JSON.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::rows::{Report, Row, Spread};
use crate::targets::{TargetResult, verdicts};

/// Formats the report as text: a table of the measurements, then the targets.
pub(crate) fn text(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([
        "scenario",
        "Mevents",
        "per frame",
        "Mevents/s",
        "wall ms per simulated s",
        "x real time",
        "ns/event",
        "us/frame",
        "instr/event",
        "instr/frame",
        "peak MB",
        "kB/node",
    ]);
    for row in &report.rows {
        table.add_row(cells(row));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let verdicts: String = verdicts(report).iter().map(|line| format!("\n{}", line.text())).collect();
    let scaling = report.scaling.map_or_else(String::new, |scaling| format!("\n{}", scaling.text()));
    let machine = report.machine.map_or_else(String::new, |load| format!("\n{}", load.text()));
    format!("{table}\n{NOTE}\n{scaling}{machine}\n{verdicts}")
}

const NOTE: &str = "A frame causes two events at each station that senses it, and a few more.";

/// Writes the report as JSON, with the version.
pub(crate) fn json(report: &Report) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Document<'a> {
        version: &'static str,
        #[serde(flatten)]
        report: &'a Report,
        targets: Vec<TargetResult>,
    }
    let document = Document { version: env!("CARGO_PKG_VERSION"), report, targets: verdicts(report) };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

fn cells(row: &Row) -> [String; 12] {
    let Spread { median, min, max } = row.wall_per_sim_second;
    let time = row.time();
    [
        row.scenario.to_owned(),
        format!("{:.3}", row.events as f64 * 1e-6),
        format!("{:.1}", row.events as f64 / row.frames as f64),
        format!("{:.2}", row.events_per_second * 1e-6),
        format!("{:.3} ({:.3}..{:.3})", median * 1e3, min * 1e3, max * 1e3),
        format!("{:.0}", row.times_real_time),
        format!("{:.1}", time.per_event * 1e9),
        format!("{:.2}", time.per_frame * 1e6),
        number(row.instructions.map(|cost| cost.per_event), 0),
        number(row.instructions.map(|cost| cost.per_frame), 0),
        number(row.memory.peak_bytes.map(|bytes| bytes as f64 * 1e-6), 1),
        number(row.bytes_per_node().map(|bytes| bytes * 1e-3), 1),
    ]
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::CASES;
    use crate::measure::{Cost, Sample};
    use crate::rows::Memory;

    fn row(nodes: u32, cost: Cost) -> Row {
        let sample = Sample {
            sim_seconds: 2.0,
            wall_seconds: 0.5,
            cpu_seconds: None,
            events: 100,
            frames: 4,
            mpdus: 2,
            peak_bytes: Some(3_000_000),
        };
        let slow = Sample { wall_seconds: 1.0, peak_bytes: Some(4_000_000), ..sample };
        let slower = Sample { wall_seconds: 4.0, ..slow };
        let memory = Memory { peak_bytes_of_few: Some((10, 2_200_000)), ..Memory::default() };
        Row { nodes, ..Row::new(&CASES[0], &[slower, sample, slow], 100, Some(cost), memory) }
    }

    #[test]
    fn the_median_run_counts() {
        let row = row(100, Cost { per_event: 200.0, per_frame: 5000.0, per_mpdu: 10_000.0 });
        let wall = "500.000 (250.000..2000.000)";
        let expected =
            ["0.000", "25.0", "0.00", wall, "2", "5000000.0", "125000.00", "200", "5000", "4.0", "20.0"];
        assert_eq!(cells(&row)[1..], expected);
    }
}
