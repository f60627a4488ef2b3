//! Sandbox of the programs: a PID namespace, which ends all of them with the emulation, and a mount namespace with a
//! hosts file of its own. Both end with their first process, which ends when this process does, however that happens.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{self, File};
use std::io::{self, PipeWriter, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use multihop_core::NodeId;
use multihop_linux::netns::Namespace;
use multihop_linux::wait::Doorbell;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::fchdir;

#[cfg(doc)]
use crate::barrier;
use crate::image::Image;
use crate::{EmulateError, Tried, root};

/// Starts programs on a separate thread, so that the simulated network need not wait.
pub(crate) struct Sandbox {
    /// Queue of requests to the sandbox's thread; `None` while the sandbox ends.
    requests: Option<Sender<Request>>,
    started: Receiver<(usize, io::Result<Child>)>,
    thread: Option<JoinHandle<()>>,
    first: Child,
}

struct Request {
    program: usize,
    station: usize,
    launch: Launch,
}

/// A program that can be started.
pub(crate) enum Launch {
    /// A program of this machine.
    Here(Command),
    /// A program in a copy of an image.
    Contained(Contained),
}

/// A program in a copy of an image.
pub(crate) struct Contained {
    pub(crate) image: PathBuf,
    pub(crate) words: Words,
    /// Variables besides those of the image.
    pub(crate) environment: Vec<(String, String)>,
    /// Folder in the image, by default that of the image's configuration.
    pub(crate) directory: Option<PathBuf>,
    /// Standard output and standard error.
    pub(crate) output: Option<[PipeWriter; 2]>,
}

/// Words of a program. Without an image there is no entry point.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Words {
    /// The image's entry point and command.
    OfImage,
    /// The arguments that follow the entry point of the image.
    Arguments(Vec<String>),
    /// A command line for the shell of the image, without its entry point.
    Shell(String),
}

impl Words {
    /// The words of the request.
    pub(crate) fn texts(&self) -> &[String] {
        match self {
            Self::OfImage => &[],
            Self::Arguments(words) => words,
            Self::Shell(line) => std::slice::from_ref(line),
        }
    }
}

/// Program of the first process: a shell that adopts orphans. It waits for the end of its input with `cat`,
/// which programs may kill.
const FIRST: &str = "mount -t proc proc /proc 2>/dev/null; echo ready; until cat >/dev/null; do :; done";

impl Sandbox {
    /// Creates the namespaces and their first process. `bell` is rung whenever a program has started, which wakes the
    /// driver. Programs find `library` as [`barrier::LIBRARY_PATH`].
    pub(crate) fn new(
        namespaces: Arc<[Namespace]>,
        names: &[String],
        bell: Arc<Doorbell>,
        library: Option<File>,
    ) -> Result<Self, EmulateError> {
        let (requests, todo) = channel::<Request>();
        let (done, started) = channel();
        let (tell, first) = channel();
        let hosts = hosts(names);
        let work = move || {
            let made = isolate(&hosts);
            let home = made.and_then(|()| Ok((Home::here()?, first_process(library)?)));
            let home = match home {
                Ok((home, first)) => {
                    let _ = tell.send(Ok(first));
                    home
                }
                Err(error) => {
                    let _ = tell.send(Err(error));
                    return;
                }
            };
            // Images that are in use stay in the cache.
            let mut images = HashMap::new();
            for Request { program, station, launch } in todo {
                let child = namespaces[station].enter().and_then(|()| match launch {
                    Launch::Here(mut command) => command.spawn(),
                    Launch::Contained(contained) => home.spawn(contained, &mut images),
                });
                if done.send((program, child)).is_err() {
                    return;
                }
                bell.ring();
            }
        };
        let start = || "start a thread".to_owned();
        let thread = thread::Builder::new().name("sandbox".to_owned()).spawn(work).tried(start)?;
        let first = first.recv().expect("the thread answers");
        let first = first.tried(|| "make a PID and a mount namespace for the programs".to_owned())?;
        Ok(Self { requests: Some(requests), started, thread: Some(thread), first })
    }

    /// Starts a program at a station.
    pub(crate) fn start(&self, program: usize, station: usize, launch: Launch) {
        let request = Request { program, station, launch };
        let requests = self.requests.as_ref().expect("nothing starts at the end");
        requests.send(request).expect("the thread lives as long as this");
    }

