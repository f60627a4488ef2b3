//! The command from a user's view: exit codes, output streams, messages.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod check;
mod extension;
mod motion;
mod net;
mod run;
mod sweep;
mod transport;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// One hop, two seconds.
const SHORT: &str = "\
duration = 2.0
[topology]
kind = \"chain\"
hops = 1
[[flow]]
transport = \"newreno\"
";

/// A temporary folder, deleted at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("multihop-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn with(self, name: &str, text: &str) -> Self {
        std::fs::write(self.0.join(name), text).unwrap();
        self
    }

    fn path(&self) -> &Path {
        &self.0
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the command inside `folder`.
fn multihop(folder: &Folder, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_multihop")).args(args).current_dir(folder.path()).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("no signal")
}
