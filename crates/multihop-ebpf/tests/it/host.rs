//! Programs in C for these tests, compiled for the host.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A compiled program, which is removed when this value is dropped.
struct Program(PathBuf);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Compiles a C file of this folder and runs it; returns what it prints for an input, `None` without a
/// compiler. The name is that of the test.
pub(crate) fn filter(source: &str, name: &str, input: String) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(source);
    let program =
        Program(std::env::temp_dir().join(format!("multihop-{source}-{name}-{}", std::process::id())));
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-fsanitize=undefined", "-fno-sanitize-recover", "-Wno-unknown-pragmas", "-o"]);
    match compiler.arg(&program.0).arg(path).status() {
        Err(error) => {
            crate::skip(format!("there is no C compiler: {error}"));
            return None;
        }
        Ok(status) => assert!(status.success(), "the arithmetic does not compile"),
    }
    let mut child = started(Command::new(&program.0).stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "undefined behaviour, or a crash");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Starts a program that has just been compiled. The kernel may close the linker's file a moment after the linker has ended.
fn started(program: &mut Command) -> Child {
    loop {
        match program.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            result => return result.unwrap(),
        }
    }
}
