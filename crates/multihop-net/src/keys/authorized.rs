//! The file of authorised keys: the callers that a listener accepts.
//!
//! Only its owner adds keys to it. A key that an initiator learns at first contact is in another file, that of
//! [known peers](super::KnownPeers).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use multihop_hub::{PeerKeys, PublicKey};

use super::file::{self, in_file};

/// The keys of callers that a listener accepts: a file like ssh's `authorized_keys`.
///
/// A line is a public key and, after a blank, a note about its owner. Empty lines and lines that begin with `#`
/// are ignored. Clones share their state.
#[derive(Clone, Debug)]
pub struct AuthorizedKeys {
    path: Option<PathBuf>,
    lines: Arc<Mutex<Vec<Line>>>,
}

#[derive(Clone, Debug)]
struct Line {
    key: PublicKey,
    note: String,
    number: usize,
}

impl AuthorizedKeys {
    /// A list of these keys, without a file.
    pub fn in_memory(keys: impl IntoIterator<Item = PublicKey>) -> Self {
        let lines = keys.into_iter().map(|key| Line { key, note: String::new(), number: 0 }).collect();
        Self { path: None, lines: Arc::new(Mutex::new(lines)) }
    }

    /// Reads the file; a missing file counts as empty.
    pub fn load(path: &Path) -> io::Result<Self> {
        let lines = file::load(path, parse)?;
        Ok(Self { path: Some(path.to_path_buf()), lines: Arc::new(Mutex::new(lines)) })
    }

    /// Whether no key is authorised.
    pub fn is_empty(&self) -> bool {
        self.lines().is_empty()
    }

    /// Whether this key is authorised.
    pub fn contains(&self, key: PublicKey) -> bool {
        self.lines().iter().any(|line| line.key == key)
    }

    /// The keys and their notes, in the order of the file.
    pub fn entries(&self) -> Vec<(PublicKey, String)> {
        self.lines().iter().map(|line| (line.key, line.note.clone())).collect()
    }

    /// Authorises a key; a note helps its owner to recognise it. Returns whether the key is new.
    pub fn add(&self, key: PublicKey, note: &str) -> io::Result<bool> {
        if note.contains(char::is_control) {
            let text = "the note contains control characters";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if self.contains(key) {
            return Ok(false);
        }
        let line = format!("{key} {note}");
        let number = match &self.path {
            Some(path) => file::append(path, &format!("{}\n", line.trim_end()))
                .map_err(|error| in_file(path, &error))?,
            None => 0,
        };
        self.lines().push(Line { key, note: note.to_owned(), number });
        Ok(true)
    }

    /// Removes the entries with this key or this note; returns how many there were.
    pub fn remove(&self, wanted: &str) -> io::Result<usize> {
        let key = wanted.parse().ok();
        let is_wanted = |line: &Line| Some(line.key) == key || (!wanted.is_empty() && line.note == wanted);
        let mut lines = self.lines();
        let numbers: Vec<_> = lines.iter().filter(|line| is_wanted(line)).map(|line| line.number).collect();
        if let Some(path) = self.path.as_ref().filter(|_| !numbers.is_empty()) {
            file::remove(path, &numbers).map_err(|error| in_file(path, &error))?;
            *lines = file::load(path, parse)?;
        } else {
            lines.retain(|line| !is_wanted(line));
        }
        Ok(numbers.len())
    }

    /// Locks the lines. A poisoned lock is safe to use, because only complete lines are added.
    fn lines(&self) -> MutexGuard<'_, Vec<Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PeerKeys for AuthorizedKeys {
    fn accept_caller(&self, key: PublicKey) -> bool {
        self.contains(key)
    }

    /// Returns `None`: keys of callers are not keys of listeners.
    fn of_listener(&self, _: &str) -> Option<Vec<PublicKey>> {
        Some(Vec::new())
    }
}

fn parse(number: usize, line: &str) -> Result<Line, String> {
    let (key, note) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let key = key.parse().map_err(|error| format!("not a public key: {error}"))?;
    Ok(Line { key, note: note.trim().to_owned(), number })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn key(n: u8) -> PublicKey {
        PublicKey::from_bytes([n; 32])
    }

    #[test]
    fn keys_are_added_and_removed_by_key_or_note() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/authorized_keys");
        let keys = AuthorizedKeys::load(&path).unwrap();
        assert!(keys.is_empty());
        for (n, note) in [(1, "alice"), (2, "bob of the field team"), (3, "")] {
            assert!(keys.add(key(n), note).unwrap());
            assert!(!keys.add(key(n), "again").unwrap());
        }
        assert!(keys.add(key(4), "two\nlines").is_err());
        assert_eq!(keys.remove("bob of the field team").unwrap(), 1);
        assert_eq!(keys.remove(&key(3).to_string()).unwrap(), 1);
        assert_eq!(keys.remove("").unwrap(), 0, "an empty note is no name");
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{} alice\n", key(1)));
        for keys in [keys, AuthorizedKeys::load(&path).unwrap()] {
            assert_eq!(keys.entries(), [(key(1), "alice".to_owned())]);
            assert!(keys.contains(key(1)) && !keys.contains(key(2)));
        }
    }

    #[test]
    fn an_invalid_line_is_reported_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("authorized_keys");
        fs::write(&path, format!("{}\n10.0.0.1:7000 {}\n", key(1), key(2))).unwrap();
        let text = AuthorizedKeys::load(&path).unwrap_err().to_string();
        assert!(text.contains("authorized_keys, line 2: not a public key: "), "{text}");
    }
}
