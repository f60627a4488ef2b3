//! Compiles the library that programs load in virtual time. The crate contains the bytes of the library.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Source files of the library.
const SOURCES: [&str; 6] = ["core.c", "clock.c", "waits.c", "sockets.c", "threads.c", "processes.c"];

fn main() {
    let folder = Path::new("preload");
    println!("cargo::rerun-if-changed=preload");
    let library = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("preload.so");
    let target = |key: &str| env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    let is_possible = target("OS") == "linux"
        && target("ENV") == "gnu"
        && ["x86_64", "aarch64"].contains(&target("ARCH").as_str());
    if !is_possible {
        // An emulation in virtual time then ends with an error.
        fs::write(&library, []).expect("the output folder is writable");
        return;
    }
    let mut build = cc::Build::new();
    build.opt_level(2).pic(true).warnings(true).extra_warnings(true);
    let mut compiler = build.get_compiler().to_command();
    compiler.args(["-std=gnu11", "-fvisibility=hidden", "-shared", "-o"]).arg(&library);
    compiler.args(SOURCES.map(|name| folder.join(name))).args(["-ldl", "-lpthread"]);
    let status = compiler.status().expect("a C compiler, which also links Rust programs, is needed");
    assert!(status.success(), "the library for virtual time could not be compiled");
}
