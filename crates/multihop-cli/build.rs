//! Includes the pages of web/, if they have been built: `make build` does so where Node is installed. The folder `pages`
//! is a link, so that a package has the pages.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new("pages");
    println!("cargo::rerun-if-changed={}", folder.display());
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no OUT_DIR"))?;
    for name in ["view.html", "routes.html"] {
        let page = fs::read(folder.join(name)).unwrap_or_default();
        fs::write(Path::new(&out).join(name), page)?;
    }
    Ok(())
}
