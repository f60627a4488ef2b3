//! Descriptions of networks before their start.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Error;
use crate::link::Link;
use crate::net::{Limits, Net};

/// Description of a network, which [`start`](Self::start) makes.
#[derive(Clone, Debug)]
pub struct Lab {
    source: Source,
    settings: Vec<(String, String)>,
    command: OsString,
    record: Option<PathBuf>,
    limits: Option<Limits>,
}

#[derive(Clone, Debug)]
enum Source {
    /// Table of a layout, and the distance of neighbours, m.
    Layout {
        topology: Value,
        phy: Option<String>,
        spacing: Option<f64>,
    },
    File(PathBuf),
}

impl Lab {
    /// A row of `hops + 1` nodes, in which each node hears its neighbours only.
    pub fn chain(hops: u32) -> Self {
        Self::layout(json!({"kind": "chain", "hops": hops}))
    }

    /// Rows and columns of nodes, numbered row by row.
    pub fn grid(rows: u32, columns: u32) -> Self {
        Self::layout(json!({"kind": "grid", "rows": rows, "columns": columns}))
    }

    /// The network of a scenario of multihop: a file, or the name of an example.
    pub fn scenario(file: impl Into<PathBuf>) -> Self {
        Self::new(Source::File(file.into()))
    }

    fn layout(topology: Value) -> Self {
        Self::new(Source::Layout { topology, phy: None, spacing: None })
    }

    fn new(source: Source) -> Self {
        let command = env::var_os("MULTIHOP").unwrap_or_else(|| "multihop".into());
        let limits = Some(Limits { late: Duration::from_millis(5), lost: 0.01 });
        Self { source, settings: Vec::new(), command, record: None, limits }
    }

    /// Sets the radio of a chain or grid, such as `802.11g`. Scenarios have their own radio.
    #[must_use]
    pub fn phy(mut self, name: &str) -> Self {
        if let Source::Layout { phy, .. } = &mut self.source {
            *phy = Some(name.to_owned());
        }
        self
    }

    /// Sets the distance of neighbours in a chain or grid, in metres. By default it is two thirds of the range of the
    /// slowest rate.
    #[must_use]
    pub fn spacing(mut self, metres: f64) -> Self {
        if let Source::Layout { spacing, .. } = &mut self.source {
            *spacing = Some(metres);
        }
        self
    }

    /// Sets a key of the scenario, such as `routing.protocol` to `olsr`.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl ToString) -> Self {
        self.settings.push((key.to_owned(), value.to_string()));
        self
    }

    /// Records the network in a file, for `multihop view FILE` and `multihop run --replay FILE`.
    #[must_use]
    pub fn record(mut self, file: impl Into<PathBuf>) -> Self {
        self.record = Some(file.into());
        self
    }

    /// Accepts results of a network that was late, for tests whose outcome does not depend on time. Otherwise 99% of events and
    /// packets must be at most 5 ms late, and at most 1% of the time may be lost.
    #[must_use]
    pub fn any_lateness(mut self) -> Self {
        self.limits = None;
        self
    }

    /// Runs this program as the command `multihop`.
    #[must_use]
    pub fn command(mut self, path: impl AsRef<Path>) -> Self {
        self.command = path.as_ref().into();
        self
    }

    /// Makes the network, and returns when all its nodes are ready.
    pub fn start(&self) -> Result<Net, Error> {
        let mut command = Command::new(&self.command);
        let (file, line) = match &self.source {
            Source::File(file) => (file.as_os_str().to_owned(), None),
            Source::Layout { topology, phy, spacing } => {
                let mut table = table(topology, phy.as_deref());
                let spacing = spacing.map_or_else(|| Ok(SPACING * self.range(&table)?), Ok::<_, Error>)?;
                table["topology"]["spacing"] = spacing.into();
                ("-".into(), Some(table.to_string()))
            }
        };
        command.arg("emulate").arg(file).arg("--control").args(self.overrides());
        if let Some(record) = &self.record {
            command.arg("--record").arg(record);
        }
        Net::new(Link::new(command, line)?, self.limits)
    }

    fn overrides(&self) -> impl Iterator<Item = String> {
        self.settings.iter().flat_map(|(key, value)| ["--set".to_owned(), format!("{key}={value}")])
    }

    /// Range of the slowest rate, m, as `multihop check` prints it.
    fn range(&self, table: &Value) -> Result<f64, Error> {
        let mut pair = table.clone();
        pair["topology"] = json!({"kind": "chain", "hops": 1});
        pair["flow"] = json!([{"transport": "newreno"}]);
        let layout = |key: &str| key.starts_with("topology.");
        let mut check = Command::new(&self.command);
        check.args(["check", "-"]);
        for (key, value) in self.settings.iter().filter(|(key, _)| !layout(key)) {
            check.args(["--set", &format!("{key}={value}")]);
        }
        check.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |error| Error::Refused(format!("cannot run {}: {error}", self.command.display()));
        let mut child = check.spawn().map_err(failed)?;
        // A command that has ended before reading says why.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(pair.to_string().as_bytes()));
        let done = child.wait_with_output().map_err(failed)?;
        let text =
            [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        let found = text.split("reaches ").nth(1).and_then(|rest| rest.split(" m").next());
        let metres = found.and_then(|digits| digits.parse().ok());
        metres.ok_or_else(|| Error::Refused(text.trim().trim_start_matches("multihop: ").to_owned()))
    }
}

/// A scenario without a distance of neighbours.
fn table(topology: &Value, phy: Option<&str>) -> Value {
    let mut table =
        json!({"name": "lab", "duration": LONGEST, "mac": {"arp": "queueing"}, "topology": topology});
    if let Some(phy) = phy {
        table["radio"] = json!({"phy": phy});
    }
    table
}

/// Distance of neighbours in ranges of the slowest rate: nobody hears the node after the next.
const SPACING: f64 = 2.0 / 3.0;
/// Duration of a network that nobody closes, s.
const LONGEST: f64 = 86_400.0;
