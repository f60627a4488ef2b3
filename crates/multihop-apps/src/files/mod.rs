//! Transfers files and folders over a byte stream, and resumes interrupted transfers.
//!
//! The sender lists its files. The receiver refuses entries that it cannot store, and reports the data that
//! it already has. Then the files follow. Each file has a temporary name until its hash is verified.

use std::io;
use std::time::Duration;

use multihop_net::{DeclaredCounters, Stream};

mod batch;
mod claims;
mod folder;
mod lasting;
mod list;
mod message;
mod names;
mod place;
mod reading;
mod receive;
mod send;
mod serve;
mod talk;
mod turns;
mod unsynced;
mod zeros;

#[cfg(fuzzing)]
pub(crate) use message::check;

pub use lasting::{dial_within, send_lasting, send_over};
pub use list::{Sources, SymbolicLinks};
pub use receive::{Target, receive};
pub use send::send;
pub use serve::{Served, Watcher, serve};

/// Reason for which a transfer failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A problem on this host, described in words.
    #[error("{0}")]
    Here(String),
    /// The peer gave up for this reason.
    #[error("the peer gave up: {0}")]
    There(String),
    /// Error of a connection that was lost.
    #[error("connection lost: {0}")]
    Stream(io::Error),
    /// The peer violated the protocol.
    #[error("protocol error of the peer: {0}")]
    Protocol(String),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Stream(error)
    }
}

/// Options of a transfer.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether existing files may be replaced.
    pub overwrite: bool,
    /// Time without any message from the peer after which this end gives up. The peer learns this time, and
    /// sends messages more often.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { overwrite: false, patience: Duration::from_secs(120) }
    }
}

/// Progress of a transfer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Progress {
    /// The size of the transfer is known.
    Begin {
        /// Number of files in the transfer.
        files: u32,
        /// Bytes of all files; `None` if the size of one is unknown.
        bytes: Option<u64>,
    },
    /// The transfer of this file begins.
    File(String),
    /// This number of further bytes was present before the transfer.
    Had(u64),
    /// This number of further bytes was transferred.
    Moved(u64),
    /// This number of further bytes is a hole of a sparse file, which is not transferred.
    Hole(u64),
    /// The file is complete at the receiver, or fully sent at the sender.
    Complete,
    /// A text for the user, for example about a skipped file.
    Note(String),
}

/// Receives the progress of a transfer while it runs.
pub type Report<'a> = &'a mut (dyn FnMut(Progress) + Send);

/// The result of a transfer.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Summary {
    /// Number of complete files at the receiver.
    pub files: u32,
    /// Bytes of contents that were transferred.
    pub moved: u64,
    /// Number of bytes that the receiver had before the transfer.
    pub had: u64,
    /// Counters that the transport declares: sums over all connections of the transfer. Empty for a stream of the caller.
    pub counters: DeclaredCounters,
}

impl Summary {
    /// Adds a step of progress to the totals.
    fn note(&mut self, progress: &Progress) {
        match progress {
            Progress::Had(n) => self.had += n,
            Progress::Moved(n) => self.moved += n,
            _ => {}
        }
    }

    /// Adds the counters of a connection's transport.
    #[must_use]
    pub fn with(mut self, connection: &Stream) -> Self {
        for (name, count) in connection.stats().declared {
            *self.counters.entry(name).or_default() += count;
        }
        self
    }
}
