//! Key pairs, their files and their text form.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use multihop_disk::durable;
use zeroize::Zeroizing;

use super::text::{self, TextError};
use crate::primitives;

/// The key pair of this host. `Debug` shows only the public key.
#[derive(Clone)]
pub struct Identity {
    secret: Zeroizing<[u8; KEY]>,
    public: PublicKey,
}

/// A secret that both ends have in addition to their key pairs. If somebody learns to break Curve25519, by a quantum
/// computer for example, what was recorded before stays secret.
#[derive(Clone)]
pub struct SharedKey(Zeroizing<[u8; KEY]>);

/// The public key of a peer: a point on Curve25519.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PublicKey([u8; KEY]);

impl Identity {
    /// A new key pair, from the system's random numbers.
    pub fn generate() -> io::Result<Self> {
        let mut secret = Zeroizing::new([0; KEY]);
        getrandom::fill(&mut secret[..])?;
        Ok(Self::from_secret(secret))
    }

    /// The key pair with this private key.
    pub fn from_secret(secret: impl Into<Zeroizing<[u8; KEY]>>) -> Self {
        let secret = secret.into();
        let mut pair = primitives::curve25519();
        pair.set(&secret[..]);
        let public = PublicKey(pair.pubkey().try_into().expect("32 bytes"));
        Self { secret, public }
    }

    /// The public key.
    pub const fn public(&self) -> PublicKey {
        self.public
    }

    pub(crate) fn secret(&self) -> &[u8; KEY] {
        &self.secret
    }

    /// Reads a file of [`save`](Self::save). A file that other users can read is rejected.
    pub fn load(path: &Path) -> io::Result<Self> {
        Ok(Self::from_secret(load(path, SECRET, "a private key")?))
    }

    /// Writes a new file that no other user can read. An existing file is not overwritten.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        save(path, &format!("Its public key: {}", self.public), &encode(&self.secret, SECRET))
    }
}

impl SharedKey {
    /// A new key, from the system's random numbers.
    pub fn generate() -> io::Result<Self> {
        let mut secret = Zeroizing::new([0; KEY]);
        getrandom::fill(&mut secret[..])?;
        Ok(Self(secret))
    }

    /// The key with these bytes.
    pub fn from_bytes(secret: [u8; KEY]) -> Self {
        Self(Zeroizing::new(secret))
    }

    /// Its bytes.
    pub fn psk(&self) -> Zeroizing<[u8; KEY]> {
        self.0.clone()
    }

    /// Reads a file of [`save`](Self::save). A file that other users can read is rejected.
    pub fn load(path: &Path) -> io::Result<Self> {
        load(path, SHARED, "a shared key").map(Self)
    }

    /// Writes a new file that no other user can read. An existing file is not overwritten.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        save(path, "Copy it to the other end.", &encode(&self.0, SHARED))
    }
}

fn load(path: &Path, prefix: &'static str, what: &str) -> io::Result<Zeroizing<[u8; KEY]>> {
    let file = File::open(path).map_err(|error| in_file(path, &error))?;
    check_private(&file, path)?;
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_FILE).read_to_string(&mut text).map_err(|error| in_file(path, &error))?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let secret = line.ok_or(TextError::Prefix(prefix)).and_then(|line| parse(line, prefix));
    secret.map_err(|error| invalid(format!("{}: not {what}: {error}", path.display())))
}

fn save(path: &Path, note: &str, secret: &Zeroizing<String>) -> io::Result<()> {
    let text = Zeroizing::new(format!("# Keep this private. {note}\n{}\n", **secret));
    durable::write_new_private(path, text.as_bytes()).map_err(|error| in_file(path, &error))
}

impl PublicKey {
    /// The key with these bytes.
    pub const fn from_bytes(bytes: [u8; KEY]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; KEY] {
        &self.0
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("public", &self.public).finish_non_exhaustive()
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey(..)")
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode(&self.0, PUBLIC))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        parse(text, PUBLIC).map(|key| Self(*key))
    }
}

/// The text of a key: prefix, key and check on one line.
fn encode(key: &[u8; KEY], prefix: &'static str) -> Zeroizing<String> {
    let mut bytes = Zeroizing::new([0; KEY + CHECK]);
    bytes[..KEY].copy_from_slice(key);
    bytes[KEY..].copy_from_slice(&text::check(prefix, key));
    let text = Zeroizing::new(text::encode(&bytes[..], LENGTH));
    Zeroizing::new(format!("{prefix}{}", *text))
}

