//! The compiled programs, and how they are loaded.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Mutex;

use libbpf_rs::{
    Link, MapCore, MapMut, Object, ObjectBuilder, OpenObject, PrintLevel, ProgramMut, set_print,
};

use super::rights;
use crate::{Control, Settings, TcpError};

/// `bpf/multihop_cc.bpf.c`, compiled by `bpf/build.sh`.
static COMPILED: Aligned<[u8; include_bytes!("../../bpf/multihop_cc.bpf.o").len()]> =
    Aligned(*include_bytes!("../../bpf/multihop_cc.bpf.o"));

/// The loader reads words of the file in place.
#[repr(align(8))]
struct Aligned<T: ?Sized>(T);

/// The name of the map of connections.
pub(super) const FLOWS: &str = "multihop_flows";
/// The program that takes note of arriving packets: the length of paths, and the metrics of ADTCP.
pub(super) const PACKETS: &str = "read_packets";
/// The program that writes and reads the states of ADTCP.
pub(super) const REPORT: &str = "report";
/// The program that chooses the control for connections of a cgroup.
pub(super) const CHOOSE: &str = "choose";
/// The program that lists connections.
pub(super) const LIST: &str = "list_flows";

/// The programs before they are loaded.
pub(super) struct Programs(OpenObject);

impl Programs {
    /// Opens them, if this machine can use them.
    pub(super) fn open() -> Result<Self, TcpError> {
        rights::check()?;
        // Earlier messages belong to other attempts.
        take_messages();
        set_print(Some((PrintLevel::Warn, keep_message)));
        let open = ObjectBuilder::default().open_memory(&COMPILED.0);
        open.map(Self).map_err(|error| refused("cannot read the programs", &error))
    }

    /// Leaves out all programs but these, and all controls but these.
    pub(super) fn only(mut self, programs: &[&str], controls: &[Control]) -> Result<Self, TcpError> {
        for mut program in self.0.progs_mut() {
            let name = program.name().to_string_lossy().into_owned();
            // Programs of controls come and go with their controls.
            if [PACKETS, REPORT, CHOOSE, LIST].contains(&name.as_str()) && !programs.contains(&name.as_str())
            {
                program.set_autoload(false);
            }
        }
        for control in Control::ALL.iter().filter(|control| !controls.contains(control)) {
            let mut map = self.map(control.name());
            map.set_autocreate(false).map_err(|error| refused("cannot leave out a control", &error))?;
        }
        Ok(self)
    }

    /// Renames a control: names are unique in the kernel.
    pub(super) fn rename(&mut self, control: Control, name: &str) {
        let mut map = self.map(control.name());
        let structure = map.initial_value_mut().expect("a control has its structure");
        write_name(&mut structure[..NAME], name);
    }

    /// Sets what the programs read, `struct config` of `bpf/flow.h`.
    pub(super) fn configure(&mut self, settings: Settings, is_traced: bool, chosen: &str) {
        let mut map = self.map(CONFIG);
        let config = map.initial_value_mut().expect("the settings have initial values");
        config[..4].copy_from_slice(&settings.kbps.max(1).to_ne_bytes());
        config[4..8].copy_from_slice(&u32::from(is_traced).to_ne_bytes());
        write_name(&mut config[8..8 + NAME], chosen);
    }

    /// Gives the programs to the kernel, which checks them.
    pub(super) fn load(self) -> Result<Object, TcpError> {
        self.0.load().map_err(|error| refused("the kernel does not take the programs", &error))
    }

    fn map(&mut self, name: &str) -> libbpf_rs::OpenMapMut<'_> {
        let found = self.0.maps_mut().find(|map| map.name().to_string_lossy().ends_with(name));
        found.expect("the programs have this map")
    }
}

/// The map of loaded programs with this name.
pub(super) fn map<'a>(object: &'a mut Object, name: &str) -> MapMut<'a> {
    object.maps_mut().find(|map| map.name() == name).expect("the programs have this map")
}

/// Makes a control known to the kernel.
pub(super) fn register(object: &mut Object, control: Control) -> Result<Link, TcpError> {
    let mut map = map(object, control.name());
    map.attach_struct_ops().map_err(|error| refused("cannot register a control", &error))
}

/// Runs a program for the connections of a cgroup.
pub(super) fn attach(object: &Object, name: &str, cgroup: BorrowedFd<'_>) -> Result<Link, TcpError> {
    let link = program(object, name).attach_cgroup(cgroup.as_raw_fd());
    link.map_err(|error| refused("cannot attach a program to the cgroup", &error))
}

/// The loaded program with this name.
pub(super) fn program<'a>(object: &'a Object, name: &str) -> ProgramMut<'a> {
    object.progs_mut().find(|program| program.name() == name).expect("the object has this program")
}

/// The error of a step, with the last that libbpf said.
pub(super) fn refused(step: &'static str, error: &libbpf_rs::Error) -> TcpError {
    let said = take_messages();
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    let reason = match last {
        Some(last) => format!("{error} ({})", last.trim()),
        None => error.to_string(),
    };
    TcpError::Kernel { step, reason }
}

/// Fills a field for a name of the kernel, which ends with a zero.
fn write_name(field: &mut [u8], name: &str) {
    let length = name.len().min(NAME - 1);
    field.fill(0);
    field[..length].copy_from_slice(&name.as_bytes()[..length]);
}

fn keep_message(_: PrintLevel, message: String) {
    if let Ok(mut messages) = MESSAGES.lock() {
        messages.push_str(&message);
    }
}

fn take_messages() -> String {
    MESSAGES.lock().map(|mut messages| std::mem::take(&mut *messages)).unwrap_or_default()
}

/// What libbpf said since the programs were opened; it calls a function without state.
static MESSAGES: Mutex<String> = Mutex::new(String::new());
/// Bytes of a name, with its zero.
const NAME: usize = 16;
const CONFIG: &str = ".rodata.config";
