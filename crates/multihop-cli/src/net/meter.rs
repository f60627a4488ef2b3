//! Progress of a transfer: a bar on a terminal, lines or JSON events elsewhere.
//!
//! # Format
//!
//! | event of `--json` | members besides `peer` |
//! |---|---|
//! | `code` (`send`) | `code`, `address`, `seconds` of validity, `recv`: the command in the same network, `recv_at`: commands elsewhere |
//! | `listening` (`recv`) | `address`, `token` or null, `send`: commands for the other host |
//! | `begin` | `files`, `bytes` (null if unknown) |
//! | `progress` | every second: `files_done`, `files`, `bytes_done`, `bytes`, `percent`, `bytes_per_second`, `seconds_left`; null if unknown |
//! | `end` | `files`, `moved`: bytes transferred, `had`: bytes present before, `seconds`, `counters` of the *transport* (`docs/extending.md#what-is-observed`) over all connections |

use std::fmt::Display;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, MultiProgress, ProgressBar, ProgressStyle};
use multihop_apps::files::{Progress, Summary};
use serde_json::{Value, json};

use super::args::TransferArgs;
use crate::output;
use crate::terminal::Verbosity;

/// Display of the progress.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    Nothing,
    /// A bar on standard error.
    Bar,
    /// Lines on standard error.
    Lines,
    /// JSON objects on standard output.
    Json,
}

impl Form {
    pub(super) fn of(args: &TransferArgs, verbosity: Verbosity) -> Self {
        if args.json {
            Self::Json
        } else if verbosity.quiet {
            Self::Nothing
        } else if std::io::stderr().is_terminal() {
            Self::Bar
        } else if args.progress {
            Self::Lines
        } else {
            Self::Nothing
        }
    }
}

/// Progress of one transfer on the terminal.
pub(super) struct Meter {
    form: Form,
    /// Name or address of the other end.
    peer: String,
    bar: ProgressBar,
    counts: Counts,
    /// Instant at which the last line was written.
    shown: Instant,
}

/// Numbers of files and bytes of a transfer so far.
#[derive(Clone, Copy, Debug)]
struct Counts {
    begin: Instant,
    files: u32,
    files_done: u32,
    /// Bytes to transfer; `None` if the size of a file is unknown.
    bytes: Option<u64>,
    /// Number of bytes that the receiver has, holes included.
    done: u64,
    /// Number of bytes transferred, without those that the receiver already had.
    moved: u64,
}

impl Meter {
    /// Creates the meter of a transfer, whose bar is below those of earlier transfers.
    pub(super) fn new(bars: &MultiProgress, form: Form, peer: String) -> Self {
        let bar = if form == Form::Bar { bars.add(ProgressBar::no_length()) } else { ProgressBar::hidden() };
        bar.set_style(style("{wide_msg} {prefix}, {bytes}, {binary_bytes_per_sec}"));
        let begin = Instant::now();
        let counts = Counts { begin, files: 0, files_done: 0, bytes: None, done: 0, moved: 0 };
        Self { form, peer, bar, counts, shown: begin }
    }

    pub(super) fn show(&mut self, progress: Progress) {
        let counts = &mut self.counts;
        match progress {
            Progress::Begin { files, bytes } => {
                (counts.files, counts.bytes) = (files, bytes);
                // A new connection begins with the bytes that the receiver already has.
                (counts.files_done, counts.done) = (0, 0);
                self.bar.set_position(0);
                if let Some(bytes) = bytes {
                    self.bar.set_style(style(
                        "{wide_msg} {prefix}, {bytes} of {total_bytes} ({percent}%), {binary_bytes_per_sec}, {eta} left",
                    ));
                    self.bar.set_length(bytes);
                }
                self.event("begin", json!({ "files": files, "bytes": bytes }));
            }
            Progress::File(name) => {
                self.bar.set_prefix(format!("{} of {} files", counts.files_done, counts.files));
                self.bar.set_message(name);
            }
            Progress::Had(bytes) | Progress::Hole(bytes) => {
                counts.done += bytes;
                self.bar.inc(bytes);
                self.bar.reset_eta();
            }
            Progress::Moved(bytes) => {
                counts.done += bytes;
                counts.moved += bytes;
                self.bar.inc(bytes);
            }
            Progress::Complete => counts.files_done += 1,
            Progress::Note(note) => {
                self.event("note", json!({ "text": note }));
                self.bar.suspend(|| eprintln!("{note}"));
            }
        }
        let is_last = self.counts.files > 0 && self.counts.files_done == self.counts.files;
        if is_last || self.shown.elapsed() >= EVERY {
            self.shown = Instant::now();
            self.line();
        }
    }

