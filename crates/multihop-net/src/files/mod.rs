//! Moves files and folders over a stream of bytes, and goes on where it was interrupted.
//!
//! The sender lists what it has; the receiver refuses what it cannot take, and says what it has
//! already; then come the files. Each lies under another name until its hash is right.

use std::io;
use std::time::Duration;

mod folder;
mod list;
mod message;
mod names;
mod place;
mod receive;
mod send;
mod serve;
mod talk;

#[cfg(fuzzing)]
pub(crate) use message::check;

pub use list::Sources;
pub use receive::{Target, receive};
pub use send::send;
pub use serve::{Done, Watcher, serve};

/// Why a transfer did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something on this host.
    #[error("{0}")]
    Here(String),
    /// The other end gave up, and this is what it says.
    #[error("the other end gave up: {0}")]
    There(String),
    /// The connection was lost.
    #[error("the connection is lost: {0}")]
    Stream(io::Error),
    /// The other end said something that makes no sense.
    #[error("the other end does not keep to the protocol: {0}")]
    Protocol(String),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Stream(error)
    }
}

/// How a transfer is to be done.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether files that are there may be replaced.
    pub overwrite: bool,
    /// Give up when nothing has moved for this time.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { overwrite: false, patience: Duration::from_secs(120) }
    }
}

/// How far a transfer is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Progress {
    /// It is known what there is to do: how many files, and bytes unless one has no known size.
    Begin {
        /// Files.
        files: u32,
        /// Bytes of all of them.
        bytes: Option<u64>,
    },
    /// A file begins.
    File(String),
    /// So many bytes more were there before.
    Had(u64),
    /// So many bytes more have been moved.
    Moved(u64),
    /// Something that a person may want to know.
    Note(String),
}

/// Takes what there is to tell.
pub type Report<'a> = &'a mut (dyn FnMut(Progress) + Send);

/// What has been done.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Summary {
    /// Files that are at the receiver now, whole.
    pub files: u32,
    /// Bytes that were moved for that.
    pub moved: u64,
    /// Bytes that were there before.
    pub had: u64,
}

impl Summary {
    /// Counts along.
    fn note(&mut self, progress: &Progress) {
        match progress {
            Progress::Had(n) => self.had += n,
            Progress::Moved(n) => self.moved += n,
            _ => {}
        }
    }
}
