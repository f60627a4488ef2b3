//! A congestion control for one program and its child processes.

use std::os::fd::AsFd;
use std::process::{self, Child, Command, ExitStatus};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::cgroup::{self, Scratch};
use super::controls::Attachment;
use super::programs::{CHOOSE, Loaded, PACKETS, Programs, REPORT, refused};
use super::ring::Ring;
use super::sweep;
use crate::{Control, Sample, Settings, TcpError};

/// Congestion control for one program. The kernel unregisters it when this value is dropped or this process
/// is killed. Its name is unique, so that several runs can exist at the same time.
pub struct Run {
    name: String,
    loaded: Loaded,
    // The links are dropped before the cgroup.
    _links: Vec<Attachment>,
    cgroup: Scratch,
}

impl Run {
    /// Loads a control. With `is_traced`, [`wait`](Self::wait) receives its samples.
    pub fn new(control: Control, settings: Settings, is_traced: bool) -> Result<Self, TcpError> {
        let mut programs = Programs::open()?.only(&PROGRAMS, &[control]);
        let name = format!("{control}_{:x}", number()?);
        programs.rename(control, &name);
        programs.configure(settings, is_traced, &name);
        sweep();
        let loaded = programs.load()?;
        let cgroup = Scratch::new()?;
        let mut links = vec![loaded.register(control)?];
        for name in PROGRAMS {
            links.push(loaded.attach(name, cgroup.as_fd())?);
        }
        Ok(Self { name, _links: links, loaded, cgroup })
    }

    /// The name of the control, as `ss -ti` shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts a program whose connections use the control.
    pub fn spawn(&self, command: &mut Command) -> Result<Child, TcpError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let child = self.cgroup.within(|| command.spawn())?;
        child.map_err(|error| TcpError::File { what: format!("cannot run {program}"), error })
    }

    /// Waits for the end of a program, and passes on the samples of its connections.
    pub fn wait(&mut self, child: &mut Child, mut take: impl FnMut(&Sample)) -> Result<ExitStatus, TcpError> {
        let ring = Ring::open(self.loaded.map(SAMPLES), SAMPLES_SIZE);
        let mut ring = ring.map_err(|error| refused("cannot read samples", &error))?;
        let mut read = |ring: &mut Ring<'_>| {
            ring.read(|bytes| {
                if let Some(sample) = Sample::parse(bytes) {
                    take(&sample);
                }
            });
        };
        loop {
            let ended = child.try_wait();
            let ended = ended.map_err(|error| TcpError::File { what: "cannot wait".to_owned(), error })?;
            read(&mut ring);
            if let Some(status) = ended {
                return Ok(status);
            }
            ring.wait(POLL);
        }
    }
}

/// Random number for the name of a control: unique with high probability among the processes of this machine, and
/// short enough for a kernel name in hexadecimal.
fn number() -> Result<u32, TcpError> {
    let namespace = cgroup::namespace()?.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    Ok((process::id() ^ u32::from_be_bytes([0, namespace[0], namespace[1], namespace[2]])) & MOST)
}

/// Sends SIGTERM to the program with this process number.
pub fn terminate(id: u32) {
    let id = i32::try_from(id).expect("process numbers are small");
    // The program may have ended.
    let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
}

/// Programs that are attached to the connections of the started program, in the order in which the kernel calls them: `report`
/// depends on the control of a connection, which `choose` sets.
const PROGRAMS: [&str; 3] = [PACKETS, CHOOSE, REPORT];
const SAMPLES: &str = "samples";
/// Bytes of the ring of samples in `bpf/multihop_cc.bpf.c`.
const SAMPLES_SIZE: usize = 1 << 18;
/// Mask of an identifier's 24 bits, which are six hexadecimal digits.
const MOST: u32 = 0xff_ffff;
/// Interval at which the end of the program is checked, ms.
const POLL: u8 = 20;
