//! Results as tables: CSV with a row for each flow, node, link, queue or run.
//!
//! Columns are named by the keys of results, with dotted names for nested tables, such as `delay_ms.p95`. A
//! value that was not measured is an empty cell.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::results::RunResult;
use crate::sweep::SweepResult;

/// Kinds of tables, by the subject of a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rows {
    /// One row for each run, with the totals and all counters over all nodes.
    Runs,
    /// One row for each flow of a run.
    Flows,
    /// One row for each node of a run.
    Nodes,
    /// One row for each link of a run.
    Links,
    /// One row for each interface queue.
    Queues,
}

impl Rows {
    /// All kinds of tables, in a fixed order.
    pub const ALL: [Self; 5] = [Self::Runs, Self::Flows, Self::Nodes, Self::Links, Self::Queues];

    /// Name of the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Flows => "flows",
            Self::Nodes => "nodes",
            Self::Links => "links",
            Self::Queues => "queues",
        }
    }

    fn of(self, result: &RunResult) -> Vec<Cells> {
        match self {
            Self::Runs => vec![run_cells(result)],
            Self::Flows => result.flows.iter().map(cells).collect(),
            Self::Nodes => result.nodes.iter().map(cells).collect(),
            Self::Links => result.links.iter().map(cells).collect(),
            Self::Queues => result.queues.iter().map(cells).collect(),
        }
    }
}

/// Cells of a row with the names of their columns.
type Cells = Vec<(String, String)>;

/// Writes a table of one run.
pub fn write_run(rows: Rows, result: &RunResult, out: impl Write) -> io::Result<()> {
    write(rows.of(result), out)
}

/// Writes a table of a sweep: first the values of its `axes`, the seed and the key of each run.
pub fn write_sweep(rows: Rows, axes: &[String], results: &[SweepResult], out: impl Write) -> io::Result<()> {
    let labelled = results.iter().flat_map(|labelled| {
        let value = |axis: &String| labelled.sweep.get(axis).map_or_else(String::new, text);
        let axes = axes.iter().map(|axis| (axis.clone(), value(axis)));
        let own = [("seed", labelled.result.seed.to_string()), ("key", labelled.key.clone())];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let label: Cells = axes.chain(own).collect();
        rows.of(&labelled.result).into_iter().map(move |cells| {
            let rest = cells.into_iter().filter(|(name, _)| name != "seed");
            label.iter().cloned().chain(rest).collect::<Cells>()
        })
    });
    write(labelled.collect(), out)
}

/// Writes a table whose columns are those of all rows, in the order in which they first appear.
fn write(rows: Vec<Cells>, out: impl Write) -> io::Result<()> {
    let mut columns: Vec<&str> = Vec::new();
    for cells in &rows {
        let mut place = 0;
        for (name, _) in cells {
            match columns.iter().position(|column| *column == name.as_str()) {
                Some(known) => place = known + 1,
                None => {
                    columns.insert(place, name);
                    place += 1;
                }
            }
        }
    }
    let mut table = csv::Writer::from_writer(out);
    if !columns.is_empty() {
        table.write_record(&columns)?;
    }
    for cells in &rows {
        let value = |column: &&str| {
            let cell = cells.iter().find(|(name, _)| name.as_str() == *column);
            cell.map_or("", |(_, text)| text.as_str())
        };
        table.write_record(columns.iter().map(value))?;
    }
    table.flush()
}

/// The values of a result that are not in lists.
fn run_cells(result: &RunResult) -> Cells {
    let mut cells = vec![
        ("scenario".to_owned(), result.scenario.clone()),
        ("seed".to_owned(), result.seed.to_string()),
        ("sim_seconds".to_owned(), result.sim_seconds.to_string()),
        ("events".to_owned(), result.events.to_string()),
    ];
    flatten("totals", &entries(&result.totals), &mut cells);
    flatten("mac", &entries(&result.mac), &mut cells);
    flatten("routing", &entries(&result.routing), &mut cells);
    if let Some(energy) = &result.energy {
        flatten("energy", &entries(energy), &mut cells);
    }
    flatten("drops", &entries(&result.drops), &mut cells);
    cells
}

fn cells(row: &impl Serialize) -> Cells {
    let mut cells = Cells::new();
    flatten("", &entries(row), &mut cells);
    cells
}

