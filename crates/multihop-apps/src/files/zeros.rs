//! Holes of sparse files: zero bytes that are neither stored nor transferred.

use std::fs::File;
use std::io;

/// Next part of a file: a hole, then data.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Extent {
    /// Length of the hole, bytes.
    pub(super) hole: u64,
    /// Bytes of data after the hole.
    pub(super) data: u64,
}

/// The hole and the data that follow `at` in a file of `size` bytes. Leaves the position after the hole.
#[cfg(target_os = "linux")]
pub(super) fn next_extent(file: &File, at: u64, size: u64) -> io::Result<Extent> {
    use nix::errno::Errno;
    use nix::unistd::{Whence, lseek};
    let bound = |found: i64| u64::try_from(found).unwrap_or(0).clamp(at, size);
    let from = i64::try_from(at).map_err(io::Error::other)?;
    let begin = match lseek(file, from, Whence::SeekData) {
        Ok(found) => bound(found),
        // Only a hole follows.
        Err(Errno::ENXIO) => size,
        // Not every file system reports holes.
        Err(_) => return whole(file, at, size),
    };
    let end = match lseek(file, i64::try_from(begin).map_err(io::Error::other)?, Whence::SeekHole) {
        Ok(found) => bound(found).max(begin),
        Err(_) => size,
    };
    io::Seek::seek(&mut &*file, io::SeekFrom::Start(begin))?;
    Ok(Extent { hole: begin - at, data: end - begin })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn next_extent(file: &File, at: u64, size: u64) -> io::Result<Extent> {
    whole(file, at, size)
}

/// An extent without a hole: all following bytes are data.
fn whole(file: &File, at: u64, size: u64) -> io::Result<Extent> {
    io::Seek::seek(&mut &*file, io::SeekFrom::Start(at))?;
    Ok(Extent { hole: 0, data: size - at })
}

pub(super) static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn a_sparse_file_is_holes_and_data() {
        let file = tempfile::tempfile().unwrap();
        let size = 3 << 20;
        file.set_len(size).unwrap();
        file.write_all_at(b"data", 1 << 20).unwrap();
        let (mut at, mut data) = (0, 0);
        while at < size {
            let extent = next_extent(&file, at, size).unwrap();
            assert!(extent.hole + extent.data > 0, "{extent:?} at {at}");
            at += extent.hole + extent.data;
            data += extent.data;
        }
        assert_eq!(at, size);
        assert!((4..=size).contains(&data), "{data}");
    }
}
