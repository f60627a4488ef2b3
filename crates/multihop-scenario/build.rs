//! Lists the scenarios of the project, which the program contains. The folder is a link, so that a package has the files.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new("scenarios").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut list = String::new();
    for file in scenarios(&folder)? {
        let name = file.file_stem().expect("a file with an extension");
        writeln!(list, "Example {{ name: {name:?}, text: include_str!({file:?}) }},")
            .map_err(io::Error::other)?;
    }
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no OUT_DIR"))?;
    fs::write(Path::new(&out).join("examples.rs"), format!("&[\n{list}]"))
}

fn scenarios(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut files = files.collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    Ok(files)
}