/// Adds the values of nested tables under dotted names, without lists.
fn flatten(name: &str, entry: &Entry, cells: &mut Cells) {
    let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match entry {
        Entry::Table(entries) => {
            entries.iter().for_each(|(key, entry)| flatten(&below(key), entry, cells));
        }
        Entry::List => {}
        Entry::Leaf(Value::Null) if SUMMARIES.iter().any(|summary| name.ends_with(summary)) => {
            cells.extend(PARTS.map(|part| (below(part), String::new())));
        }
        Entry::Leaf(value) => cells.push((name.to_owned(), text(value))),
    }
}

/// Keys whose value is a [`crate::results::Summary`] or `null`.
const SUMMARIES: [&str; 3] = ["delay_ms", "rtt_ms", "page_load_ms"];
/// The keys of a [`crate::results::Summary`].
const PARTS: [&str; 4] = ["mean", "p50", "p95", "p99"];

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A JSON value, with keys in the order of the text.
enum Entry {
    Table(Vec<(String, Self)>),
    List,
    Leaf(Value),
}

fn entries(value: &impl Serialize) -> Entry {
    let text = serde_json::to_string(value).expect("every key of a result is a string");
    serde_json::from_str(&text).expect("JSON that was just written")
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of a result")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Entry::Table(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Entry, A::Error> {
        while list.next_element::<Entry>()?.is_some() {}
        Ok(Entry::List)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Entry, E> {
        Ok(Entry::Leaf(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Entry, E> {
        Ok(Entry::Leaf(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Entry, E> {
        Ok(Entry::Leaf(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Entry, E> {
        Ok(Entry::Leaf(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Entry, E> {
        Ok(Entry::Leaf(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Entry, E> {
        Ok(Entry::Leaf(Value::Null))
    }
}

#[cfg(test)]
mod tests {
    use multihop_scenario::{Scenario, Source};

    use super::*;
    use crate::{Outputs, run, unattended};

    fn result(rest: &str) -> RunResult {
        let text = format!(
            "duration = 5.0\n[mac]\narp = \"oracle\"\n[topology]\nkind = \"chain\"\nhops = 1\n\
             [[flow]]\napp = \"cbr\"\nrate_kbps = 100.0\nsize = 1000\n{rest}"
        );
        let scenario = Scenario::load(&Source::Toml { text, name: "a.toml".to_owned() }, &[]).unwrap();
        run(&scenario, Outputs::default(), &mut unattended).unwrap()
    }

    fn table(rows: Rows, result: &RunResult) -> (Vec<String>, Vec<Vec<String>>) {
        let mut out = Vec::new();
        write_run(rows, result, &mut out).unwrap();
        let mut reader = csv::Reader::from_reader(&out[..]);
        let owned = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
        let heading = owned(reader.headers().unwrap());
        (heading, reader.records().map(|record| owned(&record.unwrap())).collect())
    }

    #[test]
    fn each_flow_has_a_row_in_the_order_of_the_keys() {
        let result = result("[[flow]]\nfrom = 0\nto = 1\ntransport = \"newreno\"\nstart = 4.9999\n");
        let (heading, rows) = table(Rows::Flows, &result);
        assert_eq!(heading[..5], ["id", "from", "to", "app", "transport"]);
        let cell = |row: usize, column: &str| {
            rows[row][heading.iter().position(|name| name == column).unwrap()].clone()
        };
        let number = |column: &str| cell(0, column).parse::<f64>().ok();
        let flow = &result.flows[0];
        assert_eq!(number("delay_ms.mean"), flow.delay_ms.map(|delay| delay.mean));
        assert_eq!(number("delivery_ratio"), flow.delivery_ratio);
        assert_eq!((rows.len(), cell(1, "delay_ms.p99")), (2, String::new()), "nothing has arrived");
    }

    #[test]
    fn tables_of_a_run_have_a_row_for_each_item() {
        let result = result("");
        for (rows, count) in [(Rows::Runs, 1), (Rows::Nodes, 2), (Rows::Links, 1), (Rows::Queues, 1)] {
            assert_eq!(table(rows, &result).1.len(), count, "{}", rows.name());
        }
        let (heading, _) = table(Rows::Runs, &result);
        for column in ["seed", "totals.delay_ms.p95", "mac.frames.data"] {
            assert!(heading.iter().any(|name| name == column), "{column} of {heading:?}");
        }
    }

    #[test]
    fn a_column_that_only_later_rows_have_keeps_its_place() {
        let row = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), "1".to_owned())).collect();
        let mut out = Vec::new();
        write(vec![row(&["a", "c"]), row(&["a", "b", "c", "d"])], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a,b,c,d\n1,,1,\n1,1,1,1\n");
    }
}
