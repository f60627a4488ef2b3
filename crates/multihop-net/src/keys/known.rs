//! The file of known peers: trust on first use for initiators, an access list for listeners.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::identity::{PublicKey, in_file, invalid};

/// The known peers and their keys: a file like ssh's `known_hosts`.
///
/// A line is the name of a peer (its address and port), a blank, and its public key. Empty lines and lines
/// that begin with `#` are ignored. Clones share their state.
#[derive(Clone, Debug)]
pub struct KnownPeers {
    path: Option<PathBuf>,
    lines: Arc<Mutex<Vec<Line>>>,
}

/// How a peer's key compares with the known one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeyCheck {
    /// The key is the known one.
    Known,
    /// The peer is not known.
    New,
    /// The known key is another one.
    Changed {
        /// Line of the file, from 1.
        line: usize,
        /// The known key.
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
        Self { path: None, lines: Arc::default() }
    }

    /// Reads the file; a missing file counts as empty.
    pub fn load(path: &Path) -> io::Result<Self> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(in_file(path, &error)),
        };
        let lines = parse(&text)
            .map_err(|(line, problem)| invalid(format!("{}, line {line}: {problem}", path.display())))?;
        Ok(Self { path: Some(path.to_path_buf()), lines: Arc::new(Mutex::new(lines)) })
    }

    /// Whether no peer is known.
    pub fn is_empty(&self) -> bool {
        self.lines().is_empty()
    }

    /// Compares the key of the peer with this name.
    pub fn check(&self, name: &str, key: PublicKey) -> KeyCheck {
        let lines = self.lines();
        let of_name = || lines.iter().filter(|line| line.name == name);
        match of_name().next() {
            _ if of_name().any(|line| line.key == key) => KeyCheck::Known,
            Some(line) => KeyCheck::Changed { line: line.number, known: line.key },
            None => KeyCheck::New,
        }
    }

    /// Whether the key is in the file under any name: a listener's check, since initiators have any address.
    pub fn contains(&self, key: PublicKey) -> bool {
        self.lines().iter().any(|line| line.key == key)
    }

    /// Adds a new peer. A changed key is an error that names the place of the old one.
    pub fn remember(&self, name: &str, key: PublicKey) -> io::Result<()> {
        match self.check(name, key) {
            KeyCheck::Known => return Ok(()),
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
            Some(path) => append(path, &format!("{name} {key}\n")).map_err(|error| in_file(path, &error))?,
            None => self.lines().len() + 1,
        };
        self.lines().push(Line { name: name.to_owned(), key, number });
        Ok(())
    }

    /// The error for a changed key.
    pub fn changed(&self, name: &str, found: PublicKey, line: usize, known: PublicKey) -> io::Error {
        let file = self.path.as_ref().map_or_else(|| "memory".to_owned(), |path| path.display().to_string());
        let text = format!(
            "THE KEY OF {name} HAS CHANGED: it shows {found}, known is {known} ({file}, line {line}). Somebody \
             may be between you and the peer, or the peer has a new key. Ask its owner by other means; if the \
             key is new, remove line {line} of {file}"
        );
        io::Error::new(io::ErrorKind::PermissionDenied, text)
    }

    /// A poisoned lock is safe to use, because only complete lines are added.
    fn lines(&self) -> MutexGuard<'_, Vec<Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parse(text: &str) -> Result<Vec<Line>, (usize, String)> {
    let numbered = text.lines().enumerate().map(|(n, line)| (n + 1, line.trim()));
    let said = numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    said.map(|(number, line)| {
        let (name, key) =
            line.split_once(char::is_whitespace).ok_or((number, "no key after the name".to_owned()))?;
        let key = key.trim().parse().map_err(|error| (number, format!("not a public key: {error}")))?;
        Ok(Line { name: name.to_owned(), key, number })
    })
    .collect()
}

/// Adds a line to the file; returns its number.
fn append(path: &Path, line: &str) -> io::Result<usize> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let before = fs::read_to_string(path)?;
    // An editor may have left the last line without a line break.
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    file.write_all(format!("{gap}{line}").as_bytes())?;
    file.sync_all()?;
    Ok(before.lines().count() + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        peers.remember("10.0.0.1:7000", key(1)).unwrap();
        peers.remember("[fe80::1]:7000", key(2)).unwrap();
        peers.remember("10.0.0.1:7000", key(1)).unwrap();
        let again = KnownPeers::load(&path).unwrap();
        for peers in [&peers, &again] {
            assert_eq!(peers.check("10.0.0.1:7000", key(1)), KeyCheck::Known);
            assert_eq!(peers.check("[fe80::1]:7000", key(1)), KeyCheck::Changed { line: 2, known: key(2) });
            assert_eq!(peers.check("10.0.0.1:7001", key(1)), KeyCheck::New);
            assert!(peers.contains(key(2)) && !peers.contains(key(3)));
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

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String) {
            if let Ok(lines) = parse(&text) {
                prop_assert!(lines.len() <= text.lines().count());
            }
        }
    }
}
