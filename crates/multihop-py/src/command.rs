//! The command `multihop`, for the program `multihop-launcher` of the wheel.
#![expect(unsafe_code, reason = "the launcher passes pointers to the arguments of its process")]

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::panic::catch_unwind;
use std::process::exit;

const _: multihop_launcher::Command = multihop_main;

/// Exit code of Rust programs after a panic.
const PANICKED: i32 = 101;

/// Runs the command and ends the process with its exit code.
///
/// # Safety
/// `argv` points to `argc` texts that end with a zero.
#[unsafe(no_mangle)]
unsafe extern "C" fn multihop_main(argc: c_int, argv: *const *const c_char) -> ! {
    let argument = |index: usize| {
        // SAFETY: this function's contract; `index` is less than `argc`.
        let text = unsafe { CStr::from_ptr(*argv.add(index)) };
        OsStr::from_bytes(text.to_bytes()).to_owned()
    };
    let arguments: Vec<OsString> = (0..usize::try_from(argc).unwrap_or(0)).map(argument).collect();
    exit(catch_unwind(|| multihop_cli::main(arguments)).unwrap_or(PANICKED))
}
