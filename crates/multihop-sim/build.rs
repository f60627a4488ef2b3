//! Names the build after what is in it: a result belongs to the code that made it.

#[path = "src/fingerprint.rs"]
mod fingerprint;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use fingerprint::Fingerprint;

/// The crates whose code decides what a run finds.
const CRATES: [&str; 8] =
    ["core", "wire", "transport", "routing", "routing-extra", "radio", "scenario", "sim"];

fn main() -> io::Result<()> {
    let version = env::var("CARGO_PKG_VERSION").map_err(io::Error::other)?;
    let crates = PathBuf::from("..");
    if !crates.join("multihop-core/src").is_dir() {
        // A package of the registry: all crates have this version, and no version is published twice.
        println!("cargo::rustc-env=MULTIHOP_BUILD={version}");
        return Ok(());
    }
    let mut files = Vec::new();
    for name in CRATES {
        let folder = crates.join(format!("multihop-{name}/src"));
        println!("cargo::rerun-if-changed={}", folder.display());
        sources(&folder, &mut files)?;
    }
    files.sort();
    let mut sources = Fingerprint::new();
    for file in files {
        sources.add(&fs::read(file)?);
    }
    let digits = sources.digits();
    println!("cargo::rustc-env=MULTIHOP_BUILD={version}+{}", &digits[..12]);
    Ok(())
}

/// Every Rust file below a folder but those that only test.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        if path.is_dir() {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}
