//! Progress of a transfer: a bar on a terminal, nothing elsewhere.

use std::time::{Duration, Instant};

use indicatif::{HumanBytes, MultiProgress, ProgressBar, ProgressStyle};
use multihop_net::files::{Progress, Summary};

/// Shows one transfer on standard error.
pub(super) struct Bar {
    bar: ProgressBar,
    begin: Instant,
    quiet: bool,
}

impl Bar {
    /// A bar below the others, on standard error and only if that is a terminal.
    pub(super) fn new(bars: &MultiProgress, quiet: bool) -> Self {
        let bar = if quiet { ProgressBar::hidden() } else { bars.add(ProgressBar::no_length()) };
        let style = "{wide_msg} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta}";
        bar.set_style(ProgressStyle::with_template(style).expect("the template is valid"));
        Self { bar, begin: Instant::now(), quiet }
    }

    pub(super) fn show(&self, progress: Progress) {
        match progress {
            Progress::Begin { bytes: Some(bytes), .. } => self.bar.set_length(bytes),
            Progress::Begin { bytes: None, .. } => {}
            Progress::File(name) => self.bar.set_message(name),
            Progress::Had(bytes) | Progress::Hole(bytes) => {
                self.bar.inc(bytes);
                self.bar.reset_eta();
            }
            Progress::Moved(bytes) => self.bar.inc(bytes),
            Progress::Note(note) => self.bar.suspend(|| eprintln!("{note}")),
        }
    }

    /// Removes the bar; returns a line with the result.
    pub(super) fn end(&self, summary: &Summary) -> Option<String> {
        self.bar.finish_and_clear();
        (!self.quiet).then(|| sentence(summary, self.begin.elapsed()))
    }
}

/// Removes the bar.
impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The result of a transfer in one line.
pub(super) fn sentence(summary: &Summary, time: Duration) -> String {
    let Summary { files, moved, had } = *summary;
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    let already = if had > 0 { format!(", {} already present", HumanBytes(had)) } else { String::new() };
    let rate = u128::from(moved) * 1000 / time.as_millis().max(1);
    let rate = HumanBytes(rate.try_into().unwrap_or(u64::MAX));
    format!("{files}, {} in {:.1} s ({rate}/s){already}", HumanBytes(moved), time.as_secs_f64())
}
