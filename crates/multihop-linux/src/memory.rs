//! Memory of the running program.
#![expect(unsafe_code, reason = "nix's madvise is unsafe for all kinds of memory")]

use std::ffi::c_void;
use std::{fs, io, ptr};

use nix::libc;

/// Unmaps the program's code. The kernel maps a page of it again, from the file, when the code runs.
///
/// Daemons call this function after their start: the code that reads arguments and configurations then no longer counts as
/// resident memory, and the kernel can use its memory for others.
pub fn release_code() -> io::Result<()> {
    for (start, length) in fs::read_to_string("/proc/self/maps")?.lines().filter_map(code) {
        let start = ptr::with_exposed_provenance_mut::<c_void>(start);
        // SAFETY: the pages belong to a private mapping of a file that is executable and not writable. They have never
        // been written, so that the file has all of their bytes, and the kernel maps them again at the next access.
        if unsafe { libc::madvise(start, length, libc::MADV_DONTNEED) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Start and length of a mapping with code of a file, from a line of `/proc/self/maps`.
fn code(line: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let is_code = fields.next()? == "r-xp" && fields.nth(2)? != "0";
    let [start, end] = [start, end].map(|place| usize::from_str_radix(place, 16).ok());
    Some((start?, end?.checked_sub(start?)?)).filter(|_| is_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_files_is_released() {
        let text = "55d0c000-55d0d000 r-xp 00001000 fe:00 4711    /usr/bin/cat";
        assert_eq!(code(text), Some((0x55d0_c000, 0x1000)));
        assert_eq!(code(&text.replace("r-xp", "rw-p")), None, "data");
        assert_eq!(code("7ffd0000-7ffd2000 r-xp 00000000 00:00 0    [vdso]"), None, "no file");
        assert_eq!(code(""), None);
        release_code().unwrap();
        assert_eq!(code(text), Some((0x55d0_c000, 0x1000)), "the code still runs");
    }
}
