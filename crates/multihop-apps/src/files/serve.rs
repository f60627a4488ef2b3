//! A receiver that serves many transfers.

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use multihop_net::{Listener, Stream};
use tokio::task::JoinSet;

use super::claims::{Claims, Sender};
use super::reading::{Hashes, Reader};
use super::receive::{Visit, receive_visit};
use super::turns::{Peer, Turns};
use super::{Error, Options, Progress, Summary, Target};

/// Receives the progress of one transfer.
pub type Watcher = Box<dyn FnMut(Progress) + Send>;

/// The end of one transfer at a server.
#[derive(Debug)]
pub struct Served {
    /// Address of the sender.
    pub from: SocketAddr,
    /// Duration of the transfer.
    pub time: Duration,
    /// Totals of the transfer, or the error that ended it.
    pub result: Result<Summary, Error>,
}

/// Receives transfers into a folder, several at a time. `begin` creates the watcher of a transfer from an
/// address. `end` receives the transfer's result, and decides whether to continue.
pub async fn serve(
    listener: &Listener,
    folder: &Path,
    options: Options,
    begin: impl Fn(SocketAddr) -> Watcher,
    mut end: impl FnMut(Served) -> ControlFlow<()>,
) -> io::Result<()> {
    let folder: PathBuf = folder.to_owned();
    let (claims, slots) = (Arc::new(Claims::default()), Turns::new(TRANSFERS));
    let hashes = Arc::<Hashes>::default();
    let mut transfers = JoinSet::new();
    loop {
        tokio::select! {
            stream = listener.accept() => {
                let mut stream = stream?;
                let from = stream.peer_addr();
                let (target, mut watcher) = (Target::Folder(folder.clone()), begin(from));
                let sender = sender(listener, &stream);
                let peer = Peer::new(stream.peer_key(), from.ip());
                let reader = Reader::new(Arc::clone(&hashes), peer);
                let (claims, slots) = (Arc::clone(&claims), Arc::clone(&slots));
                let visit = Visit { sender, peer, claims, reader, slots };
                transfers.spawn(async move {
                    let begin = Instant::now();
                    let received = receive_visit(&mut stream, target, options, &mut watcher, &visit).await;
                    let result = received.map(|summary| summary.with(&stream));
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

fn sender(listener: &Listener, stream: &Stream) -> Sender {
    match stream.peer_key() {
        Some(key) => Sender::Key(key),
        None if listener.is_plain() => Sender::Host(stream.peer_addr().ip()),
        None => Sender::Token,
    }
}

/// Largest number of simultaneous transfers. Others wait with their list; paused connections do not count.
const TRANSFERS: usize = 16;
