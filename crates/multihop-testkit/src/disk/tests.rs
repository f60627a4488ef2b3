//! The model finds the faults of protocols that are known to be wrong, and none in the corrected ones.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::process::Command;

use super::trace::{Event, Kind, Node, NodeId, SyncScope};
use super::*;

/// A program whose operations are listed by a test.
struct Program(Trace);

const ROOT: NodeId = 0;

impl Program {
    fn new() -> Self {
        let root = Node { kind: Kind::Folder, mode: 0o755 };
        Self(Trace { nodes: vec![root], names: BTreeMap::new(), events: Vec::new() })
    }

    /// A file that is on the disk when the program begins.
    fn with_file(mut self, name: &str, contents: &[u8]) -> (Self, NodeId) {
        let id = self.node(Kind::File(contents.to_vec()), 0o644);
        self.0.names.insert((ROOT, OsString::from(name)), id);
        (self, id)
    }

    fn node(&mut self, kind: Kind, mode: u32) -> NodeId {
        self.0.nodes.push(Node { kind, mode });
        self.0.nodes.len() - 1
    }

    fn create(&mut self, folder: NodeId, name: &str, contents: &[u8]) -> NodeId {
        let id = self.node(Kind::File(Vec::new()), 0o600);
        self.0.events.push(Event::Enter((folder, name.into()), id));
        self.0.events.push(Event::Write(id, 0, contents.to_vec()));
        id
    }

    fn mkdir(&mut self, name: &str) -> NodeId {
        let id = self.node(Kind::Folder, 0o755);
        self.0.events.push(Event::Enter((ROOT, name.into()), id));
        id
    }

    fn rename(&mut self, from: &str, to: &str) {
        self.0.events.push(Event::Move((ROOT, from.into()), (ROOT, to.into())));
    }

    fn sync(&mut self, id: NodeId) {
        self.0.events.push(Event::Sync(id, SyncScope::All));
    }

    fn say(&mut self, text: &str) {
        self.0.add_output(text);
    }

    /// The number of violations in 1000 cuts.
    fn violations(&self, mut is_right: impl FnMut(&Image) -> bool) -> usize {
        let mut violations = 0;
        for index in 0..1000 {
            let mut rng = Rng::stream(7, "tests", index);
            let image = self.0.cut(self.0.instant(&mut rng), &mut rng);
            violations += usize::from(!is_right(&image));
        }
        violations
    }
}

/// Text longer than a page, of one repeated byte.
fn text(byte: u8) -> Vec<u8> {
    vec![byte; 10_000]
}

/// Checks that the file `a` is the old one or the new one, and that it is the new one once the program has
/// reported success.
fn is_old_or_new(image: &Image) -> bool {
    match image.file("a") {
        Some(found) if found == text(b'n') => true,
        found => found.is_none_or(|found| found == text(b'o')) && !image.outputs().contains("done"),
    }
}

/// Replaces a file, with a sync of the file, of the folder, or both.
fn replaced(syncs_file: bool, syncs_folder: bool) -> Program {
    let (mut program, _) = Program::new().with_file("a", &text(b'o'));
    let id = program.create(ROOT, "a.part", &text(b'n'));
    if syncs_file {
        program.sync(id);
    }
    program.rename("a.part", "a");
    if syncs_folder {
        program.sync(ROOT);
    }
    program.say("done");
    program
}

#[test]
fn a_rename_without_a_sync_of_the_file_is_found() {
    assert!(replaced(false, true).violations(is_old_or_new) > 50);
}

#[test]
fn a_rename_without_a_sync_of_the_folder_is_found_if_the_program_has_reported_success() {
    assert!(replaced(true, false).violations(is_old_or_new) > 50);
    let mut silent = replaced(true, false);
    silent.0.events.pop();
    assert_eq!(silent.violations(is_old_or_new), 0);
}

#[test]
fn a_rename_with_both_syncs_is_right() {
    assert_eq!(replaced(true, true).violations(is_old_or_new), 0);
}

#[test]
fn a_sync_of_the_file_system_stands_for_all_others() {
    let mut program = replaced(false, false);
    let end = program.0.events.len();
    program.0.events.insert(end - 2, Event::SyncAll);
    program.0.events.insert(end, Event::SyncAll);
    assert_eq!(program.violations(is_old_or_new), 0);
}

#[test]
fn a_file_that_is_rewritten_in_place_is_found() {
    let (mut program, id) = Program::new().with_file("a", &text(b'o'));
    program.0.events.push(Event::Resize(id, 0));
    program.0.events.push(Event::Write(id, 0, text(b'n')));
    program.sync(id);
    program.say("done");
    assert!(program.violations(is_old_or_new) > 50);
}

