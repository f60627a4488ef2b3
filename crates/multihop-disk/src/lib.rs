//! Files that are whole after a loss of power, and that belong to this user.
//!
//! [`durable`] writes a file under a temporary name, brings it to the disk, and only then gives it its name: after a loss
//! of power there is the old file or the new one, never a part. [`own`] creates files under names that others can guess,
//! for example in a shared folder, and refuses links, pipes and files of other users.
//!
//! ```
//! use std::io::Write;
//! use multihop_disk::durable::NewFile;
//!
//! let path = std::env::temp_dir().join(format!("multihop-disk-{}", std::process::id()));
//! let (mut file, new) = NewFile::create(&path, 0o600)?;
//! file.write_all(b"results")?;
//! assert!(!path.exists(), "the file has a temporary name until it is complete");
//! new.keep()?;
//! assert_eq!(std::fs::read(&path)?, b"results");
//! std::fs::remove_file(&path)?;
//! # std::io::Result::Ok(())
//! ```
//!
//! A file that is dropped before [`keep`](durable::NewFile::keep) is deleted. The crate keeps no journal and no several
//! files in step: each file is whole by itself. It cannot protect data from a disk that reports a sync before it is done.

pub mod durable;
#[cfg(unix)]
pub mod own;
/// Files in folders to which other users may write. Without the owners of Unix the module only refuses what is no regular
/// file.
#[cfg(not(unix))]
#[path = "own_elsewhere.rs"]
pub mod own;
