//! The file of known peers: the keys by which an initiator recognises listeners, learnt at first contact.
//!
//! A key in this file gives its owner no right: who may connect is in the file of
//! [authorised keys](super::AuthorizedKeys).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use multihop_hub::{PeerKeys, PublicKey};

use super::file::{self, in_file};

/// The known listeners and their keys: a file like ssh's `known_hosts`.
///
/// A line is the name of a listener (host and port), a blank, and its public key. Empty lines and lines
/// that begin with `#` are ignored. Clones share their state.
#[derive(Clone, Debug)]
pub struct KnownPeers {
    path: Option<PathBuf>,
    is_strict: bool,
    lines: Arc<Mutex<Vec<Line>>>,
}

/// Result of the comparison of a peer's key with the known one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeyCheck {
    /// The key is the known one.
    Known,
    /// No key is known for the peer.
    New,
    /// The listener's key differs from the stored one.
    Changed {
        /// Line of the file, from 1.
        line: usize,
        /// Key that the file has for the peer.
        known: PublicKey,
    },
}

#[derive(Clone, Debug)]
struct Line {
    name: String,
    key: PublicKey,
    number: usize,
}

impl KnownPeers {
    /// No known peers; new ones are not stored on disk.
    pub fn in_memory() -> Self {
        Self { path: None, is_strict: false, lines: Arc::default() }
    }

    /// Reads the file; a missing file counts as empty.
    pub fn load(path: &Path) -> io::Result<Self> {
        let lines = file::load(path, parse)?;
        Ok(Self { path: Some(path.to_path_buf()), is_strict: false, lines: Arc::new(Mutex::new(lines)) })
    }

    /// Accepts only the peers in the file from now on: a first contact is refused.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { is_strict: true, ..self }
    }

    /// The names and keys, in the order of the file.
    pub fn entries(&self) -> Vec<(String, PublicKey)> {
        self.lines().iter().map(|line| (line.name.clone(), line.key)).collect()
    }

    /// Compares a key with that of the peer with this name.
    pub fn check(&self, name: &str, key: PublicKey) -> KeyCheck {
        let lines = self.lines();
        let of_name = || lines.iter().filter(|line| line.name == name);
        match of_name().next() {
            _ if of_name().any(|line| line.key == key) => KeyCheck::Known,
            Some(line) => KeyCheck::Changed { line: line.number, known: line.key },
            None => KeyCheck::New,
        }
    }

    /// The keys of the peer with this name.
    pub(crate) fn keys(&self, name: &str) -> Vec<PublicKey> {
        self.lines().iter().filter(|line| line.name == name).map(|line| line.key).collect()
    }

    /// Refuses a peer with an unknown name, if these peers are [strict](Self::strict).
    pub(crate) fn check_name(&self, name: &str) -> io::Result<()> {
        if !self.is_strict || !self.keys(name).is_empty() {
            return Ok(());
        }
        let text = format!(
            "the key of {name} is not known, and first contacts are refused: ask its owner for the key, then run \
             multihop keys add known {name} KEY"
        );
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    }

    /// Adds a new peer; returns whether it is new. A changed key is an error that names the place of the old one.
    pub fn remember(&self, name: &str, key: PublicKey) -> io::Result<bool> {
        match self.check(name, key) {
            KeyCheck::Known => return Ok(false),
            KeyCheck::Changed { line, known } => return Err(self.changed(name, key, line, known)),
            KeyCheck::New
                if name.is_empty() || name.contains(char::is_whitespace) || name.starts_with('#') =>
            {
                let text = format!("'{name}' is not a valid peer name, allowed: no blanks, no leading #");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            KeyCheck::New => {}
        }
        let number = match &self.path {
            Some(path) => {
                file::append(path, &format!("{name} {key}\n")).map_err(|error| in_file(path, &error))?
            }
            None => self.lines().len() + 1,
        };
        self.lines().push(Line { name: name.to_owned(), key, number });
        Ok(true)
    }

    /// Removes every key of the peer with this name; returns how many there were.
    pub fn forget(&self, name: &str) -> io::Result<usize> {
        let mut lines = self.lines();
        let numbers: Vec<_> = lines.iter().filter(|line| line.name == name).map(|line| line.number).collect();
        if let Some(path) = self.path.as_ref().filter(|_| !numbers.is_empty()) {
            file::remove(path, &numbers).map_err(|error| in_file(path, &error))?;
            *lines = file::load(path, parse)?;
        } else {
            lines.retain(|line| line.name != name);
        }
        Ok(numbers.len())
    }

    /// Name of the file for messages.
    pub(crate) fn file(&self) -> String {
        self.path.as_ref().map_or_else(|| "memory".to_owned(), |path| path.display().to_string())
    }

    /// The error that reports a changed key.
    pub fn changed(&self, name: &str, found: PublicKey, line: usize, known: PublicKey) -> io::Error {
        let file = self.file();
        let text = format!(
            "THE KEY OF {name} HAS CHANGED: it shows {found}, known is {known} ({file}, line {line}). Somebody \
             may be between you and the peer, or the peer has a new key. Ask its owner by other means; if the \
             key is new, remove line {line} of {file}"
        );
        io::Error::new(io::ErrorKind::PermissionDenied, text)
    }

    /// Locks the lines. A poisoned lock is safe to use, because only complete lines are added.
    fn lines(&self) -> MutexGuard<'_, Vec<Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PeerKeys for KnownPeers {
    /// Always returns false: a key learnt at first contact gives no right to connect.
    fn accept_caller(&self, _: PublicKey) -> bool {
        false
    }

    fn of_listener(&self, name: &str) -> Option<Vec<PublicKey>> {
        Some(self.keys(name)).filter(|keys| !keys.is_empty())
    }
}

