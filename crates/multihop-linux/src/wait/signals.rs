//! Signals that a program handles at a time of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};

use super::Doorbell;

/// Notes the newest of some signals of this process, instead of their usual effect, until it is dropped.
///
/// The signals are not blocked: programs that this process starts would inherit that.
#[derive(Debug, Default)]
pub struct Signals {
    /// The number of the newest signal; zero if there is none.
    newest: Arc<AtomicUsize>,
    handlers: Vec<SigId>,
}

impl Signals {
    /// Catches these signals from now on, so that they can be waited for.
    pub fn catch(signals: &[i32]) -> io::Result<Self> {
        let mut caught = Self::default();
        for &signal in signals {
            caught.handlers.push(flag::register_usize(signal, Arc::clone(&caught.newest), number(signal))?);
        }
        Ok(caught)
    }

    /// Catches SIGINT, SIGTERM and SIGHUP, which end a program.
    ///
    /// A SIGHUP that is ignored at the start, as under `nohup`, stays ignored.
    pub fn catch_ending() -> io::Result<Self> {
        let hang_up = (!is_ignored(SIGHUP)).then_some(SIGHUP);
        let signals: Vec<_> = [SIGINT, SIGTERM].into_iter().chain(hang_up).collect();
        Self::catch(&signals)
    }

    /// Catches these signals; each arrival is recorded and rings the doorbell.
    pub fn catch_and_ring(signals: &[i32], bell: &Doorbell) -> io::Result<Self> {
        let mut caught = Self::catch(signals)?;
        for &signal in signals {
            caught.handlers.push(low_level::pipe::register(signal, bell.outside()?)?);
        }
        Ok(caught)
    }

    /// Records a signal as if it had arrived.
    pub fn note(&self, signal: i32) {
        self.newest.store(number(signal), Ordering::Release);
    }

    /// The newest signal that has arrived.
    pub fn noted(&self) -> Option<i32> {
        signal(self.newest.load(Ordering::Acquire))
    }

    /// The newest signal that has arrived since the last call.
    pub fn take(&self) -> Option<i32> {
        signal(self.newest.swap(0, Ordering::AcqRel))
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            low_level::unregister(handler);
        }
    }
}

fn number(signal: i32) -> usize {
    usize::try_from(signal).expect("numbers of signals are positive")
}

fn signal(number: usize) -> Option<i32> {
    i32::try_from(number).ok().filter(|signal| *signal > 0)
}

/// Whether this process ignores a signal, by the mask that Linux shows.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
