//! One file to all nodes of a group, over multicast or broadcast.
//!
//! The protocol is that of [`multihop_spread`]; here are its sockets, its protection and its files.

mod disk;
mod driver;
mod envelope;
mod sockets;
mod worker;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use multihop_net::{Identity, PublicKey, SharedKey};
use multihop_spread::{Config, Header, SYMBOL, SYMBOLS, manifest};

use disk::{Disk, Inbox};
use driver::Driver;
pub use envelope::Refused;
#[cfg(fuzzing)]
pub(crate) use envelope::check;

/// A member of a group.
pub struct Member {
    /// Key pair of this host; its private key signs offers.
    pub identity: Identity,
    /// Key of the group.
    pub shared: SharedKey,
    /// Multicast or broadcast address and port of the group.
    pub group: SocketAddr,
    /// Interfaces over which this member sends and receives; empty for the one that the system selects.
    pub interfaces: Vec<String>,
    /// Name in reports, for people.
    pub name: String,
}

/// Progress of a receiver, at the source.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Progress {
    /// Name of the receiver.
    pub name: String,
    /// Leading blocks that the receiver has.
    pub blocks: u32,
    /// Blocks of the file.
    pub of: u32,
    /// Whether the receiver has verified and stored the file.
    pub is_complete: bool,
    /// Whether the receiver does not take the file.
    pub has_refused: bool,
}

/// A file that has arrived.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Received {
    /// Name of the file.
    pub name: String,
    /// Size of the file, bytes.
    pub size: u64,
    /// Key of the sender.
    pub from: PublicKey,
}

/// Reason why a transfer to a group has failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Sockets or files of this host.
    #[error(transparent)]
    Here(#[from] std::io::Error),
    /// The file cannot be sent.
    #[error(transparent)]
    Header(#[from] multihop_spread::InvalidHeader),
    /// Receivers have not made progress for the sender's patience.
    #[error("{} of {known} receivers have not stored the file: {}", missing.len(), missing.join(", "))]
    Missing {
        /// Number of known receivers.
        known: usize,
        /// Names of the receivers that lack the file.
        missing: Vec<String>,
    },
    /// No receiver has answered.
    #[error(
        "no receiver of the group has answered; they run multihop recv --group with the same --shared-key"
    )]
    Alone,
}

/// Sends a file to all members; ends when all known receivers, and at least `expect`, have stored it. `report` gets the
/// progress of the receivers once a second.
pub async fn send(
    member: &Member,
    path: &Path,
    expect: usize,
    patience: Duration,
    mut report: impl FnMut(&[Progress]),
) -> Result<Vec<Progress>, Error> {
    let file = std::fs::File::open(path)?;
    let size = file.metadata()?.len();
    let hashed = tokio::task::spawn_blocking(move || {
        manifest(std::io::BufReader::new(&file), SYMBOL, SYMBOLS).map(|hashes| (file, hashes))
    });
    let (file, (list, sha256, hash)) = hashed.await.map_err(std::io::Error::other)??;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let source = *member.identity.public().as_bytes();
    let header = Header { name, size, sha256, manifest: hash, symbol: SYMBOL, symbols: SYMBOLS, source };
    let header = header.check()?;
    let signature = member.identity.sign(&signed(&header.emit()));
    let config = Config { expect, ..config(member) };
    let disk = Disk::source(header.clone(), file);
    let mut driver = Driver::new(member, config, disk, Box::new(|_| false))?;
    let transfer = header.id();
    driver.offer(header, signature, list);
    let (mut before, mut progress_at) = (Vec::new(), tokio::time::Instant::now());
    loop {
        let news = driver.run(REPORT_INTERVAL).await?;
        let now = driver.progress(transfer);
        if now != before {
            progress_at = tokio::time::Instant::now();
        }
        report(&now);
        if news.is_done {
            // The last confirmations leave.
            driver.run(LINGER_TIME).await?;
            return Ok(now);
        }
        if progress_at.elapsed() >= patience {
            let missing = now.iter().filter(|one| !one.is_complete).map(|one| one.name.clone()).collect();
            return Err(if now.is_empty() {
                Error::Alone
            } else {
                Error::Missing { known: now.len(), missing }
            });
        }
        before = now;
    }
}

/// Receives files of authorised senders into a folder, relays and repairs, until `received` returns false or the future is
/// dropped. A file that exists with other contents is replaced only with `overwrite`.
pub async fn receive(
    member: &Member,
    folder: &Path,
    overwrite: bool,
    accepts: Box<dyn Fn(PublicKey) -> bool + Send>,
    mut opened: impl FnMut() -> std::io::Result<()>,
    mut received: impl FnMut(Result<Received, String>, Refused) -> bool,
) -> Result<(), Error> {
    let disk = Disk::inbox(Inbox::new(folder, overwrite));
    let mut driver = Driver::new(member, config(member), disk, accepts)?;
    opened()?;
    loop {
        let news = driver.run(REPORT_INTERVAL).await?;
        for result in news.received {
            if !received(result, driver.refused()) {
                // The last report leaves, and neighbours get repairs.
                driver.run(LAST_REPORT).await?;
                return Ok(());
            }
        }
    }
}