    /// A program that has been started, or the reason why it could not be.
    pub(crate) fn poll_started(&self) -> Option<(usize, io::Result<Child>)> {
        self.started.try_recv().ok()
    }

    /// The process with the namespaces.
    pub(crate) fn first_process(&self) -> u32 {
        self.first.id()
    }

    /// Kills every program; those whose start has not been noted yet are returned. All must be waited for before
    /// [`reap`](Self::reap), because the first process ends last.
    pub(crate) fn kill(&mut self) -> Vec<(usize, io::Result<Child>)> {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        drop(self.first.stdin.take());
        self.started.try_iter().collect()
    }

    /// Waits for the end of the first process.
    pub(crate) fn reap(mut self) {
        let _ = self.first.wait();
    }
}

/// The mount namespace and the working directory of this thread, to which it returns from an image.
struct Home {
    mounts: File,
    directory: File,
}

impl Home {
    fn here() -> io::Result<Self> {
        Ok(Self { mounts: File::open("/proc/thread-self/ns/mnt")?, directory: File::open(".")? })
    }

    /// Starts a program in an image.
    fn spawn(&self, contained: Contained, images: &mut HashMap<PathBuf, Image>) -> io::Result<Child> {
        let Contained { image: path, words, environment, directory, output } = contained;
        let image = match images.entry(path) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(place) => {
                let image = Image::open(place.key())?;
                place.insert(image)
            }
        };
        let words = match words {
            Words::OfImage => image.config.words(None),
            Words::Arguments(words) => image.config.words(Some(&words)),
            Words::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), line],
        };
        let Some((first, rest)) = words.split_first() else {
            return Err(io::Error::other("the image has no entry point and no command, allowed: a command"));
        };
        let mut command = Command::new(first);
        command.args(rest).env_clear().envs(image.config.environment()).envs(environment);
        command.process_group(0).stdin(Stdio::null());
        if let Some([stdout, stderr]) = output {
            command.stdout(stdout).stderr(stderr);
        }
        let directory = directory.as_deref().unwrap_or(image.config.directory());
        let child = root::enter(&image.root, directory).and_then(|()| command.spawn());
        setns(&self.mounts, CloneFlags::CLONE_NEWNS)?;
        fchdir(&self.directory)?;
        child
    }
}

/// Moves this thread and its children out of the view of the machine's files and processes.
fn isolate(hosts: &str) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    // Without this, mounts of this thread would also change the mounts of the machine.
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
    cover(&[("/etc/hosts", hosts), ("/etc/resolv.conf", "# The emulated network has no name server.\n")])?;
    Ok(unshare(CloneFlags::CLONE_NEWPID)?)
}

/// Mounts files with these texts over others, if those exist. They are in a file system in memory, so that nothing is left
/// of them however this process ends.
fn cover(files: &[(&str, &str)]) -> io::Result<()> {
    let memory = std::env::temp_dir();
    mount(Some("multihop"), &memory, Some("tmpfs"), MsFlags::empty(), None::<&str>)?;
    for (path, text) in files.iter().filter(|(path, _)| Path::new(path).exists()) {
        let file = memory.join(path.replace('/', ""));
        fs::write(&file, text)?;
        mount(Some(&file), *path, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
    }
    // Detaches the tmpfs from its folder. The kernel keeps it while the bind mounts of its files exist.
    Ok(umount2(&memory, MntFlags::MNT_DETACH)?)
}

fn first_process(library: Option<File>) -> io::Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", FIRST]).stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(library) = library {
        // A file in memory that stays open as long as programs run, whatever they do.
        command.stderr(library);
    }
    let mut child = command.process_group(0).spawn()?;
    let mut line = [0; 6];
    child.stdout.take().expect("it was asked for").read_exact(&mut line)?;
    Ok(child)
}

fn hosts(names: &[String]) -> String {
    let own = (0..).map(NodeId).zip(names);
    // Addresses of IPv6 have separate names, because programs would prefer IPv6 under a common name.
    let lines = own.map(|(node, name)| format!("{} {name}\n{} ip6-{name}\n", node.addr(), node.addr6()));
    let local = "127.0.0.1 localhost\n::1 ip6-localhost\n".to_owned();
    std::iter::once(local).chain(lines).collect()
}
