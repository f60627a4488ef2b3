//! Sandbox of the programs: a PID namespace, which ends all of them with the emulation, and a mount namespace with a
//! hosts file of its own. Both end with their first process, which ends when this process does, however that happens.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use multihop_core::NodeId;
use multihop_linux::netns::Namespace;
use multihop_linux::wait::Doorbell;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use crate::{EmulateError, Tried};

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
    command: Command,
}

/// Program of the first process: a shell that adopts orphans. It waits for the end of its input with `cat`,
/// which programs may kill.
const FIRST: &str = "mount -t proc proc /proc 2>/dev/null; echo ready; until cat >/dev/null; do :; done";

impl Sandbox {
    /// Creates the namespaces and their first process. `bell` is rung whenever a program has started, which wakes the
    /// driver.
    pub(crate) fn new(
        namespaces: Arc<[Namespace]>,
        names: &[String],
        bell: Arc<Doorbell>,
    ) -> Result<Self, EmulateError> {
        let (requests, todo) = channel::<Request>();
        let (done, started) = channel();
        let (tell, first) = channel();
        let hosts = hosts(names);
        let work = move || {
            let made = isolate(&hosts).and_then(|()| first_process());
            let is_made = made.is_ok();
            let _ = tell.send(made);
            if !is_made {
                return;
            }
            for Request { program, station, mut command } in todo {
                let child = namespaces[station].enter().and_then(|()| command.spawn());
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
    pub(crate) fn start(&self, program: usize, station: usize, command: Command) {
        let request = Request { program, station, command };
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

fn first_process() -> io::Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", FIRST]).stdin(Stdio::piped()).stdout(Stdio::piped());
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