/// Name of this host, for reports.
pub fn host_name() -> String {
    nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn config(member: &Member) -> Config {
    let receiver = u64::from_be_bytes(*member.identity.public().as_bytes().first_chunk().expect("32 bytes"));
    Config::new(receiver, &member.name)
}

/// The message that a source signs for a header.
fn signed(header: &[u8]) -> Vec<u8> {
    [LABEL, header].concat()
}

/// Separates the signatures of headers from others.
const LABEL: &[u8] = b"multihop spread header 1";
/// UDP port of groups.
pub const PORT: u16 = 7457;
/// Multicast address of groups: organisation-local scope of RFC 2365.
pub const GROUP: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(239, 192, 74, 57)), PORT);
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Time for the last confirmations to leave after the transfer.
const LINGER_TIME: Duration = Duration::from_millis(1500);
const LAST_REPORT: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::task::JoinHandle;

    use super::*;

    fn member(name: &str, key: u8, port: u16) -> Member {
        let group = SocketAddr::new(GROUP.ip(), port);
        let interfaces = if cfg!(target_os = "linux") { vec!["lo".to_owned()] } else { Vec::new() };
        let (identity, shared) = (Identity::from_secret([key; 32]), SharedKey::from_bytes([9; 32]));
        Member { identity, shared, group, interfaces, name: name.to_owned() }
    }

    /// A receiver that ends after its first file.
    fn receiver(key: u8, port: u16, folder: &Path) -> JoinHandle<(Result<Received, String>, Refused)> {
        let folder = folder.to_owned();
        tokio::spawn(async move {
            let source = Identity::from_secret([1; 32]).public();
            let (sender, results) = mpsc::channel();
            let received = |result, refused| {
                sender.send((result, refused)).unwrap();
                false
            };
            let accepts = Box::new(move |key| key == source);
            let member = member(&format!("node {key}"), key, port);
            receive(&member, &folder, false, accepts, || Ok(()), received).await.unwrap();
            results.recv().unwrap()
        })
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_file_reaches_all_members_although_one_is_killed_and_datagrams_are_forged() {
        let port = 7457 + u16::try_from(std::process::id() % 1000).unwrap();
        let folders: Vec<_> = (0..4).map(|_| tempfile::tempdir().unwrap()).collect();
        let file: Vec<u8> =
            (0..600_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect();
        let path = folders[0].path().join("map");
        std::fs::write(&path, &file).unwrap();
        let mut receivers: Vec<_> =
            (1..4).map(|n| receiver(n + 1, port, folders[usize::from(n)].path())).collect();
        let sending = tokio::spawn(async move {
            send(&member("post", 1, port), &path, 3, Duration::from_secs(60), |_| ()).await
        });
        // Forged datagrams: noise, and an offer of a member that is not authorised.
        let forger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let lo = Ipv4Addr::LOCALHOST;
        socket2::SockRef::from(&forger).set_multicast_if_v4(&lo).unwrap();
        let IpAddr::V4(group) = GROUP.ip() else { panic!() };
        // A killed receiver resumes with what it has.
        let part = || std::fs::read_dir(folders[3].path()).unwrap().count() > 0;
        while !part() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // The source waits for three receivers, so that all of them have joined the group.
        for _ in 0..20 {
            forger.send_to(&[1; 200], (group, port)).unwrap();
        }
        receivers[2].abort();
        assert!(!folders[3].path().join("map").exists());
        receivers[2] = receiver(4, port, folders[3].path());
        let progress = sending.await.unwrap().unwrap();
        assert_eq!(progress.iter().filter(|one| one.is_complete).count(), 3, "{progress:?}");
        let mut forged = 0;
        for (n, receiver) in receivers.into_iter().enumerate() {
            let (result, refused) = receiver.await.unwrap();
            assert_eq!(result.unwrap().size, 600_000);
            forged += refused.forged;
            let names: Vec<_> = std::fs::read_dir(folders[n + 1].path())
                .unwrap()
                .flatten()
                .map(|one| one.file_name())
                .collect();
            assert_eq!(names, ["map"]);
            assert!(std::fs::read(folders[n + 1].path().join("map")).unwrap() == file);
        }
        assert!(forged >= 20, "{forged} forged datagrams were counted");
    }

    #[tokio::test]
    async fn a_sender_without_receivers_gives_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map");
        std::fs::write(&path, "text").unwrap();
        let port = 8500 + u16::try_from(std::process::id() % 1000).unwrap();
        let sent = send(&member("post", 1, port), &path, 1, Duration::from_secs(1), |_| ()).await;
        assert!(matches!(sent, Err(Error::Alone)), "{sent:?}");
    }
}
