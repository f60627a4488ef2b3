//! Progress of a command: a bar on a terminal, plain lines elsewhere, nothing for short work.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Shows the finished share of the work, on standard error.
pub(crate) struct ProgressDisplay {
    what: String,
    begin: Instant,
    bar: Option<ProgressBar>,
    /// Tenths that have been printed.
    tenths: u8,
}

impl ProgressDisplay {
    /// Starts the clock.
    pub(crate) fn new(what: &str) -> Self {
        Self { what: what.to_owned(), begin: Instant::now(), bar: None, tenths: 0 }
    }

    /// Shows that this share of the work is done, from 0 to 1.
    pub(crate) fn show(&mut self, share: f64) {
        if self.begin.elapsed() < PATIENCE {
            return;
        }
        if std::io::stderr().is_terminal() {
            self.bar.get_or_insert_with(|| bar(&self.what)).set_position(per_mille(share));
        } else if let Ok(tenths) = u8::try_from(per_mille(share) / 100)
            && tenths > self.tenths
        {
            self.tenths = tenths;
            eprintln!("{}: {}0%", self.what, tenths);
        }
    }
}

/// Removes the bar.
impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:40}] {percent}% {eta}");
    let bar = ProgressBar::new(1000).with_message(what.to_owned());
    bar.set_style(style.expect("the template is valid").progress_chars("=> "));
    bar
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
fn per_mille(share: f64) -> u64 {
    (share * 1000.0) as u64
}

/// Work that takes less time shows no progress.
const PATIENCE: Duration = Duration::from_secs(2);
