//! Hashing files for a peer. A request for a hash is cheap for the peer and expensive for this end. Hashing
//! therefore ends with the connection, has a bounded share of the processor, and reads an unchanged file only
//! once.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::Ipv4Addr;
use std::num::NonZero;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::turns::{Peer, Turns};
use super::zeros::{Extent, ZEROS, next_extent};

/// Hashes of unchanged files, shared by the transfers of one end.
#[derive(Debug)]
pub(super) struct Hashes {
    known: Mutex<BTreeMap<FileId, Known>>,
    turns: Arc<Turns>,
}

/// Device and inode of a file.
type FileId = (u64, u64);

/// Hash of a file that was read, with the version of its contents.
#[derive(Debug)]
struct Known {
    version: Version,
    hasher: blake3::Hasher,
}

/// Version of the contents of a file: size, and times of modification and change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Version(u64, [(i64, i64); 2]);

/// Peer for which files are hashed.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    hashes: Arc<Hashes>,
    peer: Peer,
}

/// Hashes files for one peer, until it is stopped.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    reader: Reader,
    stop: Stop,
}

/// Flag that is set when the result is no longer needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

/// Stops the work when it is dropped.
pub(super) struct StopOnDrop(pub(super) Stop);

impl Default for Hashes {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self { known: Mutex::default(), turns: Turns::new(processors.div_ceil(2)) }
    }
}

impl Hashes {
    /// The hash of the whole file; `None` unless it was read and has not changed since.
    fn find(&self, found: &Metadata) -> Option<blake3::Hasher> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(&(found.dev(), found.ino()))?;
        (known.version == Version::of(found)).then(|| known.hasher.clone())
    }

    /// Remembers the hash of a whole file that had this metadata before it was read.
    fn remember(&self, before: &Metadata, after: &Metadata, hasher: &blake3::Hasher) {
        let version = Version::of(before);
        if version != Version::of(after) || !is_settled(before) {
            return;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KNOWN {
            known.pop_first();
        }
        known.insert((before.dev(), before.ino()), Known { version, hasher: hasher.clone() });
    }
}

/// Whether the modification time is old enough that a later change of the file gets another one: file systems record
/// times coarsely.
fn is_settled(found: &Metadata) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let changed = Duration::from_secs(u64::try_from(found.ctime().max(found.mtime())).unwrap_or(0));
    now > changed + COARSE_CLOCK
}

impl Version {
    fn of(found: &Metadata) -> Self {
        let [modified, changed] = [(found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec())];
        Self(found.len(), [modified, changed])
    }
}

impl Reader {
    pub(super) fn new(hashes: Arc<Hashes>, peer: Peer) -> Self {
        Self { hashes, peer }
    }

    /// Reader for an end that has one peer.
    pub(super) fn of_one_peer() -> Self {
        Self::new(Arc::default(), Peer::new(None, Ipv4Addr::UNSPECIFIED.into()))
    }

    pub(super) fn until(&self, stop: Stop) -> Reading {
        Reading { reader: self.clone(), stop }
    }
}

impl Reading {
    /// The hash of the first `length` bytes; leaves the position after them.
    pub(super) fn hash(&self, file: &mut File, length: u64) -> io::Result<blake3::Hasher> {
        if length == 0 {
            return Ok(blake3::Hasher::new());
        }
        let before = file.metadata()?;
        if before.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let is_whole = before.len() == length;
        if let Some(hasher) = self.reader.hashes.find(&before).filter(|_| is_whole) {
            file.seek(SeekFrom::Start(length))?;
            return Ok(hasher);
        }
        let mut hasher = blake3::Hasher::new();
        let mut at = 0;
        while at < length {
            let Extent { hole, data } = next_extent(file, at, length)?;
            self.hash_zeros(&mut hasher, hole)?;
            self.hash_data(&mut hasher, file, data)?;
            at += hole + data;
        }
        file.seek(SeekFrom::Start(length))?;
        if is_whole {
            self.reader.hashes.remember(&before, &file.metadata()?, &hasher);
        }
        Ok(hasher)
    }

    /// Adds `length` zeros to a hash without reading them. BLAKE3 numbers its chunks, so that earlier results
    /// cannot be reused.
    pub(super) fn hash_zeros(&self, hasher: &mut blake3::Hasher, length: u64) -> io::Result<()> {
        self.in_pieces(length, |piece| {
            hasher.update(&ZEROS[..piece]);
            Ok(())
        })
    }

