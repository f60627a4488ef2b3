//! The function of the extension module that the launcher of the wheel calls.
//!
//! The library and the program `multihop-launcher` are one package, so that module and program agree on this type.
#![no_std]

use core::ffi::{c_char, c_int};

/// Function `multihop_main` of the extension module. It runs the command with the arguments of a process, as C passes
/// them to `main`, and ends the process.
pub type Command = unsafe extern "C" fn(c_int, *const *const c_char) -> !;
