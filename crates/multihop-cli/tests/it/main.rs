//! The command from a user's view: exit codes, output streams, messages.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod check;
mod compare;
mod emulate;
mod emulate_long;
mod emulate_replay;
mod extension;
mod interrupt;
mod motion;
mod net;
mod run;
mod start;
mod sweep;
mod transport;
mod view;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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

/// Runs the command with a text on its standard input.
fn multihop_with_input(folder: &Folder, args: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_multihop"));
    command.args(args).current_dir(folder.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut started = command.spawn().unwrap();
    started.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    started.wait_with_output().unwrap()
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
