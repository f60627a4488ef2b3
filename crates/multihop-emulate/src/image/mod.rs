//! Images of containers: folders with an OCI image layout, or with the root of a system.

mod cache;
mod layer;
mod layout;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use nix::fcntl::Flock;
use serde::Deserialize;

/// Root folder of an image, which is never written, and how its programs run.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) root: PathBuf,
    pub(crate) config: Config,
    /// Keeps the image in the cache.
    _lock: Option<Flock<File>>,
}

/// Settings of an image for its programs, with the names of the OCI image configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Config {
    /// Environment variables, each as `NAME=VALUE`.
    env: Option<Vec<String>>,
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
    working_dir: Option<PathBuf>,
}

impl Image {
    /// Opens the image in a folder. The layers of an OCI image are unpacked into the cache, unless they are there.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        if folder.join("index.json").is_file() {
            return cache::open(&layout::read(folder)?);
        }
        if folder.is_dir() {
            return Ok(Self { root: folder.canonicalize()?, config: Config::default(), _lock: None });
        }
        Err(io::Error::other(format!(
            "found {}, allowed: a folder with an OCI image (index.json and blobs), or with the root of a system",
            folder.display()
        )))
    }
}

impl Config {
    /// Environment variables of the image, with a search path in any case.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.env.iter().flatten().filter_map(|line| line.split_once('='));
        [("PATH", PATH), ("HOME", HOME)].into_iter().chain(own)
    }

    /// The words of a program: the image's entry point, then `words`, or by default those of the image.
    pub(crate) fn words(&self, words: Option<&[String]>) -> Vec<String> {
        let words = words.or(self.cmd.as_deref()).unwrap_or_default();
        self.entrypoint.iter().flatten().chain(words).cloned().collect()
    }

    /// Folder inside the image in which programs start.
    pub(crate) fn directory(&self) -> &Path {
        self.working_dir.as_deref().filter(|path| path.is_absolute()).unwrap_or(Path::new("/"))
    }
}

/// Home folder of root in images.
const HOME: &str = concat!("/", "root");
/// Search path of programs without one, as in Docker.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
