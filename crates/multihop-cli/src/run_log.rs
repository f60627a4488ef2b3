//! Log of a run for a page that cannot simulate the run itself, because the page does not contain the run's
//! user-defined protocols.

use std::io::{self, Write};

use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use multihop_core::{Duration, Instant};
use multihop_scenario::Scenario;
use multihop_sim::viewed::{Description, Nodes, ViewedRun};
use serde::Serialize;

/// All events of a run, in the format that `web/src/log.ts` reads.
#[derive(Debug, Serialize)]
pub(crate) struct RunLog {
    network: Description,
    /// The names to which records refer.
    names: Vec<&'static str>,
    /// The records of `multihop-sim/src/view/log.rs`: little-endian words, compressed, in base64.
    records: String,
    /// A JSON object for each packet sent, one per line: uid, and names and values of its fields. Compressed, in base64.
    fields: String,
}

impl RunLog {
    /// Simulates the scenario and records the data for the page. `progress` receives the completed share of
    /// the run, and stops the run by returning an error.
    pub(crate) fn of(
        scenario: &Scenario,
        mut progress: impl FnMut(f64) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let nodes = Nodes::of(scenario)?;
        let mut run = ViewedRun::new(scenario)?;
        let end = run.end();
        let network = Description::of(scenario, &nodes, end);
        run.set_detailed(true);
        let (mut records, mut fields) = (Packed::new(), Packed::new());
        let step = Duration::from_nanos(end.as_nanos() / STEPS + 1);
        let mut at = Instant::ZERO;
        while at < end {
            at = (at + step).min(end);
            run.advance(at);
            records.words(run.records());
            for packet in run.fields() {
                serde_json::to_writer(&mut fields, packet)
                    .and_then(|()| fields.write_all(b"\n").map_err(serde_json::Error::io))?;
            }
            run.clear();
            check(records.len + fields.len, at, end)?;
            progress(at.as_secs_f64() / end.as_secs_f64())?;
        }
        let names = run.names().to_vec();
        let mut last = Vec::new();
        run.finish(&mut last);
        records.words(&last);
        Ok(Self { network, names, records: records.text()?, fields: fields.text()? })
    }
}

/// Refuses a log that is too long for a browser.
fn check(bytes: u64, at: Instant, end: Instant) -> anyhow::Result<()> {
    anyhow::ensure!(
        bytes <= MAX_BYTES,
        "the log of this run for the page exceeds {} MiB after {:.1} of {:.1} s: shorten it, for example by --set duration={}",
        MAX_BYTES >> 20,
        at.as_secs_f64(),
        end.as_secs_f64(),
        at.as_secs_f64().floor(),
    );
    Ok(())
}

/// Writer that compresses bytes as they arrive.
struct Packed {
    encoder: ZlibEncoder<Vec<u8>>,
    /// Number of bytes before compression.
    len: u64,
}

impl Packed {
    fn new() -> Self {
        Self { encoder: ZlibEncoder::new(Vec::new(), Compression::default()), len: 0 }
    }

    fn words(&mut self, words: &[u32]) {
        words.iter().for_each(|word| self.write_all(&word.to_le_bytes()).expect("memory takes all bytes"));
    }

    fn text(self) -> anyhow::Result<String> {
        Ok(BASE64_STANDARD.encode(self.encoder.finish().context("cannot compress the log")?))
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.encoder.write(bytes)?;
        self.len += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.encoder.flush()
    }
}

/// Number of parts into which the run is divided, for progress and memory.
const STEPS: u64 = 1000;
/// Longest log before compression, because a page stores all of it in memory.
const MAX_BYTES: u64 = 256 << 20;

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;
    use multihop_scenario::Source;

    use super::*;

    fn scenario(text: &str) -> Scenario {
        let source = Source::Toml { text: text.to_owned(), name: "a.toml".to_owned() };
        Scenario::load(&source, &[]).unwrap()
    }

    fn unpacked(text: &str) -> Vec<u8> {
        let packed = BASE64_STANDARD.decode(text).unwrap();
        let mut bytes = Vec::new();
        ZlibDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
        bytes
    }

    const CHAIN: &str = "duration = 1.0\ntopology = { kind = \"chain\", hops = 2 }\n\
                         [[flow]]\nfrom = 0\nto = 2\ntransport = \"newreno\"\n";

    #[test]
    fn a_log_has_all_records_of_a_run() {
        let scenario = scenario(CHAIN);
        let mut shares = Vec::new();
        let log = RunLog::of(&scenario, |share| {
            shares.push(share);
            Ok(())
        })
        .unwrap();
        let mut run = ViewedRun::new(&scenario).unwrap();
        run.set_detailed(true);
        run.advance(run.end());
        let mut words = run.records().to_vec();
        let mut last = Vec::new();
        run.finish(&mut last);
        words.extend(last);
        let expected: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert!(unpacked(&log.records) == expected);
        assert!(log.names.contains(&"tcp"), "{:?}", log.names);
        let fields = String::from_utf8(unpacked(&log.fields)).unwrap();
        assert!(fields.starts_with(r#"[1,[["source","0"],["destination","2"]"#), "{fields:.80}");
        assert_eq!(shares.last(), Some(&1.0));
    }

    #[test]
    fn a_log_that_is_too_long_is_refused_with_its_limit() {
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        assert!(check(MAX_BYTES, at(9), at(60)).is_ok());
        let error = check(MAX_BYTES + 1, at(9), at(60)).unwrap_err();
        let text = "the log of this run for the page exceeds 256 MiB after 9.0 of 60.0 s: shorten it, for example by --set \
                    duration=9";
        assert_eq!(error.to_string(), text);
    }
}
