//! Claims of transfers to files of one receiver: at most one transfer writes a file. A transfer whose sender
//! has vanished still holds its claims. If the same sender tries again, the new transfer takes over the
//! files.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use multihop_net::PublicKey;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::message::FileEntry;
use super::names::Name;
use crate::frames::Heartbeat;

/// Identity of a sender. Transfers of one sender may replace each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sender {
    /// The peer that owns this key.
    Key(PublicKey),
    /// Any peer that has the token.
    Token,
    /// A host that has not proved its identity.
    Host(IpAddr),
}

/// The files that are being written.
#[derive(Default)]
pub(super) struct Claims(Mutex<BTreeMap<Name, Arc<Transfer>>>);

/// A transfer that may write files.
struct Transfer {
    sender: Sender,
    pulse: Arc<Heartbeat>,
    /// Notified when another transfer of the same sender has taken over the files.
    taken: Notify,
    /// Channel that is closed at the end of the transfer.
    end: watch::Receiver<()>,
}

/// A transfer's entry in the claims; all of its files are released at the end.
pub(super) struct Claim {
    claims: Arc<Claims>,
    transfer: Arc<Transfer>,
    /// Sender of the channel whose closing marks the end of the transfer for [`Transfer::end`].
    _end: watch::Sender<()>,
}

impl Claims {
    pub(super) fn enter(self: &Arc<Self>, sender: Sender, pulse: Arc<Heartbeat>) -> Claim {
        let (open, end) = watch::channel(());
        let transfer = Arc::new(Transfer { sender, pulse, taken: Notify::new(), end });
        Claim { claims: Arc::clone(self), transfer, _end: open }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Name, Arc<Transfer>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A running transfer that writes one of these files, with the file.
    fn rival<'a>(&self, entries: &'a [FileEntry]) -> Option<(&'a Name, Arc<Transfer>)> {
        let claims = self.lock();
        if claims.is_empty() {
            return None;
        }
        entries.iter().find_map(|entry| Some((&entry.name, Arc::clone(claims.get(&entry.name)?))))
    }
}

impl Claim {
    /// Ends transfers of the same sender that have received nothing for [`SILENCE`] and write one of these files. The
    /// error is a file that another transfer still writes.
    pub(super) async fn take_over<'a>(&self, entries: &'a [FileEntry]) -> Result<(), &'a Name> {
        while let Some((name, rival)) = self.claims.rival(entries) {
            if rival.sender != self.transfer.sender {
                return Err(name);
            }
            sleep(SILENCE.saturating_sub(rival.pulse.silence())).await;
            if self.claims.rival(entries).is_some_and(|(_, other)| Arc::ptr_eq(&other, &rival)) {
                if rival.pulse.silence() < SILENCE {
                    return Err(name);
                }
                rival.taken.notify_one();
                let mut end = rival.end.clone();
                // A closed channel is the end of the transfer.
                let _ = timeout(END_MAX, end.changed()).await.map_err(|_| name)?;
            }
        }
        Ok(())
    }

    /// Begins to write a file; false if another transfer is writing it.
    pub(super) fn add(&self, name: &Name) -> bool {
        let mut claims = self.claims.lock();
        let owner = claims.entry(name.clone()).or_insert_with(|| Arc::clone(&self.transfer));
        Arc::ptr_eq(owner, &self.transfer)
    }

    /// Releases the claim on a file, because it has its final name.
    pub(super) fn remove(&self, name: &Name) {
        let mut claims = self.claims.lock();
        if claims.get(name).is_some_and(|other| Arc::ptr_eq(other, &self.transfer)) {
            claims.remove(name);
        }
    }

    /// Waits until another transfer has taken over.
    pub(super) fn taken(&self) -> impl Future<Output = ()> + Send + use<> {
        let transfer = Arc::clone(&self.transfer);
        async move { transfer.taken.notified().await }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claims.lock().retain(|_, transfer| !Arc::ptr_eq(transfer, &self.transfer));
    }
}

/// Time without a message after which a sender counts as gone. A live sender transmits keepalives more often.
const SILENCE: Duration = Duration::from_secs(2);
/// Time after which a transfer is aborted once another one has taken over.
const END_MAX: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use tokio::io::duplex;
    use tokio::runtime::Builder;

    use super::super::message::EntryKind;
    use super::*;
    use crate::frames::FrameReader;

    #[test]
    fn only_a_silent_transfer_of_the_same_sender_is_taken_over() {
        let name = Name::parse(b"a").unwrap();
        let (kind, size) = (EntryKind::File, Some(0));
        let entries = [FileEntry { kind, mode: 0, modified: None, size, stored: 0, name: name.clone() }];
        let claims = Arc::<Claims>::default();
        let [one, two] = [1, 2].map(|n| Sender::Host([10, 0, 0, n].into()));
        Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
            // The first transfer waits for a sender that sends nothing.
            let (_silent, stream) = duplex(1);
            let mut reader = FrameReader::new(stream, Duration::from_secs(1000));
            let first = claims.enter(one, Arc::clone(reader.pulse()));
            assert!(first.add(&name));
            let waits = tokio::spawn(async move { reader.next().await.is_ok() });

            let other = claims.enter(two, Arc::new(Heartbeat::new()));
            assert_eq!(other.take_over(&entries).await, Err(&name));
            assert!(!other.add(&name));

            let again = claims.enter(one, Arc::new(Heartbeat::new()));
            let end = tokio::spawn(async move {
                first.taken().await;
                drop(first);
            });
            assert_eq!(again.take_over(&entries).await, Ok(()));
            assert!(again.add(&name));
            end.await.unwrap();

            // This end is busy, so the silence of the sender is unknown.
            let third = claims.enter(one, Arc::new(Heartbeat::new()));
            assert_eq!(third.take_over(&entries).await, Err(&name));
            waits.abort();
        });
    }
}
