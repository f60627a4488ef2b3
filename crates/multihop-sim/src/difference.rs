//! Search for the first difference between two runs. Runs are deterministic, so that the first difference
//! causes all later ones.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use multihop_scenario::Scenario;

use crate::observe::Outputs;
use crate::run::{RunError, run, unattended};

/// The first packet event in which two runs differ.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Difference {
    /// The line of each run in its packet trace, without line break; `None` if the run has no more events.
    pub events: [Option<String>; 2],
}

impl Difference {
    /// Time of the earlier one of both events, s.
    pub fn seconds(&self) -> f64 {
        let seconds = self.events.iter().flatten().filter_map(|line| line.split('\t').nth(1)?.parse().ok());
        seconds.fold(f64::INFINITY, f64::min)
    }
}

/// Runs both scenarios until their packet traces differ; `None` if they never do.
pub fn first_difference(ours: &Scenario, theirs: &Scenario) -> Result<Option<Difference>, RunError> {
    std::thread::scope(|scope| {
        let mut runs = [ours, theirs].map(|scenario| Traced::begin(scope, scenario));
        loop {
            let [a, b] = &mut runs;
            let events = [a.next(), b.next()];
            if events[0] != events[1] {
                // Dropping the readers ends the runs.
                return Ok(Some(Difference { events }));
            }
            if events[0].is_none() {
                let [a, b] = runs;
                return a.end().and_then(|()| b.end()).map(|()| None);
            }
        }
    })
}

/// A run in a separate thread, whose trace is read while the run writes it.
struct Traced<'scope> {
    chunks: Receiver<Vec<u8>>,
    lines: std::vec::IntoIter<String>,
    run: ScopedJoinHandle<'scope, Result<(), RunError>>,
}

impl<'scope> Traced<'scope> {
    fn begin<'env>(scope: &'scope Scope<'scope, 'env>, scenario: &'env Scenario) -> Self {
        let (sender, chunks) = sync_channel(AHEAD);
        let run = scope.spawn(move || {
            let trace = Lines { sender, rest: Vec::new() };
            let outputs = Outputs { trace: Some(Box::new(trace)), ..Outputs::default() };
            run(scenario, outputs, &mut { unattended }).map(drop)
        });
        Self { chunks, lines: Vec::new().into_iter(), run }
    }

    /// Returns the next line of the trace, or None at its end.
    fn next(&mut self) -> Option<String> {
        loop {
            if let Some(line) = self.lines.next() {
                return Some(line);
            }
            let chunk = self.chunks.recv().ok()?;
            let lines: Vec<_> = String::from_utf8_lossy(&chunk).lines().map(str::to_owned).collect();
            self.lines = lines.into_iter();
        }
    }

    /// Whether the run has ended well.
    fn end(self) -> Result<(), RunError> {
        self.run.join().expect("a run does not panic")
    }
}

/// Writer that passes on whole lines only.
struct Lines {
    sender: SyncSender<Vec<u8>>,
    rest: Vec<u8>,
}

impl Lines {
    fn pass_on(&mut self) -> io::Result<()> {
        let sent = self.sender.send(std::mem::take(&mut self.rest));
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        if self.rest.len() >= CHUNK && bytes.ends_with(b"\n") {
            self.pass_on()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on()
    }
}

/// Size of the chunks that are passed on, bytes.
const CHUNK: usize = 1 << 16;
const AHEAD: usize = 4;

#[cfg(test)]
mod tests {
    use multihop_scenario::Source;

    use super::*;

    fn scenario(rest: &str) -> Scenario {
        let text = format!(
            "duration = 20.0\nwarmup = 1.0\n{rest}\n[topology]\nkind = \"chain\"\nhops = 3\n\
             [[flow]]\ntransport = \"newreno\"\n[[flow]]\nfrom = 3\nto = 0\ntransport = \"newreno\"\nstart = 7.25\n"
        );
        Scenario::load(&Source::Toml { text, name: "a.toml".to_owned() }, &[]).unwrap()
    }

    #[test]
    fn equal_runs_do_not_differ() {
        assert_eq!(first_difference(&scenario(""), &scenario("")).unwrap(), None);
    }

    #[test]
    fn runs_differ_first_where_a_flow_has_another_transport() {
        let ours = scenario("");
        let mut theirs = ours.clone();
        let other = scenario("seed = 1");
        theirs.flows[1] = other.flows[1].clone();
        theirs.flows[1].start = multihop_core::Duration::from_millis(7500);
        let found = first_difference(&ours, &theirs).unwrap().unwrap();
        assert!((7.25..7.3).contains(&found.seconds()), "{found:?}");
        let [Some(ours), _] = &found.events else { panic!("{found:?}") };
        assert!(ours.starts_with("s\t7.25"), "the second flow begins: {ours}");
    }

    #[test]
    fn a_run_that_ends_sooner_differs_at_its_end() {
        let ours = scenario("");
        let mut theirs = ours.clone();
        theirs.duration = multihop_core::Duration::from_millis(10_000);
        let found = first_difference(&ours, &theirs).unwrap().unwrap();
        assert!((9.9..=10.1).contains(&found.seconds()), "{found:?}");
    }
}
