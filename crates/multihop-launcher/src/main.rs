//! The command `multihop` of the wheel: a program of a few kilobytes that runs the command's code in the extension
//! module `_core.abi3.so`.
//!
//! The wheel thus has the simulator, the protocols and the command once. The process is one without Python: the
//! build of the wheel makes Python's symbols in the module weak, so that the module also loads where they are missing.
//!
//! The program uses neither Rust's runtime nor, in the profile `launcher`, its library, which would be many times as
//! large as this code. Of what the runtime prepares, the command needs two things: a closed pipe is an error of a write
//! and not a signal, and standard input, output and error are open.
#![no_main]
#![cfg_attr(panic = "abort", no_std)]
#![expect(unsafe_code, reason = "functions of the C library load the module")]

use core::ffi::{CStr, c_char, c_int, c_void};

use libc::{
    AT_SECURE, F_GETFD, O_RDWR, PATH_MAX, RTLD_LOCAL, RTLD_NOW, SIG_IGN, SIGPIPE, STDERR_FILENO,
    STDIN_FILENO, STDOUT_FILENO,
};
use multihop_launcher::Command;

/// Module of the package, relative to the package's folder.
const MODULE: &[u8] = b"/_core.abi3.so\0";
/// Exit code of shells for a command that cannot run.
const CANNOT_RUN: c_int = 126;

/// Begins the process, as the C library calls it.
#[unsafe(no_mangle)]
extern "C" fn main(argc: c_int, argv: *const *const c_char) -> c_int {
    // SAFETY: the function reads a number that the kernel has passed to the process.
    if unsafe { libc::getauxval(AT_SECURE) } != 0 {
        // Whoever links this program into a folder of their own would choose the module that gets the rights.
        return fail(c"has rights of its own (setuid or setcap), and loads its code from a folder", c"");
    }
    // SAFETY: SIGPIPE is a signal, and SIG_IGN needs no handler.
    unsafe { libc::signal(SIGPIPE, SIG_IGN) };
    if !open_missing_streams() {
        return fail(c"cannot open /dev/null in place of a closed standard stream", c"");
    }
    let mut path = [0; PATH_MAX as usize];
    if !find_module(&mut path) {
        return fail(c"cannot find its module: /proc/self/exe", c"");
    }
    // SAFETY: `find_module` ends the path with a zero.
    let module = unsafe { libc::dlopen(path.as_ptr().cast(), RTLD_NOW | RTLD_LOCAL) };
    if module.is_null() {
        return fail_to_load();
    }
    // SAFETY: the handle is one of `dlopen`, the name ends with a zero.
    let command = unsafe { libc::dlsym(module, c"multihop_main".as_ptr()) };
    if command.is_null() {
        return fail_to_load();
    }
    // SAFETY: the module declares `multihop_main` with this type, and the arguments are those of the process.
    unsafe { core::mem::transmute::<*mut c_void, Command>(command)(argc, argv) }
}

/// Opens /dev/null as each of standard input, output and error with which the process did not begin. A file that the
/// command opens would otherwise get the number of that stream, and the messages of the command. Returns whether all
/// three are open.
fn open_missing_streams() -> bool {
    [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].into_iter().all(|stream| {
        // SAFETY: the function reads the flags of a number, which need not be that of a file.
        let is_open = unsafe { libc::fcntl(stream, F_GETFD) } >= 0;
        // SAFETY: the path ends with a zero. The file gets the lowest free number, which is that of the stream.
        is_open || unsafe { libc::open(c"/dev/null".as_ptr(), O_RDWR) } == stream
    })
}

/// Writes the path of the module into `path`, with a zero at its end: this program is `bin/multihop` in the folder of
/// the package. Returns whether the path is known and fits.
fn find_module(path: &mut [u8; PATH_MAX as usize]) -> bool {
    // SAFETY: at most `path.len()` bytes are written.
    let length = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
    let mut folder = path.get(..usize::try_from(length).unwrap_or(0)).unwrap_or_default();
    for _ in [c"multihop", c"bin"] {
        let Some(end) = folder.iter().rposition(|&byte| byte == b'/') else { return false };
        folder = folder.get(..end).unwrap_or_default();
    }
    let end = folder.len();
    let Some(place) = path.get_mut(end..end + MODULE.len()) else { return false };
    place.copy_from_slice(MODULE);
    true
}

/// Reports the error of the loader.
fn fail_to_load() -> c_int {
    // SAFETY: after a failed call, `dlerror` returns a text that ends with a zero.
    let reason = unsafe { libc::dlerror() };
    // SAFETY: a text of `dlerror` ends with a zero.
    let reason = if reason.is_null() { c"" } else { unsafe { CStr::from_ptr(reason) } };
    fail(c"cannot load its module: ", reason)
}

/// Prints an error and returns the exit code for it.
fn fail(problem: &CStr, reason: &CStr) -> c_int {
    for part in [c"multihop: the command ", problem, reason, c"\n"] {
        // SAFETY: the pointer and the length are those of one text.
        unsafe { libc::write(STDERR_FILENO, part.as_ptr().cast(), part.count_bytes()) };
    }
    CANNOT_RUN
}

/// Panic handler, which Rust requires of a program without its library. It ends the process; no code here panics.
#[cfg(all(panic = "abort", not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: the function has no conditions.
    unsafe { libc::abort() }
}
