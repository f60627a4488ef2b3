//! Interrupts from the keyboard.

use std::process::{Child, Command, Output, Stdio};

use super::{Folder, SHORT, code, multihop, stderr, stdout};

/// Starts a command, interrupts it as soon as `is_time` is true, and returns its output.
fn interrupted(folder: &Folder, args: &[&str], is_time: impl Fn() -> bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_multihop"));
    command.args(args).current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    while !is_time() {
        assert_eq!(child.try_wait().unwrap(), None, "it has ended too early");
        std::thread::yield_now();
    }
    interrupt(&child);
    child.wait_with_output().unwrap()
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_sweep_says_what_is_kept_and_goes_on() {
    // The second run would take hours.
    let text = format!("{SHORT}[sweep]\nseeds = 1\nduration = [2.0, 1e6]\n");
    let folder = Folder::new("interrupt-sweep").with("a.toml", &text);
    let journal = folder.path().join("out/runs.jsonl");
    let args = ["sweep", "a.toml", "--out", "out", "--jobs", "1"];
    let output = interrupted(&folder, &args, || journal.metadata().is_ok_and(|file| file.len() > 0));
    let message =
        "multihop: interrupted: 1 of 2 runs are kept in out; the same command goes on with the rest\n";
    assert_eq!((code(&output), stderr(&output), stdout(&output)), (130, message, ""));
    let kept = folder.read("out/runs.jsonl");
    let folder = folder.with("a.toml", &text.replace("1e6", "3.0"));
    assert_eq!(code(&multihop(&folder, &args)), 0);
    let runs = folder.read("out/runs.jsonl");
    assert!(runs.starts_with(&kept), "the first run is not repeated: {runs}");
}

#[test]
fn a_sweep_without_a_folder_says_how_to_keep_runs() {
    let text = format!("{SHORT}[sweep]\nduration = [1.0, 1e6]\n");
    let folder = Folder::new("interrupt-bare").with("a.toml", &text);
    let args = ["sweep", "a.toml", "--jobs", "1", "--json"];
    // The command's handler of signals is in place once the first result can be read, so the reader
    // determines the time.
    let mut child = Command::new(env!("CARGO_BIN_EXE_multihop"));
    child.args(args).current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut first = [0; 1];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 130);
    assert!(
        stderr(&output)
            .ends_with("with --out DIR finished runs are, and the same command goes on with the rest\n")
    );
}

#[test]
fn an_interrupted_run_leaves_no_half_written_file() {
    let folder = Folder::new("interrupt-run").with("a.toml", &SHORT.replace("2.0", "1e6"));
    let part = folder.path().join("out/packets.txt.part");
    let args = ["run", "a.toml", "--out", "out", "--trace"];
    let output = interrupted(&folder, &args, || part.metadata().is_ok_and(|file| file.len() > 0));
    assert_eq!(code(&output), 130);
    let error = stderr(&output);
    assert!(error.ends_with("multihop: interrupted at 0%: nothing is kept of the run\n"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path().join("out")).unwrap().count(), 0);
}
