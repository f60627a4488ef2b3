//! Reader of `[radio.measured]`: traces of links as comma-separated values.

use std::sync::Arc;

use csv::StringRecord;
use multihop_core::{Duration, Instant, NodeId};
use multihop_radio::measured::{Interpolation, LinkTraces, Measurement, Quantity};

use crate::document::shorten;
use crate::positions::csv::cells;

/// Reads traces of measured links. `find` finds a node by number or name; its error lists the allowed nodes. An error
/// names its line.
///
/// The first line that is neither empty nor begins with `#` names the columns: time, from, to, and snr_db or
/// loss, in any order; other columns are ignored. A row without an SNR means that the receiver has no signal.
pub(crate) fn traces(
    text: &str,
    interpolation: Interpolation,
    find: impl Fn(&str) -> Result<NodeId, String>,
) -> Result<Arc<LinkTraces>, String> {
    let lines = text.trim_start_matches('\u{feff}').lines().zip(1..);
    let mut lines = lines.filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'));
    let (header, number) = lines.next().ok_or_else(|| format!("found no header, allowed: {HEADER}"))?;
    let columns = Columns::of(&cells(header)).map_err(|message| format!("{number}: {message}"))?;
    let mut rows = Vec::new();
    for (line, number) in lines {
        if rows.len() == MAX_ROWS {
            return Err(format!("{number}: found more than {MAX_ROWS} rows, allowed: up to {MAX_ROWS}"));
        }
        let row = columns.row(&cells(line), &find);
        rows.push(row.map_err(|message| format!("{number}: {message}"))?);
    }
    if rows.is_empty() {
        return Err("found no rows, allowed: at least one".to_owned());
    }
    Ok(Arc::new(LinkTraces::new(columns.quantity, interpolation, &rows)))
}

/// Indices of the columns of a file.
struct Columns {
    time: usize,
    from: usize,
    to: usize,
    value: usize,
    quantity: Quantity,
}

impl Columns {
    fn of(header: &StringRecord) -> Result<Self, String> {
        let find = |name: &str| header.iter().position(|cell| cell.eq_ignore_ascii_case(name));
        let missing = || {
            let found = shorten(&header.iter().collect::<Vec<_>>().join(","));
            format!("found the columns {found:?}, allowed: {HEADER}")
        };
        let (value, quantity) = match (find("snr_db"), find("loss")) {
            (Some(snr), None) => (snr, Quantity::Snr),
            (None, Some(loss)) => (loss, Quantity::Loss),
            _ => return Err(missing()),
        };
        let [time, from, to] = ["time", "from", "to"].map(find);
        match (time, from, to) {
            (Some(time), Some(from), Some(to)) => Ok(Self { time, from, to, value, quantity }),
            _ => Err(missing()),
        }
    }

    fn row(
        &self,
        cells: &StringRecord,
        find: &impl Fn(&str) -> Result<NodeId, String>,
    ) -> Result<Measurement, String> {
        let cell = |column: usize| cells.get(column).unwrap_or_default();
        let time = number("time", cell(self.time), 0.0, LATEST)?;
        let node = |name, column| find(cell(column)).map_err(|message| format!("{name}: {message}"));
        let (from, to) = (node("from", self.from)?, node("to", self.to)?);
        if from == to {
            return Err(format!("to: found {:?}, allowed: another node than from", shorten(cell(self.to))));
        }
        let value = match (self.quantity, cell(self.value)) {
            (Quantity::Snr, "") => f64::NEG_INFINITY,
            (Quantity::Snr, text) => number("snr_db", text, -MOST_DB, MOST_DB)?,
            (Quantity::Loss, text) => number("loss", text, 0.0, 1.0)?,
        };
        Ok(Measurement { at: Instant::ZERO + Duration::from_secs_f64(time), from, to, value })
    }
}

fn number(name: &str, text: &str, least: f64, most: f64) -> Result<f64, String> {
    let read = text.parse().ok().filter(|value: &f64| (least..=most).contains(value));
    read.ok_or_else(|| format!("{name}: found {:?}, allowed: a number from {least} to {most}", shorten(text)))
}

const HEADER: &str = "a header with time, from, to, and either snr_db or loss";
/// Largest number of rows in a file: with 16 bytes each they take 16 MB.
const MAX_ROWS: usize = 1_000_000;
/// Latest instant in a file, s.
const LATEST: f64 = 1e9;
/// Largest SNR in either direction, dB.
const MOST_DB: f64 = 150.0;