    fn hash_data(&self, hasher: &mut blake3::Hasher, file: &mut File, length: u64) -> io::Result<()> {
        let mut buffer = vec![0; ZEROS.len()];
        self.in_pieces(length, |piece| {
            let buffer = &mut buffer[..piece];
            file.read_exact(buffer)?;
            hasher.update(buffer);
            Ok(())
        })
    }

    /// Processes `length` bytes in pieces of at most 64 KiB, until it is stopped. Other peers are served in
    /// between.
    fn in_pieces(&self, length: u64, mut work: impl FnMut(usize) -> io::Result<()>) -> io::Result<()> {
        let mut left = length;
        while left > 0 {
            let _turn = self.reader.hashes.turns.take_blocking(self.reader.peer);
            let end = left.saturating_sub(TURN);
            while left > end {
                self.stop.check()?;
                let piece = usize::try_from(left - end).unwrap_or(usize::MAX).min(ZEROS.len());
                work(piece)?;
                left -= piece as u64;
            }
        }
        Ok(())
    }
}

impl Stop {
    fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::Relaxed) { Err(io::Error::other("the transfer has ended")) } else { Ok(()) }
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Number of bytes that are hashed before the next peer is served.
const TURN: u64 = 4 << 20;
/// Largest number of remembered files; each takes about 2 KiB.
const MAX_KNOWN: usize = 1024;
/// Assumed resolution of file times: two changes of a file within this time may have equal times.
const COARSE_CLOCK: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::FileExt;
    use std::sync::mpsc;

    use super::*;

    fn reading(hashes: &Arc<Hashes>) -> Reading {
        let peer = Peer::new(None, [10, 0, 0, 1].into());
        Reader::new(Arc::clone(hashes), peer).until(Stop::default())
    }

    #[test]
    fn holes_count_as_zeros() {
        let mut file = tempfile::tempfile().unwrap();
        let size = 20 << 20;
        file.set_len(size).unwrap();
        file.write_all_at(b"data", 9 << 20).unwrap();
        let mut contents = vec![0; size.try_into().unwrap()];
        file.read_exact_at(&mut contents, 0).unwrap();
        let reading = reading(&Arc::default());
        for length in [0, 1, 1024, 5 << 20, (9 << 20) + 2, (9 << 20) + 4, size - 1, size] {
            let hash = reading.hash(&mut file, length).unwrap().finalize();
            assert_eq!(hash, blake3::hash(&contents[..length.try_into().unwrap()]), "{length}");
            assert_eq!(file.stream_position().unwrap(), if length == 0 { 0 } else { length });
        }
        assert!(reading.hash(&mut file, size + 1).is_err());
    }

    #[test]
    fn an_unchanged_file_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one text").unwrap();
        let hashes = Arc::<Hashes>::default();
        let hash = || reading(&hashes).hash(&mut File::open(&path).unwrap(), 8).unwrap().finalize();
        // The newest change could have the same time as the next one.
        assert_eq!(hash(), blake3::hash(b"one text"));
        assert!(hashes.known.lock().unwrap().is_empty());
        let is_known = || hashes.find(&fs::metadata(&path).unwrap()).is_some();
        let mut waited = 0;
        while !is_known() {
            std::thread::sleep(Duration::from_millis(100));
            assert_eq!(hash(), blake3::hash(b"one text"));
            waited += 1;
            assert!(waited < 600, "it is never remembered");
        }
        assert_eq!(hash(), blake3::hash(b"one text"));
        File::options().write(true).open(&path).unwrap().write_all(b"two").unwrap();
        assert!(!is_known());
        assert_eq!(hash(), blake3::hash(b"two text"));
    }

    #[test]
    fn hashing_stops_when_nobody_waits() {
        let mut file = tempfile::tempfile().unwrap();
        if file.set_len(1 << 40).is_err() {
            println!("skipped: this file system has no files of 1 TiB");
            return;
        }
        let (reading, (ended, end)) = (reading(&Arc::default()), mpsc::channel());
        let stop = StopOnDrop(reading.stop.clone());
        std::thread::spawn(move || ended.send(reading.hash(&mut file, 1 << 40).map(drop)));
        drop(stop);
        let hashed = end.recv_timeout(Duration::from_secs(60)).expect("it has been stopped");
        assert!(hashed.is_err());
    }
}