fn parse(number: usize, line: &str) -> Result<Line, String> {
    let (name, key) = line.split_once(char::is_whitespace).ok_or("no key after the name")?;
    let key = key.trim().parse().map_err(|error| format!("not a public key: {error}"))?;
    Ok(Line { name: name.to_owned(), key, number })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn key(n: u8) -> PublicKey {
        PublicKey::from_bytes([n; 32])
    }

    #[test]
    fn a_first_contact_is_remembered_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/known_peers");
        let peers = KnownPeers::load(&path).unwrap();
        assert_eq!(peers.check("10.0.0.1:7000", key(1)), KeyCheck::New);
        assert!(peers.remember("10.0.0.1:7000", key(1)).unwrap());
        assert!(peers.remember("[fe80::1]:7000", key(2)).unwrap());
        assert!(!peers.remember("10.0.0.1:7000", key(1)).unwrap());
        let again = KnownPeers::load(&path).unwrap();
        for peers in [&peers, &again] {
            assert_eq!(peers.check("10.0.0.1:7000", key(1)), KeyCheck::Known);
            assert_eq!(peers.check("[fe80::1]:7000", key(1)), KeyCheck::Changed { line: 2, known: key(2) });
            assert_eq!(peers.check("10.0.0.1:7001", key(1)), KeyCheck::New);
        }
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
    }

    #[test]
    fn a_changed_key_is_rejected_with_file_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("known_peers");
        fs::write(&path, format!("# mine\n\n  10.0.0.1:7000\t{}", key(1))).unwrap();
        let peers = KnownPeers::load(&path).unwrap();
        let error = peers.remember("10.0.0.1:7000", key(2)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        let text = error.to_string();
        let place = format!("({}, line 3)", path.display());
        for part in ["THE KEY OF 10.0.0.1:7000 HAS CHANGED", &place, &key(1).to_string(), &key(2).to_string()]
        {
            assert!(text.contains(part), "{text}");
        }
        peers.remember("10.0.0.2:7000", key(2)).unwrap();
        assert_eq!(peers.check("10.0.0.2:7000", key(1)), KeyCheck::Changed { line: 4, known: key(2) });
        let again = KnownPeers::load(&path).unwrap();
        assert_eq!(again.check("10.0.0.2:7000", key(2)), KeyCheck::Known);
    }

    #[test]
    fn an_invalid_line_is_reported_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("known_peers");
        let problem = |text: &str| {
            fs::write(&path, text).unwrap();
            KnownPeers::load(&path).unwrap_err().to_string()
        };
        assert!(problem("# a\n10.0.0.1:7000\n").ends_with("line 2: no key after the name"));
        let wrong = problem("10.0.0.1:7000 ssh-rsa\n");
        assert!(wrong.ends_with("line 1: not a public key: it does not begin with 'tpa-public-'"), "{wrong}");
        let peers = KnownPeers::in_memory();
        assert_eq!(peers.remember("a b", key(1)).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn strict_peers_refuse_an_unknown_name() {
        let peers = KnownPeers::in_memory();
        peers.check_name("field.example:7450").unwrap();
        let peers = peers.strict();
        let text = peers.check_name("field.example:7450").unwrap_err().to_string();
        assert!(text.contains("the key of field.example:7450 is not known"), "{text}");
        peers.remember("field.example:7450", key(1)).unwrap();
        peers.check_name("field.example:7450").unwrap();
    }

    #[test]
    fn a_forgotten_peer_is_new_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("known_peers");
        fs::write(&path, format!("# mine\na:1 {}\nb:1 {}\na:1 {}\n", key(1), key(2), key(3))).unwrap();
        let peers = KnownPeers::load(&path).unwrap();
        assert_eq!(peers.forget("a:1").unwrap(), 2);
        assert_eq!(peers.forget("a:1").unwrap(), 0);
        assert_eq!(peers.check("a:1", key(1)), KeyCheck::New);
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("# mine\nb:1 {}\n", key(2)));
        assert_eq!(peers.check("b:1", key(1)), KeyCheck::Changed { line: 2, known: key(2) });
    }
}