fn parse(text: &str, prefix: &'static str) -> Result<Zeroizing<[u8; KEY]>, TextError> {
    let text = text.trim();
    let front = text.get(..prefix.len()).filter(|front| front.eq_ignore_ascii_case(prefix));
    let rest = front.map(|_| &text[prefix.len()..]).ok_or(TextError::Prefix(prefix))?;
    let bytes: Zeroizing<[u8; KEY + CHECK]> = Zeroizing::new(text::decode(rest, LENGTH)?);
    let (key, check) = bytes.split_first_chunk::<KEY>().expect("the key and the check");
    if *check == text::check(prefix, key) { Ok(Zeroizing::new(*key)) } else { Err(TextError::Check) }
}

/// Like ssh, rejects a private key that others can read.
#[cfg(unix)]
fn check_private(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata().map_err(|error| in_file(path, &error))?.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let name = path.display();
    let text =
        format!("{name}: other users can access this private key: mode {mode:04o}; run chmod 600 {name}");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
fn check_private(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn in_file(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

pub(super) fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

const KEY: usize = 32;
const CHECK: usize = 3;
/// Characters after the prefix.
const LENGTH: usize = (KEY + CHECK) * 8 / 5;
const PUBLIC: &str = "tpa-public-";
const SECRET: &str = "tpa-secret-";
const SHARED: &str = "tpa-shared-";
/// Longer than any file that `save` writes.
const MAX_FILE: u64 = 4096;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn public_half_is_that_of_rfc_7748() {
        // Section 5.2: k and u are 9, after one iteration.
        let hex = "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079";
        let public = std::array::from_fn(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap());
        let nine = Identity::from_secret(std::array::from_fn(|n| if n == 0 { 9 } else { 0 }));
        assert_eq!(nine.public(), PublicKey(public));
    }

    #[test]
    fn a_saved_identity_is_private_and_the_same_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("id");
        let identity = Identity::generate().unwrap();
        identity.save(&path).unwrap();
        assert_eq!(Identity::load(&path).unwrap().public(), identity.public());
        let again = Identity::generate().unwrap().save(&path).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(Identity::load(&path).unwrap().public(), identity.public());
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("id");
        Identity::generate().unwrap().save(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for mode in [0o644, 0o660, 0o604, 0o601] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = Identity::load(&path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            assert!(error.to_string().contains(&format!("chmod 600 {}", path.display())), "{error}");
        }
    }

    #[test]
    fn an_invalid_private_key_is_reported_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("id");
        assert!(Identity::load(&path).unwrap_err().to_string().contains("id: "));
        let public = Identity::generate().unwrap().public();
        durable::write_new_private(&path, public.to_string().as_bytes()).unwrap();
        let error = Identity::load(&path).unwrap_err();
        assert!(
            error.to_string().ends_with("not a private key: it does not begin with 'tpa-secret-'"),
            "{error}"
        );
    }

    #[test]
    fn a_shared_key_is_read_again_and_is_no_private_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("psk");
        let shared = SharedKey::generate().unwrap();
        shared.save(&path).unwrap();
        assert_eq!(SharedKey::load(&path).unwrap().psk(), shared.psk());
        let text = Identity::load(&path).unwrap_err().to_string();
        assert!(text.ends_with("not a private key: it does not begin with 'tpa-secret-'"), "{text}");
        assert_eq!(format!("{shared:?}"), "SharedKey(..)");
    }

    #[test]
    fn debug_shows_only_the_public_key() {
        let identity = Identity::from_secret([7; KEY]);
        let said = format!("{identity:?}");
        assert!(said.contains(&identity.public().to_string()));
        assert!(!said.contains(encode(&[7; KEY], SECRET).strip_prefix(SECRET).unwrap()));
        assert!(!said.contains("7, 7"));
    }

    proptest! {
        #[test]
        fn keys_survive_their_text(key: [u8; KEY]) {
            let key = PublicKey(key);
            prop_assert_eq!(key.to_string().parse(), Ok(key));
            prop_assert_eq!(key.to_string().to_uppercase().parse(), Ok(key));
        }

        #[test]
        fn a_mistyped_key_is_rejected(key: [u8; KEY], at in 11_usize..67, other in "[0-9a-hjkmnp-tv-z]") {
            let text = PublicKey(key).to_string();
            let mut wrong = text.clone();
            wrong.replace_range(at..=at, &other);
            // The check has 24 bits: about one wrong text in 16 million passes.
            prop_assert_eq!(wrong.parse::<PublicKey>().is_ok(), wrong == text);
        }
    }
}
