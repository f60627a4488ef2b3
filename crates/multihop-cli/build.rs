//! Includes the page of `multihop view`, if it has been built: `make build` does so where Node is installed.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new("../../web/dist");
    println!("cargo::rerun-if-changed={}", folder.display());
    let page = fs::read(folder.join("view.html")).unwrap_or_default();
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no OUT_DIR"))?;
    fs::write(Path::new(&out).join("view.html"), page)
}
