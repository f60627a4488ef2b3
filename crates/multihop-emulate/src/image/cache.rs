//! Cache of unpacked images, bounded in bytes. Images that are in use, or were used last, remain.

use std::env;
use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::Image;
use super::layer::{Sizes, unpack};
use super::layout::Layout;

/// Opens an image, which is unpacked if the cache does not have it.
pub(super) fn open(layout: &Layout) -> io::Result<Image> {
    open_in(&folder()?, layout, MAX_BYTES)
}

fn open_in(cache: &Path, layout: &Layout, bound: u64) -> io::Result<Image> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(cache)?;
    // One process at a time unpacks and removes.
    let _turn = lock(cache, FlockArg::LockExclusive)?;
    let entry = cache.join(&layout.digest);
    if !entry.exists() {
        remove_partial(cache)?;
        let part = cache.join(format!("{}{PART}", layout.digest));
        fs::create_dir(&part)?;
        let mut sizes = Sizes::default();
        let root = part.join("root");
        fs::create_dir(&root)?;
        layout.layers.iter().try_for_each(|layer| unpack(layer, &root, &mut sizes))?;
        fs::write(part.join("bytes"), sizes.bytes.to_string())?;
        fs::rename(&part, &entry)?;
    }
    File::open(&entry)?.set_times(FileTimes::new().set_modified(SystemTime::now()))?;
    let used = lock(&entry, FlockArg::LockShared)?;
    shrink(cache, bound)?;
    Ok(Image { root: entry.join("root"), config: layout.config.clone(), _lock: Some(used) })
}

/// Removes what an interrupted process has unpacked.
fn remove_partial(cache: &Path) -> io::Result<()> {
    for entry in fs::read_dir(cache)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(PART) {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}

/// Removes the images that were not used for longest until the others have at most `bound` bytes.
fn shrink(cache: &Path, bound: u64) -> io::Result<()> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(cache)? {
        let entry = entry?;
        let bytes = fs::read_to_string(entry.path().join("bytes"));
        let bytes: u64 = bytes.ok().and_then(|text| text.parse().ok()).unwrap_or_default();
        entries.push((entry.metadata()?.modified()?, entry.path(), bytes));
    }
    entries.sort();
    let mut total: u64 = entries.iter().map(|entry| entry.2).sum();
    for (_, path, bytes) in entries {
        if total <= bound {
            break;
        }
        let file = File::open(&path)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(_unused) => {
                // An interrupted process leaves no image that lacks files. The name of a partial folder stays the same.
                let part = path.with_extension(PART.trim_start_matches('.'));
                fs::rename(&path, &part)?;
                fs::remove_dir_all(&part)?;
            }
            Err((_, Errno::EWOULDBLOCK)) => continue,
            Err((_, error)) => return Err(error.into()),
        }
        total -= bytes;
    }
    Ok(())
}

fn lock(folder: &Path, how: FlockArg) -> io::Result<Flock<File>> {
    Flock::lock(File::open(folder)?, how).map_err(|(_, error)| error.into())
}

/// Folder for the images of this user.
fn folder() -> io::Result<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    let cache =
        cache.ok_or_else(|| io::Error::other("an image needs the variable HOME or XDG_CACHE_HOME"))?;
    Ok(cache.join("multihop/images"))
}

/// End of the name of a folder that is not complete.
const PART: &str = ".part";
/// Bytes of unpacked images above which the cache removes some.
const MAX_BYTES: u64 = 4 << 30;

#[cfg(test)]
mod tests {
    use super::super::layout::Blob;
    use super::*;

    fn layout(folder: &Path, content: &str) -> Layout {
        use sha2::{Digest, Sha256};
        let tar = super::super::layer::tests::tar(&[("file", b'0', content.as_bytes(), "")]);
        let digest: String = Sha256::digest(&tar).iter().map(|byte| format!("{byte:02x}")).collect();
        let path = folder.join(&digest);
        fs::write(&path, tar).unwrap();
        Layout { digest: digest.clone(), layers: vec![Blob { path, digest }], config: Default::default() }
    }

    #[test]
    fn images_are_unpacked_once_and_the_oldest_unused_ones_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        let [old, new, next] =
            ["1".repeat(60), "2".repeat(60), "3".repeat(60)].map(|content| layout(folder.path(), &content));
        let first = open_in(&cache, &old, 130).unwrap();
        assert_eq!(fs::read_to_string(first.root.join("file")).unwrap(), "1".repeat(60));
        fs::write(first.root.join("mark"), "").unwrap();
        assert!(open_in(&cache, &old, 130).unwrap().root.join("mark").exists(), "unpacked again");
        let second = open_in(&cache, &new, 130).unwrap().root;
        let third = open_in(&cache, &next, 130).unwrap();
        assert!(first.root.exists() && third.root.exists(), "both are in use");
        assert!(!second.exists());
    }

    #[test]
    fn an_image_that_could_not_be_unpacked_leaves_no_entry() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        let mut damaged = layout(folder.path(), "x");
        damaged.layers[0].digest = "0".repeat(64);
        let error = open_in(&cache, &damaged, 100).unwrap_err();
        assert!(error.to_string().contains("damaged"), "{error}");
        assert!(!cache.join(&damaged.digest).exists());
        assert!(open_in(&cache, &layout(folder.path(), "y"), 100).is_ok());
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 1);
    }
}