#[cfg(test)]
mod tests {
    use multihop_core::Rng;

    use super::*;

    fn find(name: &str) -> Result<NodeId, String> {
        match name {
            "north" => Ok(NodeId(2)),
            _ => name.parse().map(NodeId).map_err(|_| format!("found {name:?}, allowed: a node")),
        }
    }

    fn read(text: &str) -> Result<Arc<LinkTraces>, String> {
        traces(text, Interpolation::Hold, find)
    }

    fn at(seconds: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(seconds)
    }

    #[test]
    fn columns_have_any_order_and_nodes_names() {
        let text = "\u{feff}# of iw\nfrom,to,rate,SNR_dB,time\r\n\n0,north,6.5,20.5,0.5\nnorth,0,13,,2\n";
        let traces = read(text).unwrap();
        let [a, c] = [NodeId(0), NodeId(2)];
        assert_eq!(traces.value(a, c, at(1.0)), Some(20.5));
        assert_eq!(traces.value(c, a, at(3.0)), Some(f64::NEG_INFINITY));
        let losses = read("time,from,to,loss\n0,0,1,0.25\n").unwrap();
        assert_eq!((losses.quantity(), losses.value(NodeId(1), a, at(9.0))), (Quantity::Loss, Some(0.25)));
    }

    #[test]
    fn what_is_wrong_names_its_line_and_what_is_allowed() {
        let header = "allowed: a header with time, from, to, and either snr_db or loss";
        for (text, message) in [
            ("", format!("found no header, {header}")),
            ("time,from,to\n", format!("1: found the columns \"time,from,to\", {header}")),
            (
                "\ntime,from,to,loss,snr_db\n",
                format!("2: found the columns \"time,from,to,loss,snr_db\", {header}"),
            ),
            ("time,from,to,loss\n", "found no rows, allowed: at least one".to_owned()),
            (
                "time,from,to,loss\n-1,0,1,0\n",
                "2: time: found \"-1\", allowed: a number from 0 to 1000000000".to_owned(),
            ),
            ("time,from,to,loss\n0,0,x,0\n", "2: to: found \"x\", allowed: a node".to_owned()),
            (
                "time,from,to,loss\n0,1,1,0\n",
                "2: to: found \"1\", allowed: another node than from".to_owned(),
            ),
            (
                "time,from,to,loss\n0,0,1,1.5\n",
                "2: loss: found \"1.5\", allowed: a number from 0 to 1".to_owned(),
            ),
            ("time,from,to,loss\n0,0,1\n", "2: loss: found \"\", allowed: a number from 0 to 1".to_owned()),
            (
                "time,from,to,snr_db\n0,0,1,20\n0,0,1,NaN\n",
                "3: snr_db: found \"NaN\", allowed: a number from -150 to 150".to_owned(),
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), message, "{text:?}");
        }
    }

    #[test]
    fn any_text_is_read_or_refused_with_its_line() {
        const PARTS: [&str; 16] = [
            "time", "from", "to", "snr_db", "loss", ",", ",", ",", "\n", "\n", "0", "1", "2.5", "-3", "\"",
            "\u{fffd}",
        ];
        let mut rng = Rng::stream(1, "test", 0);
        let (mut accepted, mut refused) = (0, 0);
        for _ in 0..20_000 {
            let mut text =
                if rng.chance(0.7) { "time,from,to,snr_db\n0,0,1,2\n".to_owned() } else { String::new() };
            for _ in 0..rng.below(40) {
                text += PARTS[rng.below(16) as usize];
            }
            match read(&text) {
                Ok(_) => accepted += 1,
                Err(message) => {
                    assert!(message.contains("allowed: "), "{text:?}: {message}");
                    refused += 1;
                }
            }
        }
        assert!(accepted > 100 && refused > 100, "{accepted} {refused}");
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let mut rng = Rng::stream(2, "test", 0);
        for _ in 0..100 {
            let values: Vec<_> = (0..50).map(|_| rng.range(-150.0, 150.0)).collect();
            let mut text = "time,from,to,snr_db\n".to_owned();
            for (second, value) in values.iter().enumerate() {
                text += &format!("{second},0,1,{value}\n");
            }
            let traces = read(&text).unwrap();
            for (second, value) in (0_u32..).zip(&values) {
                assert_eq!(traces.value(NodeId(0), NodeId(1), at(f64::from(second))), Some(*value));
            }
        }
    }
}
