//! Finished runs in a folder, so that an interrupted list of runs can be resumed.
//!
//! `runs.jsonl` holds one line of JSON for each run, in order of completion. Shards of one list write
//! separate files in the same folder (`runs-1-of-4.jsonl`); opening the folder reads them all. A line is an
//! [`Entry`], and the FNV-1a hash of the line up to the comma before `hash`. Lines of older versions, without cost, series
//! and hash, can also be read.

use core::fmt;
use core::str::FromStr;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::results::RunResult;

/// One finished run; one line of a journal.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Entry {
    /// Key that identifies the run; see [`crate::key()`].
    pub key: String,
    /// Build of the simulator that made the entry.
    pub version: String,
    /// CPU time of the run, s; wall-clock time if the system does not measure CPU time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The result of the run.
    pub result: RunResult,
    /// The series of the scenario's `[record]` table, as CSV.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
}

impl Entry {
    /// Reads a line of a journal.
    pub fn from_line(line: &str) -> Result<Self, serde_json::Error> {
        use serde::de::Error;
        if !has_its_hash(line) {
            return Err(serde_json::Error::custom("the line does not fit its hash"));
        }
        serde_json::from_str(line)
    }

    /// Line of a journal for this entry, without line break. It ends with a hash of the text before the hash.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("every key of a result is a string");
        line.pop(); // the brace
        let hash = hash(&line);
        line + HASH + &hash + "\"}"
    }
}

/// Whether a line is undamaged. Lines of older versions have no hash and count as undamaged.
fn has_its_hash(line: &str) -> bool {
    let parts = line.strip_suffix("\"}").and_then(|line| line.rsplit_once(HASH));
    parts.is_none_or(|(text, found)| hash(text) == found)
}

fn hash(text: &str) -> String {
    let mut hash = Fingerprint::new();
    hash.add(text.as_bytes());
    hash.digits()
}

/// Text in a line of the journal between its content and the content's hash.
const HASH: &str = ",\"hash\":\"";

/// One part of a list of runs that is divided between several machines.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    /// Number of this part, counted from 1.
    pub const fn number(self) -> usize {
        self.number
    }

    /// Number of parts into which the list is divided.
    pub const fn of(self) -> usize {
        self.of
    }

    /// Whether the run at this index of the list, from 0, belongs to this part.
    pub const fn has(self, index: usize) -> bool {
        index % self.of == self.number - 1
    }
}

/// Parses the syntax of `--shard`: `I/N`.
impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err(ShardError),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Error for a shard that is not `number/of` with a number from 1 to `of`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("allowed: I/N with I from 1 to N")]
pub struct ShardError;

/// The finished runs, and the file to which the next one is appended.
#[derive(Debug, Default)]
pub struct Journal {
    /// Path of the journal's file; `None` for a journal without a file.
    path: Option<PathBuf>,
    /// The journal's file, opened at the first entry.
    file: Option<File>,
    /// Lines by their keys.
    lines: BTreeMap<String, String>,
    /// Total cost, s, of the entries that a loss of power would erase.
    unsynced: f64,
}

impl Journal {
    /// Reads the journals of a folder; new entries are appended to the shard's file, or to `runs.jsonl`.
    pub fn open(folder: &Path, shard: Option<Shard>) -> io::Result<Self> {
        let name = match shard {
            Some(Shard { number, of }) => format!("runs-{number}-of-{of}.jsonl"),
            None => "runs.jsonl".to_owned(),
        };
        Ok(Self { path: Some(folder.join(name)), lines: lines(folder)?, ..Self::default() })
    }

    /// A journal without a file.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Whether a run has finished.
    pub fn contains(&self, key: &str) -> bool {
        self.lines.contains_key(key)
    }

    /// The number of finished runs.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether no run has finished.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The entry of a finished run; `None` also for a line that this build cannot read.
    pub fn entry(&self, key: &str) -> Option<Entry> {
        Entry::from_line(self.lines.get(key)?).ok()
    }

    /// Writes all entries to the disk. Call it before a list of runs is reported as finished.
    pub fn sync(&mut self) -> io::Result<()> {
        if let Some(path) = &self.path {
            // The file may contain entries of a process that was killed.
            match OpenOptions::new().append(true).open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                file => file?.sync_all()?,
            }
            sync_name(path)?;
        }
        self.unsynced = 0.0;
        Ok(())
    }

    /// Adds a finished run. The entry is written to the disk at once if the run took a second. Shorter runs
    /// wait until they have taken a second together, or until [`sync`](Self::sync).
    pub fn append(&mut self, entry: &Entry) -> io::Result<()> {
        let line = entry.to_line();
        if let (None, Some(path)) = (&self.file, &self.path) {
            self.file = Some(appended(path)?);
        }
        if let Some(file) = &mut self.file {
            // A single write prevents that lines of two processes mix.
            if let Err(error) = file.write_all(format!("{line}\n").as_bytes()) {
                self.file = None; // the next line begins after what was written of this one
                return Err(error);
            }
            self.unsynced += entry.cost.or(entry.result.wall_seconds).unwrap_or(f64::INFINITY);
            if self.unsynced >= MAX_UNSYNCED {
                self.sync()?;
            }
        }
        self.lines.insert(entry.key.clone(), line);
        Ok(())
    }
}

/// Writes the name of a new file to the disk.
#[cfg(unix)]
fn sync_name(path: &Path) -> io::Result<()> {
    File::open(path.parent().expect("a file in a folder"))?.sync_all()
}

/// Does nothing: only Unix can sync a folder.
#[cfg(not(unix))]
fn sync_name(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Largest CPU time of runs that a loss of power may take, s.
const MAX_UNSYNCED: f64 = 1.0;

/// The lines in the journals of a folder, by key.
fn lines(folder: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut lines = BTreeMap::new();
    for path in journals(folder)? {
        let bytes = std::fs::read(path)?;
        // A killed process may have left an incomplete line, a failing disk a damaged one. The runs of such
        // lines are repeated.
        let lines_of_file = bytes.split(|&byte| byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
        for line in lines_of_file.filter(|line| has_its_hash(line)) {
            if let Ok(Keyed { key, result: _ }) = serde_json::from_str(line) {
                lines.insert(key, line.to_owned());
            }
        }
    }
    Ok(lines)
}

/// The fields that lines of all versions have.
#[derive(Deserialize)]
struct Keyed {
    key: String,
    #[expect(dead_code, reason = "must be there")]
    result: IgnoredAny,
}

/// The journals of a folder in the order of their names.
fn journals(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let is_journal = |name: &str| name.starts_with("runs") && name.ends_with(".jsonl");
        if entry.file_name().to_str().is_some_and(is_journal) {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// Opens a file for appending whole lines: ends its last line if a killed process left it incomplete.
fn appended(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last != [b'\n'] {
        file.write_all(b"\n")?;
    }
    Ok(file)
}
