//! Recorded changes of a folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Changes of a folder by real programs, and what the programs printed, in order.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Every file, folder and link that has existed; the first node is the folder itself.
    pub(super) nodes: Vec<Node>,
    /// Names in the folder when the recording began.
    pub(super) names: BTreeMap<Name, NodeId>,
    pub(super) events: Vec<Event>,
}

/// Index in [`Trace::nodes`].
pub(super) type NodeId = usize;

/// A name in a folder.
pub(super) type Name = (NodeId, OsString);

/// A file, folder or link in the state in which it was created, or in which the recording found it.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) mode: u32,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    File(Vec<u8>),
    Folder,
    Link(OsString),
}

#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A name for a node: a created or linked file, a folder, a symbolic link.
    Enter(Name, NodeId),
    /// Removal of a name.
    Leave(Name),
    /// A rename of a node from the first name to the second.
    Move(Name, Name),
    Write(NodeId, usize, Vec<u8>),
    Resize(NodeId, usize),
    Mode(NodeId, u32),
    /// A sync of one node: all of it, or without its mode.
    Sync(NodeId, SyncScope),
    /// A sync of the file system.
    SyncAll,
    /// Output of a program on its standard output or standard error.
    Output(String),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SyncScope {
    All,
    Data,
}

impl Trace {
    /// A trace without events, in which everything below this folder counts as being on the disk.
    pub(super) fn of_folder(root: &Path) -> io::Result<(Self, Inodes)> {
        let mut trace = Self { nodes: Vec::new(), names: BTreeMap::new(), events: Vec::new() };
        let mut inodes = Inodes::new();
        let found = root.symlink_metadata()?;
        trace.nodes.push(Node { kind: Kind::Folder, mode: found.permissions().mode() & MODE_BITS });
        inodes.insert(found.ino(), 0);
        let mut folders = vec![(root.to_owned(), 0)];
        while let Some((path, folder)) = folders.pop() {
            for child in path.read_dir()? {
                let child = child?;
                let found = child.path().symlink_metadata()?;
                let id = match inodes.get(&found.ino()) {
                    Some(&id) => id,
                    None => {
                        let kind = if found.is_dir() {
                            folders.push((child.path(), trace.nodes.len()));
                            Kind::Folder
                        } else if found.is_symlink() {
                            Kind::Link(child.path().read_link()?.into())
                        } else {
                            Kind::File(std::fs::read(child.path())?)
                        };
                        inodes.insert(found.ino(), trace.nodes.len());
                        trace.add(kind, found.permissions().mode() & MODE_BITS)
                    }
                };
                trace.names.insert((folder, child.file_name()), id);
            }
        }
        Ok((trace, inodes))
    }

    /// Adds the records of a recorder.
    pub(super) fn read(mut self, root: &Path, mut inodes: Inodes, records: &str) -> Self {
        let mut live = self.names.clone();
        for line in records.lines() {
            let record = Record::parse(line).expect("a complete record of recorder.c");
            self.add_record(root, &record, &mut live, &mut inodes);
        }
        self
    }

    /// Adds output that a program wrote before it ended with success.
    pub fn add_output(&mut self, text: &str) {
        self.events.push(Event::Output(text.to_owned()));
    }

    fn add(&mut self, kind: Kind, mode: u32) -> NodeId {
        self.nodes.push(Node { kind, mode });
        self.nodes.len() - 1
    }

    fn add_record(
        &mut self,
        root: &Path,
        record: &Record,
        live: &mut BTreeMap<Name, NodeId>,
        inodes: &mut Inodes,
    ) {
        let Record { operation, numbers: [first, second, _], one, two, data } = record;
        let name = |path: &[u8]| place(root, path, live).expect("a name in a recorded folder");
        // The node is missing if, for example, a file without a name is synced; such a sync has no effect.
        let node = inodes.get(first).copied();
        let size = |number: &u64| usize::try_from(*number).expect("small files");
        let event = match (operation.as_str(), node) {
            ("create", _) if live.contains_key(&name(one)) => return,
            ("create" | "mkdir", _) => {
                let is_file = operation == "create";
                let kind = if is_file { Kind::File(Vec::new()) } else { Kind::Folder };
                let id = self.add(kind, u32::try_from(*second).expect("a mode"));
                inodes.insert(*first, id);
                Event::Enter(name(one), id)
            }
            ("symlink", _) => {
                let id = self.add(Kind::Link(OsString::from_vec(two.clone())), MODE_BITS);
                Event::Enter(name(one), id)
            }
            ("link", _) => Event::Enter(name(two), live[&name(one)]),
            ("unlink", _) => Event::Leave(name(one)),
            ("rename", _) => Event::Move(name(one), name(two)),
            ("syncfs", _) => Event::SyncAll,
            ("output", _) => Event::Output(String::from_utf8_lossy(data).into_owned()),
            ("write", Some(id)) => Event::Write(id, size(second), data.clone()),
            ("resize", Some(id)) => Event::Resize(id, size(second)),
            ("chmod", Some(id)) => Event::Mode(id, u32::try_from(*second).expect("a mode")),
            ("fsync", Some(id)) => Event::Sync(id, SyncScope::All),
            ("fdatasync", Some(id)) => Event::Sync(id, SyncScope::Data),
            (_, None) => return,
            (other, Some(_)) => panic!("unknown operation {other}"),
        };
        event.apply(live);
        self.events.push(event);
    }
}

impl Event {
    /// Applies a change of names.
    pub(super) fn apply(&self, names: &mut BTreeMap<Name, NodeId>) {
        match self {
            Self::Enter(name, id) => {
                names.insert(name.clone(), *id);
            }
            Self::Leave(name) => {
                names.remove(name);
            }
            Self::Move(from, to) => {
                if let Some(id) = names.remove(from) {
                    names.insert(to.clone(), id);
                }
            }
            _ => {}
        }
    }

    /// The names that the event changes.
    pub(super) fn names(&self) -> Vec<&Name> {
        match self {
            Self::Enter(name, _) | Self::Leave(name) => vec![name],
            Self::Move(from, to) => vec![from, to],
            _ => Vec::new(),
        }
    }
}

/// The folder and the last component of a path.
fn place(root: &Path, path: &[u8], live: &BTreeMap<Name, NodeId>) -> Option<Name> {
    let path = PathBuf::from(OsString::from_vec(path.to_vec()));
    let mut folder = 0;
    let mut parts = path.strip_prefix(root).ok()?.iter().peekable();
    loop {
        let part = parts.next()?;
        if parts.peek().is_none() {
            return Some((folder, part.to_owned()));
        }
        folder = *live.get(&(folder, part.to_owned()))?;
    }
}

/// Nodes by their numbers in the file system.
pub(super) type Inodes = BTreeMap<u64, NodeId>;

/// A line of recorder.c.
struct Record {
    operation: String,
    numbers: [u64; 3],
    one: Vec<u8>,
    two: Vec<u8>,
    data: Vec<u8>,
}

impl Record {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let operation = words.next()?.to_owned();
        let mut number = || words.next()?.parse().ok();
        let numbers = [number()?, number()?, number()?];
        let mut text = || bytes(words.next()?);
        Some(Self { operation, numbers, one: text()?, two: text()?, data: text()? })
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    if hex == "-" {
        return Some(Vec::new());
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    hex.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}

/// The text of a name, for messages.
pub(super) fn shown(name: &OsString) -> String {
    String::from_utf8_lossy(name.as_bytes()).into_owned()
}

/// Permissions, without the kind of the file.
pub(super) const MODE_BITS: u32 = 0o7777;
