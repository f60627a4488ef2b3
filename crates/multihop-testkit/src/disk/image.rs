//! A state of the folder after a loss of power.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::{self, Display};
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use multihop_core::Rng;

use super::trace::{Event, Kind, Name, NodeId, Trace, shown};

/// Contents of a folder on the disk after a loss of power.
#[derive(Clone, Debug)]
pub struct Image {
    files: BTreeMap<PathBuf, Kept>,
    outputs: String,
    /// Operations before the loss of power with a mark at those that are lost, for messages.
    story: Vec<String>,
}

/// A file, folder or symbolic link on the disk.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Kept {
    /// A file with its contents and mode.
    File(Vec<u8>, u32),
    /// A folder with its mode.
    Folder(u32),
    /// A symbolic link with its target.
    Link(OsString),
}

impl Image {
    /// Everything on the disk, by its path below the folder.
    pub const fn files(&self) -> &BTreeMap<PathBuf, Kept> {
        &self.files
    }

    /// Takes everything on the disk, by its path.
    pub fn into_files(self) -> BTreeMap<PathBuf, Kept> {
        self.files
    }

    /// The contents of the file at this path; `None` if there is none.
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        match self.files.get(Path::new(path)) {
            Some(Kept::File(contents, _)) => Some(contents),
            _ => None,
        }
    }

    /// Output of the programs before the loss of power.
    pub fn outputs(&self) -> &str {
        &self.outputs
    }

    /// Writes everything into an empty folder.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        for (path, kept) in &self.files {
            let path = folder.join(path);
            match kept {
                Kept::File(contents, mode) => {
                    fs::write(&path, contents)?;
                    fs::set_permissions(path, fs::Permissions::from_mode(*mode))?;
                }
                Kept::Folder(_) => fs::create_dir(path)?,
                Kept::Link(target) => symlink(target, path)?,
            }
        }
        for (path, kept) in self.files.iter().rev() {
            if let Kept::Folder(mode) = kept {
                fs::set_permissions(folder.join(path), fs::Permissions::from_mode(*mode))?;
            }
        }
        Ok(())
    }
}

/// Writes the last events before the loss of power, with a mark at those that are lost.
impl Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.story.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

impl Trace {
    /// A random point of time: often just before or after an event on which programs rely.
    pub(super) fn instant(&self, rng: &mut Rng) -> usize {
        let relied = |(index, event): (usize, &Event)| {
            let is_relied = matches!(
                event,
                Event::Sync(..) | Event::SyncAll | Event::Output(_) | Event::Move(..) | Event::Leave(_)
            );
            is_relied.then_some([index, index + 1])
        };
        let relied: Vec<usize> = self.events.iter().enumerate().filter_map(relied).flatten().collect();
        let below =
            |count: usize, rng: &mut Rng| rng.below(u32::try_from(count).expect("few events")) as usize;
        match rng.below(8) {
            0 => self.events.len(),
            1..=4 if !relied.is_empty() => relied[below(relied.len(), rng)],
            _ => below(self.events.len() + 1, rng),
        }
    }

    /// A state of the folder after a loss of power before event `at`.
    pub fn cut(&self, at: usize, rng: &mut Rng) -> Image {
        let (names, lost) = self.names_at(at, rng);
        let mut image =
            Image { files: BTreeMap::new(), outputs: self.outputs(at), story: self.story(at, &lost) };
        let mut states = BTreeMap::new();
        for (path, node) in self.paths(&names) {
            // All links of one file have the same contents, so each file is cut once.
            let kept = states.entry(node).or_insert_with(|| {
                let (mode, mode_is_lost) = self.mode_at(node, at, rng);
                let (kept, is_lost) = match &self.nodes[node].kind {
                    Kind::Folder => (Kept::Folder(mode), false),
                    Kind::Link(target) => (Kept::Link(target.clone()), false),
                    Kind::File(_) => {
                        let (contents, is_lost) = self.contents_at(node, at, rng);
                        (Kept::File(contents, mode), is_lost)
                    }
                };
                (kept, is_lost, mode_is_lost)
            });
            let size = if let Kept::File(contents, _) = &kept.0 { contents.len() } else { 0 };
            let path_shown = path.display();
            match (kept.1, kept.2) {
                (true, _) => {
                    image.story.push(format!("on the disk: part of {path_shown} #{node}, {size} bytes"))
                }
                (_, true) => image.story.push(format!("on the disk: {path_shown} #{node} with an old mode")),
                _ => image.story.push(format!("on the disk: {path_shown} #{node}")),
            }
            image.files.insert(path, kept.0.clone());
        }
        image
    }

    /// A state of the folder after a loss of power at a random point.
    pub fn cut_by_seed(&self, seed: u64) -> Image {
        let mut rng = Rng::stream(seed, "disk", 0);
        self.cut(self.instant(&mut rng), &mut rng)
    }

    /// The state of the folder at the end of the trace, with nothing lost.
    pub fn complete(&self) -> Image {
        let mut complete = self.clone();
        complete.events.push(Event::SyncAll);
        complete.cut(complete.events.len(), &mut Rng::stream(0, "complete", 0))
    }

    /// The paths of everything that can be reached from the folder, parents first.
    fn paths(&self, names: &BTreeMap<Name, NodeId>) -> Vec<(PathBuf, NodeId)> {
        let mut found = Vec::new();
        let mut folders = vec![(PathBuf::new(), 0)];
        while let Some((path, folder)) = folders.pop() {
            for ((_, name), &node) in names.range((folder, OsString::new())..(folder + 1, OsString::new())) {
                found.push((path.join(name), node));
                if self.nodes[node].kind == Kind::Folder {
                    folders.push((path.join(name), node));
                }
            }
        }
        found
    }

    fn outputs(&self, at: usize) -> String {
        let text = |event: &Event| if let Event::Output(text) = event { Some(text.clone()) } else { None };
        self.events[..at].iter().filter_map(text).collect()
    }

    fn story(&self, at: usize, lost: &[usize]) -> Vec<String> {
        let name = |(folder, name): &Name| format!("#{folder}/{}", shown(name));
        let line = |(index, event): (usize, &Event)| {
            let text = match event {
                Event::Enter(to, id) => format!("create or link #{id} as {}", name(to)),
                Event::Leave(from) => format!("unlink {}", name(from)),
                Event::Move(from, to) => format!("rename {} to {}", name(from), name(to)),
                Event::Write(id, offset, data) => format!("write #{id} at {offset}, {} bytes", data.len()),
                Event::Resize(id, size) => format!("truncate #{id} to {size}"),
                Event::Mode(id, mode) => format!("chmod #{id} to {mode:o}"),
                Event::Sync(id, scope) => format!("sync #{id}, {scope:?}"),
                Event::SyncAll => "syncfs".to_owned(),
                Event::Output(text) => format!("output {text:?}"),
            };
            let mark = if lost.binary_search(&index).is_ok() { " LOST" } else { "" };
            format!("{index}: {text}{mark}")
        };
        let skipped = at.saturating_sub(SHOWN_EVENTS);
        let events = self.events[..at].iter().enumerate();
        events.filter(|(index, _)| *index >= skipped || lost.binary_search(index).is_ok()).map(line).collect()
    }
}

/// Events before a loss of power that a message has.
const SHOWN_EVENTS: usize = 40;
