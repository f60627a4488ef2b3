//! Reads qlog files by the types of the crate qlog, and prints how many events of each kind they have.
//!
//!     multihop-qlog-check FILE.sqlog ...

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::process::ExitCode;

use qlog::events::EventType;
use qlog::reader::{Event, QlogSeqReader};

fn main() -> ExitCode {
    for path in std::env::args().skip(1) {
        match check(&path) {
            Ok(counts) => println!("{path}: {counts:?}"),
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Numbers of events by name. Every record after the first must be an event of QUIC's schema.
fn check(path: &str) -> Result<BTreeMap<String, usize>, Box<dyn Error>> {
    let bytes = fs::read(path)?;
    let records = bytes.iter().filter(|byte| **byte == 0x1e).count();
    let mut counts = BTreeMap::new();
    for event in QlogSeqReader::new(Box::new(bytes.as_slice()))? {
        let Event::Qlog(event) = event else { return Err(format!("no event of QUIC: {event:?}").into()) };
        let name = format!("{:?}", EventType::from(&event.data));
        *counts.entry(name).or_insert(0) += 1;
    }
    let read: usize = counts.values().sum();
    if read + 1 != records {
        return Err(format!("{read} of {} events can be read", records - 1).into());
    }
    Ok(counts)
}
