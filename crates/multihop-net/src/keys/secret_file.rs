//! Secrets in separate files, which only their owner can read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use multihop_disk::durable;
use multihop_hub::{Identity, SharedKey, TextError};
use zeroize::Zeroizing;

use super::file::{in_file, invalid};

/// A secret that has a file of its own: an [`Identity`] or a [`SharedKey`].
pub trait SecretFile: Sized {
    /// Reads a file of [`save`](Self::save). A file that other users can read is rejected.
    fn load(path: &Path) -> io::Result<Self>;

    /// Writes the secret to a new file that no other user can read. An existing file is not overwritten.
    fn save(&self, path: &Path) -> io::Result<()>;
}

impl SecretFile for Identity {
    fn load(path: &Path) -> io::Result<Self> {
        read(path, "a private key", Self::from_text)
    }

    fn save(&self, path: &Path) -> io::Result<()> {
        write(path, &format!("Its public key: {}", self.public()), &self.to_text())
    }
}

impl SecretFile for SharedKey {
    fn load(path: &Path) -> io::Result<Self> {
        read(path, "a shared key", Self::from_text)
    }

    fn save(&self, path: &Path) -> io::Result<()> {
        write(path, "Copy it to the other end.", &self.to_text())
    }
}

fn read<T>(path: &Path, kind: &str, parse: fn(&str) -> Result<T, TextError>) -> io::Result<T> {
    let file = File::open(path).map_err(|error| in_file(path, &error))?;
    check_private(&file, path)?;
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_FILE).read_to_string(&mut text).map_err(|error| in_file(path, &error))?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let secret = parse(line.unwrap_or_default());
    secret.map_err(|error| invalid(format!("{}: not {kind}: {error}", path.display())))
}

fn write(path: &Path, note: &str, secret: &Zeroizing<String>) -> io::Result<()> {
    let text = Zeroizing::new(format!("# Keep this private. {note}\n{}\n", **secret));
    durable::write_new_private(path, text.as_bytes()).map_err(|error| in_file(path, &error))
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

/// Largest accepted length of a secret file, bytes: longer than any that `save` writes.
const MAX_FILE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
