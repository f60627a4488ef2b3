//! Files that `multihop recv` has received.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use multihop_apps::files::{Options, Sources, SymbolicLinks, Target, receive, send};
use multihop_testkit::disk::{Image, Kept, Trace};

use super::{EXIT, Lab, mounted};

type Tree = BTreeMap<PathBuf, Kept>;

/// A transfer from `source` into `disk/inbox`.
struct Transfer {
    lab: Lab,
    names: Vec<&'static str>,
    overwrite: bool,
    /// Older contents of files that the transfer replaces.
    older: Tree,
    /// Another program has written the files into the inbox, where they are still in memory.
    are_present: bool,
}

impl Transfer {
    fn new(name: &str, names: &[&'static str]) -> Self {
        Self {
            lab: Lab::new(name),
            names: names.to_vec(),
            overwrite: false,
            older: Tree::new(),
            are_present: false,
        }
    }

    fn source(&self, name: &str, length: usize) -> &Self {
        // Contents without pages of zeros or pages that repeat.
        let contents: Vec<u8> =
            (0..length).map(|at| (at / 256 + at * 7 + name.len()).to_le_bytes()[0] | 1).collect();
        self.lab.write(&format!("source/{name}"), contents);
        self
    }

    /// Records a receiver and a sender.
    fn record(&self) -> Option<Trace> {
        let recorder = self.lab.recorder()?;
        if self.are_present {
            let mut copy = Command::new("cp");
            copy.arg("-r").arg(self.lab.path("source")).arg(self.lab.path("disk/inbox"));
            assert!(recorder.prepare(&mut copy).status().unwrap().success());
        }
        let multihop = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_multihop"));
            command.current_dir(self.lab.path("disk")).stdin(Stdio::null());
            command
        };
        let usual = ["recv", "--to", "inbox", "--plain", "--once", "--listen", "127.0.0.1:0"];
        let mut command = multihop();
        command.args(usual).args(self.overwrite.then_some("--overwrite"));
        let mut receiver = recorder.prepare(command.stdout(Stdio::piped())).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(receiver.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        let mut command = multihop();
        command.arg("send");
        if self.names == [STREAM] {
            command.arg("-").stdin(fs::File::open(self.lab.path("source/stdin")).unwrap());
        } else {
            command.args(self.names.iter().map(|name| self.lab.path("source").join(name)));
        }
        command.args([&address, "--plain", "--links", "keep"]);

        let sent = recorder.prepare(&mut command).output().unwrap();
        assert!(sent.status.success(), "{sent:?}");
        assert!(receiver.wait().unwrap().success());
        let mut trace = recorder.finish();
        trace.add_output(EXIT);
        Some(trace)
    }

    fn try_cuts(&self, program: &str, trace: &Trace) {
        let last = trace.complete().into_files();
        trace.try_cuts(program, |image| self.check(image, &last)).assert_none_is_violated();
    }

    /// Checks a state of the disk: each file is whole or recognised as incomplete, all that was reported is there, and
    /// the next transfer completes it.
    fn check(&self, image: &Image, last: &Tree) -> Result<(), String> {
        for (path, kept) in image.files() {
            let is_new = last.get(path) == Some(kept);
            let is_older = self.older.get(path) == Some(kept);
            let is_ours = matches!(kept, Kept::File(..) | Kept::Link(_)) && !self.are_present;
            if is_ours && !is_incomplete(path) && !is_new && !is_older {
                return Err(format!("{} looks whole", path.display()));
            }
        }
        // The sender prints this line after it has received the receiver's verdict.
        if ["sent ", "received ", EXIT].iter().any(|report| image.outputs().contains(report)) {
            reported_is_there(image, last)?;
        }
        mounted(image, |folder| {
            self.again(&folder.join("inbox"))?;
            let found = tree(folder);
            let of_contents = |tree: &Tree| -> Tree {
                tree.iter().map(|(path, kept)| (path.clone(), without_mode_of_folders(kept))).collect()
            };
            if of_contents(&found) == of_contents(last) {
                Ok(())
            } else {
                Err(format!("the next transfer leaves {:?}", found.keys()))
            }
        })
    }

    /// Repeats the transfer of the recording.
    fn again(&self, inbox: &Path) -> Result<(), String> {
        let _ = fs::create_dir(inbox);
        let (near, far) = tokio::io::duplex(1 << 16);
        let options = Options { overwrite: self.overwrite, patience: Duration::from_secs(60) };
        let mut sources = Sources::new().links(SymbolicLinks::Keep);
        for name in &self.names {
            let path = self.lab.path("source").join(name);
            if *name == STREAM {
                let contents = fs::read(path.with_file_name("stdin")).unwrap();
                sources.add_stream("stdin", Box::new(std::io::Cursor::new(contents))).unwrap();
            } else {
                sources.add(&path).unwrap();
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let target = Target::Folder(inbox.to_owned());
        let (mut of_sender, mut of_receiver) = (|_| (), |_| ());
        let (sent, received) = runtime.block_on(async {
            let received = receive(far, target, options, &mut of_receiver);
            tokio::join!(send(near, sources, options, &mut of_sender), received)
        });
        sent.map_err(|error| format!("the next transfer: {error}"))?;
        received.map(drop).map_err(|error| format!("the next transfer: {error}"))
    }
}

fn reported_is_there(image: &Image, last: &Tree) -> Result<(), String> {
    match last.iter().find(|(path, kept)| image.files().get(*path) != Some(kept)) {
        Some((path, kept)) => {
            let found = match (kept, image.files().get(path)) {
                (_, None) => "is lost",
                (Kept::Folder(_), Some(_)) => "has lost its mode",
                _ => "is damaged",
            };
            Err(format!("{} {found} after the transfer was reported", path.display()))
        }
        None => Ok(()),
    }
}

fn without_mode_of_folders(kept: &Kept) -> Kept {
    if let Kept::Folder(_) = kept { Kept::Folder(0) } else { kept.clone() }
}

/// Whether this is the name of an incomplete file.
fn is_incomplete(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    name.starts_with(".multihop-") && name.ends_with(".part")
}

/// Everything below a folder.
fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for child in fs::read_dir(&folder).unwrap() {
            let path = child.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap();
            let mode = kind.permissions().mode() & 0o7777;
            let kept = if kind.is_dir() {
                folders.push(path.clone());
                Kept::Folder(mode)
            } else if kind.is_symlink() {
                Kept::Link(fs::read_link(&path).unwrap().into())
            } else {
                Kept::File(fs::read(&path).unwrap(), mode)
            };
            found.insert(path.strip_prefix(root).unwrap().to_owned(), kept);
        }
    }
    found
}

#[test]
fn many_received_files_are_whole_or_recognised_as_incomplete() {
    let transfer = Transfer::new("many", &["photos"]);
    for n in 0..30 {
        transfer.source(&format!("photos/{}/{n}", ["a", "b", "a/deep"][n % 3]), n * 300);
    }
    transfer.source("photos/large", 90_000).source("photos/b/larger", 110_000);
    fs::create_dir(transfer.lab.path("source/photos/empty")).unwrap();
    symlink("large", transfer.lab.path("source/photos/link")).unwrap();
    let mode = fs::Permissions::from_mode(0o700);
    fs::set_permissions(transfer.lab.path("source/photos/a/3"), mode).unwrap();
    let Some(trace) = transfer.record() else { return };
    transfer.try_cuts("multihop recv, many files", &trace);
}

#[test]
fn a_few_received_files_are_whole_or_recognised_as_incomplete() {
    let transfer = Transfer::new("few", &["note", "folder"]);
    transfer.source("note", 5000).source("folder/one/two", 70_000);
    fs::create_dir(transfer.lab.path("source/folder/empty")).unwrap();
    symlink("one/two", transfer.lab.path("source/folder/link")).unwrap();
    let Some(trace) = transfer.record() else { return };
    transfer.try_cuts("multihop recv, few files", &trace);
}

#[test]
fn a_file_that_is_replaced_is_the_old_or_the_new_one() {
    let mut transfer = Transfer { overwrite: true, ..Transfer::new("replace", &["folder", "single"]) };
    for n in 0..12 {
        transfer.source(&format!("folder/{n}"), 3000 * n + 1);
        let old = vec![b'o'; 2000 * n + 5000];
        transfer.lab.write(&format!("disk/inbox/folder/{n}"), old);
    }
    transfer.source("single", 60_000).lab.write("disk/inbox/single", "old");
    transfer.older = tree(&transfer.lab.path("disk"));
    let Some(trace) = transfer.record() else { return };
    transfer.try_cuts("multihop recv --overwrite", &trace);
}

#[test]
fn a_transfer_that_was_cut_is_continued_and_may_be_cut_again() {
    let transfer = Transfer::new("twice", &["large"]);
    transfer.source("large", 150_000);
    let Some(trace) = transfer.record() else { return };
    // An incomplete file of some length, with contents or zeros.
    let length = |image: &Image| {
        let part = image.files().iter().find(|(path, _)| is_incomplete(path));
        part.map_or(0, |(_, kept)| if let Kept::File(contents, _) = kept { contents.len() } else { 0 })
    };
    let images: Vec<Image> =
        (0..1000).map(|n| trace.cut_by_seed(n)).filter(|image| length(image) > 20_000).collect();
    assert!(!images.is_empty());
    for image in images.iter().take(2) {
        fs::remove_dir_all(transfer.lab.path("disk")).unwrap();
        fs::create_dir(transfer.lab.path("disk")).unwrap();
        image.write(&transfer.lab.path("disk")).unwrap();
        let trace = transfer.record().unwrap();
        transfer.try_cuts("multihop recv, continued", &trace);
    }
}

#[test]
fn files_that_were_present_are_on_the_disk_when_the_transfer_is_reported() {
    for count in [2, 20] {
        let new = Transfer::new(&format!("present-{count}"), &["folder"]);
        let transfer = Transfer { overwrite: true, are_present: true, ..new };
        for n in 0..count {
            transfer.source(&format!("folder/{n}"), 5000);
        }
        let Some(trace) = transfer.record() else { return };
        transfer.try_cuts(&format!("multihop recv, {count} files are present"), &trace);
    }
}

#[test]
fn a_stream_that_was_received_is_whole() {
    let transfer = Transfer { overwrite: true, ..Transfer::new("stream", &[STREAM]) };
    transfer.source("stdin", 90_000);
    let Some(trace) = transfer.record() else { return };
    transfer.try_cuts("multihop recv, a stream", &trace);
}

/// The name of standard input.
const STREAM: &str = "-";
