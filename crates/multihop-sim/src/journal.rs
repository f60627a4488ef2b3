//! Finished runs in a folder, so that what was interrupted goes on where it was.
//!
//! `runs.jsonl` has a line for each run, in the order in which they ended. Shards of one list write
//! files of their own beside it (`runs-1-of-4.jsonl`); whoever opens the folder reads them all. A run
//! is known by its [`key`].

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::results::RunResult;
use multihop_scenario::Scenario;

/// Version and sources of the code that decides results: two builds with the same name find the same.
pub const BUILD: &str = env!("MULTIHOP_BUILD");

/// What tells one run from all others: a hash of the scenario with its defaults and the files that it
/// names, of its seed, and of [`BUILD`].
pub fn key(scenario: &Scenario) -> String {
    let alone = Scenario { sweep: None, ..scenario.clone() };
    let mut fingerprint = Fingerprint::new();
    fingerprint.add(BUILD.as_bytes());
    fingerprint.add(format!("{alone:?}").as_bytes());
    fingerprint.digits()
}

/// One part of a list that several machines share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shard {
    /// Which one, from 1.
    pub number: usize,
    /// Of how many.
    pub of: usize,
}

impl Shard {
    /// Whether the run at this place of the list is its own.
    pub const fn has(self, index: usize) -> bool {
        index % self.of == self.number - 1
    }
}

/// What has been finished, and where the next result goes.
#[derive(Debug)]
pub struct Journal {
    file: File,
    finished: BTreeMap<String, RunResult>,
}

#[derive(Serialize)]
struct Line<'a> {
    key: &'a str,
    version: &'a str,
    result: &'a RunResult,
}

#[derive(Deserialize)]
struct Finished {
    key: String,
    result: RunResult,
}

impl Journal {
    /// Reads what a folder holds; results will be appended to the shard's file, or to `runs.jsonl`.
    pub fn open(folder: &Path, shard: Option<Shard>) -> io::Result<Self> {
        let name = match shard {
            Some(Shard { number, of }) => format!("runs-{number}-of-{of}.jsonl"),
            None => "runs.jsonl".to_owned(),
        };
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(folder.join(name))?;
        end_line(&mut file)?;
        Ok(Self { file, finished: finished(folder)? })
    }

    /// The result of a run, if it is there.
    pub fn get(&self, key: &str) -> Option<&RunResult> {
        self.finished.get(key)
    }

    /// Keeps a result.
    pub fn append(&mut self, key: &str, result: &RunResult) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Line { key, version: BUILD, result })?;
        line.push(b'\n');
        // In one call, so that lines of two processes do not mix.
        self.file.write_all(&line)?;
        self.finished.insert(key.to_owned(), result.clone());
        Ok(())
    }
}

/// Every run in the journals of a folder.
pub fn finished(folder: &Path) -> io::Result<BTreeMap<String, RunResult>> {
    let mut finished = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.starts_with("runs") && name.ends_with(".jsonl") {
            let text = std::fs::read(entry.path())?;
            // What a killed process left half written is no line of a journal.
            let lines = text.split(|&byte| byte == b'\n');
            finished.extend(
                lines
                    .filter_map(|line| serde_json::from_slice(line).ok())
                    .map(|Finished { key, result }| (key, result)),
            );
        }
    }
    Ok(finished)
}

/// Makes sure that what is appended begins a line.
fn end_line(file: &mut File) -> io::Result<()> {
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last != [b'\n'] { file.write_all(b"\n") } else { Ok(()) }
}