    /// Removes the bar; returns a line with the result, if it is to be printed.
    pub(super) fn end(&self, summary: &Summary) -> Option<String> {
        self.bar.finish_and_clear();
        let time = self.counts.begin.elapsed();
        self.event("end", members(summary, time));
        (self.form != Form::Json).then(|| sentence(summary, time))
    }

    fn line(&self) {
        match self.form {
            Form::Nothing | Form::Bar => {}
            Form::Lines => eprintln!("{}", self.counts.sentence()),
            Form::Json => self.event("progress", self.counts.json()),
        }
    }

    fn event(&self, name: &str, members: Value) {
        if self.form == Form::Json {
            event(name, &self.peer, members);
        }
    }
}

/// Removes the bar from the terminal.
impl Drop for Meter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Counts {
    /// Mean rate since the start, in bytes per second.
    fn rate(&self) -> f64 {
        self.moved as f64 / self.begin.elapsed().as_secs_f64().max(1e-3)
    }

    fn seconds_left(&self) -> Option<f64> {
        let left = self.bytes?.saturating_sub(self.done) as f64;
        let rate = self.rate();
        if left == 0.0 { Some(0.0) } else { (rate > 0.0).then(|| left / rate) }
    }

    /// Percentage of the transfer that is complete; 100 for a transfer of no bytes.
    fn percent(&self) -> Option<f64> {
        let bytes = self.bytes?;
        Some(if bytes == 0 { 100.0 } else { 100.0 * self.done as f64 / bytes as f64 })
    }

    fn sentence(&self) -> String {
        let mut text = format!("{} of {} files, {}", self.files_done, self.files, HumanBytes(self.done));
        if let (Some(bytes), Some(percent)) = (self.bytes, self.percent()) {
            text += &format!(" of {} ({}%)", HumanBytes(bytes), percent.floor());
        }
        text += &format!(", {}/s", HumanBytes(bytes_per_second(self.rate())));
        if let Some(seconds) = self.seconds_left() {
            text += &format!(", {seconds:.0} s left");
        }
        text
    }

    fn json(&self) -> Value {
        json!({
            "files_done": self.files_done,
            "files": self.files,
            "bytes_done": self.done,
            "bytes": self.bytes,
            "percent": self.percent(),
            "bytes_per_second": self.rate(),
            "seconds_left": self.seconds_left(),
        })
    }
}

/// Prints one event as a line of JSON.
pub(super) fn event(name: &str, peer: &str, members: Value) {
    let mut event = json!({ "event": name, "peer": peer });
    if let (Value::Object(event), Value::Object(members)) = (&mut event, members) {
        event.extend(members);
    }
    // The reader of the events may be gone; the transfer continues.
    let _ = output::json(&event, false);
}

/// Logs the end of a transfer.
pub(super) fn ended(peer: &impl Display, summary: &Summary, time: Duration) {
    let Summary { files, moved, had, .. } = *summary;
    tracing::info!(%peer, files, moved, had, seconds = time.as_secs_f64(), "transfer ended");
}

/// Reports a failure as an event, if events are wanted.
pub(super) fn failed(args: &TransferArgs, peer: &str, error: &impl Display) {
    if args.json {
        event("failed", peer, json!({ "error": format!("{error:#}") }));
    }
}

/// The members of the last event of a transfer.
pub(super) fn members(summary: &Summary, time: Duration) -> Value {
    let Summary { files, moved, had, counters } = summary;
    json!({ "files": files, "moved": moved, "had": had, "seconds": time.as_secs_f64(), "counters": counters })
}

/// The result of a transfer in one line.
pub(super) fn sentence(summary: &Summary, time: Duration) -> String {
    let Summary { files, moved, had, .. } = *summary;
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    let already = if had > 0 { format!(", {} already present", HumanBytes(had)) } else { String::new() };
    let rate = HumanBytes(bytes_per_second(moved as f64 / time.as_secs_f64().max(1e-3)));
    format!("{files}, {} in {:.1} s ({rate}/s){already}", HumanBytes(moved), time.as_secs_f64())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
fn bytes_per_second(rate: f64) -> u64 {
    rate as u64
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is valid")
}

/// Time between two lines.
const EVERY: Duration = Duration::from_secs(1);