/// Number of violations that are found in a program that appends records: each record that `is_record`
/// accepts must be one that was written, and there must be at least as many as the program has reported.
fn appended(syncs: bool, record: &[u8], is_record: fn(&[u8]) -> bool) -> usize {
    let (mut program, id) = Program::new().with_file("a", b"");
    for n in 0..20 {
        program.0.events.push(Event::Write(id, n * record.len(), record.to_vec()));
        if syncs {
            program.sync(id);
        }
        program.say(".");
    }
    program.violations(|image| {
        let found = image.file("a").unwrap();
        let accepted: Vec<&[u8]> = found.chunks(record.len()).filter(|found| is_record(found)).collect();
        accepted.iter().all(|found| *found == record) && accepted.len() >= image.outputs().len()
    })
}

#[test]
fn appended_records_without_a_checksum_or_a_sync_are_found() {
    let record = [&[b'x'; 1998][..], b"#\n"].concat();
    let by_end = |found: &[u8]| found.ends_with(b"\n");
    let by_sum = |found: &[u8]| found.len() == 2000 && found[..1998] == [b'x'; 1998] && found[1998] == b'#';
    assert!(appended(true, &record, by_end) > 0, "a torn record has a line break");
    assert!(appended(false, &record, by_sum) > 50, "a record that was reported is lost");
    assert_eq!(appended(true, &record, by_sum), 0);
}

#[test]
fn a_new_folder_without_a_sync_of_its_parent_is_found() {
    let program = |syncs_parent: bool| {
        let mut program = Program::new();
        let folder = program.mkdir("sub");
        let id = program.create(folder, "a", &text(b'n'));
        program.sync(id);
        program.sync(folder);
        if syncs_parent {
            program.sync(ROOT);
        }
        program.say("done");
        program.violations(|image| image.outputs().is_empty() || image.file("sub/a") == Some(&text(b'n')))
    };
    assert!(program(false) > 50);
    assert_eq!(program(true), 0);
}

#[test]
fn a_mode_that_is_set_after_the_sync_is_found() {
    let program = |is_late: bool| {
        let mut program = Program::new();
        let id = program.create(ROOT, "a.part", b"secret");
        let chmod = Event::Mode(id, 0o644);
        if !is_late {
            program.0.events.push(chmod.clone());
        }
        program.sync(id);
        if is_late {
            program.0.events.push(chmod);
        }
        program.rename("a.part", "a");
        program.sync(ROOT);
        program.violations(|image| match image.files().get(std::path::Path::new("a")) {
            Some(Kept::File(_, mode)) => *mode == 0o644,
            _ => true,
        })
    };
    assert!(program(true) > 50);
    assert_eq!(program(false), 0);
}

#[test]
fn torn_and_zeroed_pages_old_and_new_ends_occur() {
    let mut program = Program::new();
    program.create(ROOT, "a", &text(b'n'));
    let mut found = [0; 4];
    program.violations(|image| {
        let Some(contents) = image.file("a") else { return true };
        let is_zero = |part: &[u8]| part.iter().all(|&byte| byte == 0);
        let pages = || contents.chunks(4096).filter(|page| !page.is_empty());
        found[0] += usize::from(contents.is_empty());
        found[1] += usize::from(contents == text(b'n'));
        found[2] += usize::from(pages().any(is_zero));
        found[3] += usize::from(pages().any(|page| !is_zero(page) && page.contains(&0)));
        true
    });
    assert!(found.iter().all(|&count| count > 20), "{found:?}");
}

#[test]
fn what_a_real_program_does_is_recorded() {
    let work = std::env::temp_dir().join(format!("multihop-recorder-{}", std::process::id()));
    let root = work.join("root");
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("before"), "before").unwrap();
    match Recorder::new(&root, &work) {
        Err(why) => println!("skipped: {why}"),
        Ok(recorder) => {
            let script = "echo one > a; echo two >> a; mv a b; mkdir d; ln b d/c; ln -s b e; chmod 600 b; rm before; \
                          echo said >&2; cp b f; mkdir gone; rmdir gone; sync; echo later >> f; truncate -s 2 f";
            let mut command = Command::new("sh");
            let done = recorder.prepare(command.args(["-c", script]).current_dir(&root)).status().unwrap();
            assert!(done.success());
            // `finish` compares the trace with the folder.
            let trace = recorder.finish();
            let images: Vec<Image> =
                (0..200).map(|n| trace.cut(trace.events.len(), &mut Rng::stream(n, "real", 0))).collect();
            assert!(images.iter().all(|image| image.file("d/c") == Some(b"one\ntwo\n")));
            assert!(images.iter().all(|image| image.file("before").is_none()));
            assert!(images.iter().any(|image| image.file("f") != Some(b"on")));
            assert!(images[0].outputs().contains("said"));
        }
    }
    fs::remove_dir_all(work).unwrap();
}
