//! A receiver that serves many transfers.

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::{Error, Options, Progress, Summary, Target, receive};
use crate::listener::TpaListener;

/// Receives the progress of one transfer.
pub type Watcher = Box<dyn FnMut(Progress) + Send>;

/// The end of a transfer.
#[derive(Debug)]
pub struct Served {
    /// The sender's address.
    pub from: SocketAddr,
    /// Its duration.
    pub time: Duration,
    /// Its result.
    pub result: Result<Summary, Error>,
}

/// Receives transfers into a folder, several at a time. `begin` makes the watcher of a transfer from an address;
/// `end` gets its result, and decides whether to go on.
pub async fn serve(
    listener: &TpaListener,
    folder: &Path,
    options: Options,
    begin: impl Fn(SocketAddr) -> Watcher,
    mut end: impl FnMut(Served) -> ControlFlow<()>,
) -> io::Result<()> {
    let folder: PathBuf = folder.to_owned();
    let mut transfers = JoinSet::new();
    loop {
        tokio::select! {
            stream = listener.accept(), if transfers.len() < TRANSFERS => {
                let stream = stream?;
                let from = stream.peer_addr();
                let (target, mut watcher) = (Target::Folder(folder.clone()), begin(from));
                transfers.spawn(async move {
                    let begin = Instant::now();
                    let result = receive(stream, target, options, &mut watcher).await;
                    Served { from, time: begin.elapsed(), result }
                });
            }
            Some(done) = transfers.join_next() => {
                let Ok(done) = done else { continue };
                if end(done).is_break() {
                    return Ok(());
                }
            }
        }
    }
}

/// Transfers at a time; others wait to be accepted.
const TRANSFERS: usize = 16;
