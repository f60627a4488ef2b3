//! Records what a program changes, by a library that is loaded before the C library.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::trace::{Inodes, Trace};

/// Records the changes below a folder by programs that it has prepared.
#[derive(Debug)]
pub struct Recorder {
    root: PathBuf,
    library: PathBuf,
    records: PathBuf,
    before: (Trace, Inodes),
}

impl Recorder {
    /// A recorder of changes below `root`. It compiles a library of C into `work`, an existing folder elsewhere. The
    /// error is the reason why nothing can be recorded on this machine.
    pub fn new(root: &Path, work: &Path) -> Result<Self, String> {
        let problem = |error: std::io::Error| format!("a recorder of file operations: {error}");
        let root = root.canonicalize().map_err(problem)?;
        let before = Trace::of_folder(&root).map_err(problem)?;
        let library = work.join("recorder.so");
        let records = work.join("records");
        File::create(&records).map_err(problem)?;
        if !library.exists() {
            compile(&library, work)?;
        }
        Ok(Self { root, library, records, before })
    }

    /// Lets a program be recorded, with the programs that it starts.
    pub fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("LD_PRELOAD", &self.library)
            .env("MULTIHOP_DISK_ROOT", &self.root)
            .env("MULTIHOP_DISK_TRACE", &self.records)
    }

    /// Operations of the programs, which have ended.
    ///
    /// # Panics
    ///
    /// If the trace does not lead to what is in the folder: an operation was not recorded.
    pub fn finish(self) -> Trace {
        let records = fs::read_to_string(&self.records).expect("the file of records");
        let trace = self.before.0.read(&self.root, self.before.1, &records);
        let (now, _) = Trace::of_folder(&self.root).expect("a folder that can be read");
        let (recorded, found) = (trace.complete().into_files(), now.complete().into_files());
        for (path, kept) in &found {
            assert_eq!(Some(kept), recorded.get(path), "a change of {} was not recorded", path.display());
        }
        assert_eq!(recorded.len(), found.len(), "a removal was not recorded");
        trace
    }
}

fn compile(library: &Path, work: &Path) -> Result<(), String> {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return Err("a recorder of file operations needs Linux with glibc".to_owned());
    }
    let source = work.join("recorder.c");
    fs::write(&source, SOURCE).map_err(|error| error.to_string())?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(library).arg(&source).arg("-ldl");
    match compiler.output() {
        Ok(done) if done.status.success() => Ok(()),
        Ok(failed) => Err(format!("cc: {}", String::from_utf8_lossy(&failed.stderr))),
        Err(error) => Err(format!("cc, a compiler for C: {error}")),
    }
}

const SOURCE: &str = include_str!("recorder.c");
