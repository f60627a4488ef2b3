//! The compiled programs, and their loading into the kernel.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::btf::{self, Btf};
use super::controls::{Attachment, Checked, MAP_STRUCT_OPS};
use super::elf::{Elf, Relocation, Symbol};
use super::rights;
use super::syscall::{self, MapAttributes, Program, Refusal};
use crate::{Control, Settings, TcpError};

/// Program `bpf/multihop_cc.bpf.c`, compiled by `bpf/build.sh`.
pub(super) static COMPILED: &[u8] = include_bytes!("../../bpf/multihop_cc.bpf.o");

/// The name of the map of connections.
pub(super) const FLOWS: &str = "multihop_flows";
/// Program that inspects arriving packets: the length of paths, and the metrics of ADTCP.
pub(super) const PACKETS: &str = "read_packets";
/// Program that writes and reads the network states of ADTCP.
pub(super) const REPORT: &str = "report";
/// Program that selects the control for connections of a cgroup.
pub(super) const CHOOSE: &str = "choose";
/// The program that lists connections.
pub(super) const LIST: &str = "list_flows";

/// Compiled programs that are not loaded yet.
pub(super) struct Programs {
    /// The kernel's descriptions of its types.
    kernel: Vec<u8>,
    /// Names of the programs other than those of the controls.
    programs: Vec<&'static str>,
    controls: Vec<Structure>,
    /// Bytes of `struct config` of `bpf/flow.h`.
    config: Vec<u8>,
}

/// A control in the compiled file: a `struct tcp_congestion_ops`.
struct Structure {
    control: Control,
    /// Bytes of the structure of a control; members that are functions are zero.
    bytes: Vec<u8>,
}

impl Structure {
    /// Name of the control in the kernel.
    fn name(&self) -> [u8; syscall::NAME] {
        self.bytes[..syscall::NAME].try_into().expect("the name is the first member")
    }
}

impl Programs {
    /// Opens the compiled programs; an error if this machine cannot use them.
    pub(super) fn open() -> Result<Self, TcpError> {
        let kernel = rights::check()?;
        let config = compiled().section(CONFIG).data.to_vec();
        Ok(Self { kernel, programs: Vec::new(), controls: Vec::new(), config })
    }

    /// Selects programs and controls; all others are left out.
    pub(super) fn only(mut self, programs: &[&'static str], controls: &[Control]) -> Self {
        let elf = compiled();
        let bytes = |control: &Control| elf.content(elf.symbol(control.name())).to_vec();
        self.controls = controls.iter().map(|one| Structure { control: *one, bytes: bytes(one) }).collect();
        self.programs = programs.to_vec();
        self
    }

    /// Renames a control, because names must be unique in the kernel.
    pub(super) fn rename(&mut self, control: Control, name: &str) {
        for one in self.controls.iter_mut().filter(|one| one.control == control) {
            one.bytes[..syscall::NAME].copy_from_slice(&syscall::name(name));
        }
    }

    /// Sets the settings that programs read, `struct config` of `bpf/flow.h`.
    pub(super) fn configure(&mut self, settings: Settings, is_traced: bool, chosen: &str) {
        self.config[..4].copy_from_slice(&settings.kbps.max(1).to_ne_bytes());
        self.config[4..8].copy_from_slice(&u32::from(is_traced).to_ne_bytes());
        self.config[8..8 + syscall::NAME].copy_from_slice(&syscall::name(chosen));
    }

    /// Loads the programs into the kernel, which checks them.
    pub(super) fn load(self) -> Result<Loaded, TcpError> {
        let elf = compiled();
        let types = Btf::parse(elf.section(".BTF").data).expect("the compiled file describes its types");
        let described = types.for_the_kernel().expect("the compiled file describes its types");
        let btf = syscall::load_btf(&described).map_err(|refusal| explained("their types", refusal))?;
        let kernel = Btf::parse(&self.kernel).ok_or(TcpError::NoStructOps)?;
        let mut loader = Loader { elf, types, kernel, btf, config: self.config, loaded: Loaded::default() };
        for name in self.programs {
            loader.program(name)?;
        }
        for one in &self.controls {
            loader.control(one)?;
        }
        Ok(loader.loaded)
    }
}

/// Programs and maps in the kernel. They are removed after this value and the links are dropped.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    programs: BTreeMap<String, OwnedFd>,
    /// Maps with data, by name.
    maps: BTreeMap<String, OwnedFd>,
    controls: BTreeMap<&'static str, Checked>,
}

impl Loaded {
    /// The map with this name.
    pub(super) fn map(&self, name: &str) -> BorrowedFd<'_> {
        self.maps[name].as_fd()
    }

    /// The program with this name.
    pub(super) fn program(&self, name: &str) -> BorrowedFd<'_> {
        self.programs[name].as_fd()
    }

    /// Registers a control with the kernel.
    pub(super) fn register(&self, control: Control) -> Result<Attachment, TcpError> {
        let registered = self.controls[control.name()].register();
        registered.map_err(|error| refused("cannot register a control", &error))
    }

    /// Runs a program for the connections of a cgroup.
    pub(super) fn attach(&self, name: &str, cgroup: BorrowedFd<'_>) -> Result<Attachment, TcpError> {
        let place = Place::of(compiled().home(name));
        let link = syscall::attach(self.program(name), cgroup, place.attach_kind);
        link.map(Attachment::new).map_err(|error| refused("cannot attach a program to the cgroup", &error))
    }
}

/// Loads programs and the maps that they use.
struct Loader<'a> {
    elf: Elf<'a>,
    types: Btf<'a>,
    kernel: Btf<'a>,
    /// Descriptor of the programs' types in the kernel.
    btf: OwnedFd,
    config: Vec<u8>,
    loaded: Loaded,
}

/// A program in the kernel's form: the function, followed by the functions that it calls.
#[derive(Default)]
struct Code {
    instructions: Vec<u8>,
    functions: Vec<u8>,
    accesses: Vec<u8>,
    /// Index of the first instruction of each function.
    starts: BTreeMap<String, usize>,
}

impl Loader<'_> {
    /// Loads a program that is attached to cgroups or maps.
    fn program(&mut self, name: &str) -> Result<(), TcpError> {
        let place = Place::of(self.elf.home(name));
        let attach_to = match place.kernel_function {
            Some(function) => self.kernel.find(btf::FUNCTION, function).ok_or(TcpError::NoStructOps)?,
            None => 0,
        };
        self.load(name, place.kind, place.attach_kind, attach_to)
    }

    fn load(&mut self, name: &str, kind: u32, attach_kind: u32, attach_type: u32) -> Result<(), TcpError> {
        let mut code = Code::default();
        self.append(&mut code, name)?;
        let program = Program {
            name,
            kind,
            attach_kind,
            attach_type,
            instructions: &code.instructions,
            btf: self.btf.as_fd(),
            functions: &code.functions,
            accesses: &code.accesses,
        };
        let licence = self.elf.section("license").data;
        let program = syscall::load_program(&program, licence).map_err(|refusal| explained(name, refusal))?;
        self.loaded.programs.insert(name.to_owned(), program);
        Ok(())
    }

    /// Appends a function to a program, and after it the functions that it calls.
    fn append(&mut self, code: &mut Code, name: &str) -> Result<(), TcpError> {
        let start = code.instructions.len();
        code.starts.insert(name.to_owned(), start);
        let function = self.elf.symbol(name);
        let (home, offset, size) = (function.section, function.offset, function.size);
        code.instructions.extend_from_slice(self.elf.content(function));
        self.describe(code, home, offset..offset + size, start);
        let relocations: Vec<_> = self.elf.sections[home].relocations_in(offset, size).collect();
        for relocation in relocations {
            let at = start + relocation.offset;
            self.relocate(code, at, relocation)?;
        }
        Ok(())
    }

    /// Appends the records about a function.
    fn describe(&self, code: &mut Code, home: usize, range: std::ops::Range<usize>, start: usize) {
        let ext = self.elf.section(".BTF.ext").data;
        let of = |part| {
            let section = self.elf.sections[home].name;
            let records = btf::records(ext, part, &self.types, section);
            let records = records.expect("the compiled file describes its functions").into_iter();
            // Each record begins with the position of an instruction.
            records.filter_map(|record| {
                let at = btf::word(record, 0).filter(|at| range.contains(at))?;
                Some((u32::try_from(start + at - range.start).expect("programs are small"), &record[4..]))
            })
        };
        for (at, rest) in of(btf::FUNCTIONS) {
            code.functions.extend((at / 8).to_ne_bytes().iter().chain(&rest[..4]));
        }
        for (at, rest) in of(btf::ACCESSES) {
            code.accesses.extend(at.to_ne_bytes().iter().chain(&rest[..12]));
        }
    }

    /// Completes an instruction that refers to a map, to a function of the kernel or to another function.
    fn relocate(&mut self, code: &mut Code, at: usize, relocation: Relocation) -> Result<(), TcpError> {
        let symbol = &self.elf.symbols[relocation.symbol];
        let (name, home, offset) = (symbol.name.to_owned(), symbol.section, symbol.offset);
        let value = read(&code.instructions, at + 4);
        if code.instructions[at] != CALL {
            let is_value = self.elf.sections[home].name == CONFIG;
            let map = self.data_map(&name)?;
            set_source(&mut code.instructions, at, if is_value { MAP_VALUE } else { MAP });
            write(&mut code.instructions, at + 4, map);
            if is_value {
                write(&mut code.instructions, at + 12, i32::try_from(offset).expect("a small map") + value);
            }
        } else if home == 0 {
            let function = self.kernel.find(btf::FUNCTION, &name).ok_or(TcpError::NoStructOps)?;
            set_source(&mut code.instructions, at, KERNEL_FUNCTION);
            write(&mut code.instructions, at + 4, i32::try_from(function).expect("identifiers are small"));
        } else {
            // The position of the callee in its section, in instructions.
            let callee = usize::try_from(value + 1).expect("calls refer to functions") * 8 + offset;
            let callee = self.elf.function_at(home, callee).name.to_owned();
            if !code.starts.contains_key(&callee) {
                self.append(code, &callee)?;
            }
            // Distances count from the instruction after the call, and are negative for an earlier function.
            let place = |at: usize| i32::try_from(at / 8).expect("programs are small");
            set_source(&mut code.instructions, at, FUNCTION);
            write(&mut code.instructions, at + 4, place(code.starts[&callee]) - place(at) - 1);
        }
        Ok(())
    }

    /// Descriptor of a data map, which is created at its first use.
    fn data_map(&mut self, name: &str) -> Result<i32, TcpError> {
        if !self.loaded.maps.contains_key(name) {
            let made = if self.elf.sections[self.elf.symbol(name).section].name == CONFIG {
                self.make_config()
            } else {
                self.make_map(name)
            };
            let map = made.map_err(|error| refused("cannot make a map", &error))?;
            self.loaded.maps.insert(name.to_owned(), map);
        }
        Ok(self.loaded.maps[name].as_raw_fd())
    }

    /// Creates the map of settings, which cannot be changed afterwards.
    fn make_config(&self) -> io::Result<OwnedFd> {
        let map = syscall::create_map(MapAttributes {
            kind: MAP_ARRAY,
            key_size: 4,
            value_size: length(self.config.len()),
            max_entries: 1,
            flags: READ_ONLY_FOR_PROGRAMS,
            name: syscall::name("config"),
            ..Default::default()
        })?;
        syscall::update(map.as_fd(), &self.config)?;
        syscall::freeze(map.as_fd())?;
        Ok(map)
    }

    /// Creates a map from its definition, in which pointers to arrays encode numbers by the array length, and
    /// pointers encode types.
    fn make_map(&self, name: &str) -> io::Result<OwnedFd> {
        let definition = self.types.find(btf::VARIABLE, name).and_then(|one| self.types.target(one));
        let members = definition.and_then(|one| self.types.members(one)).expect("a map has a definition");
        let mut map = MapAttributes { name: syscall::name(name), ..Default::default() };
        for member in members {
            let of = self.types.target(member.of).expect("members of a definition are pointers");
            let number = || self.types.elements(of).expect("numbers are arrays");
            let size = || length(self.types.size(of).expect("keys and values have sizes"));
            match member.name {
                "type" => map.kind = number(),
                "map_flags" => map.flags = number(),
                "max_entries" => map.max_entries = number(),
                "key" => (map.key_type, map.key_size) = (of, size()),
                "value" => (map.value_type, map.value_size) = (of, size()),
                other => unreachable!("definitions of maps have no {other}"),
            }
        }
        if map.value_type != 0 {
            map.btf = descriptor(&self.btf);
        }
        syscall::create_map(map)
    }

    /// Loads the programs of a control, and the map with which the kernel registers it.
    fn control(&mut self, one: &Structure) -> Result<(), TcpError> {
        let kernel_type = |name| self.kernel.find(btf::STRUCT, name).ok_or(TcpError::NoStructOps);
        let (operations, value) = (kernel_type(OPERATIONS)?, kernel_type(rights::STRUCT_OPS)?);
        let known = self.kernel.members(operations).ok_or(TcpError::NoStructOps)?;
        let data = self.kernel.members(value).and_then(|all| all.into_iter().find(|one| one.name == "data"));
        let start = data.ok_or(TcpError::NoStructOps)?.offset;
        let mut bytes = vec![0; self.kernel.size(value).ok_or(TcpError::NoStructOps)?];

        let symbol = self.elf.symbol(one.control.name());
        let relocations: Vec<_> =
            self.elf.sections[symbol.section].relocations_in(symbol.offset, symbol.size).collect();
        let ours = self.types.find(btf::STRUCT, OPERATIONS).and_then(|ours| self.types.members(ours));
        for member in ours.expect("the compiled file describes its controls") {
            let found = known.iter().position(|one| one.name == member.name);
            let index = found.ok_or_else(|| missing(member.name))?;
            let to = start + known[index].offset;
            if let Some(function) = relocations.iter().find(|one| one.offset == member.offset) {
                let name = self.elf.symbols[function.symbol].name.to_owned();
                if !self.loaded.programs.contains_key(&name) {
                    self.load(&name, PROGRAM_STRUCT_OPS, length(index), operations)?;
                }
                bytes[to..to + 4].copy_from_slice(&descriptor(&self.loaded.programs[&name]).to_ne_bytes());
            } else {
                let size = self.types.size(member.of).expect("members have sizes");
                if self.kernel.size(known[index].of) != Some(size) {
                    return Err(missing(member.name));
                }
                bytes[to..to + size].copy_from_slice(&one.bytes[member.offset..member.offset + size]);
            }
        }
        let map = MapAttributes {
            kind: MAP_STRUCT_OPS,
            key_size: 4,
            value_size: length(bytes.len()),
            max_entries: 1,
            name: one.name(),
            btf: descriptor(&self.btf),
            kernel_value_type: value,
            ..Default::default()
        };
        let checked = Checked::new(map, bytes).map_err(|error| refused("cannot make a control", &error))?;
        self.loaded.controls.insert(one.control.name(), checked);
        Ok(())
    }
}

impl<'a> Elf<'a> {
    /// The bytes of a symbol.
    fn content(&self, symbol: &Symbol<'_>) -> &'a [u8] {
        &self.sections[symbol.section].data[symbol.offset..symbol.offset + symbol.size]
    }

    /// The name of the section of a program.
    fn home(&self, program: &str) -> &'a str {
        self.sections[self.symbol(program).section].name
    }

    fn function_at(&self, section: usize, offset: usize) -> &Symbol<'a> {
        let found = self
            .symbols
            .iter()
            .find(|symbol| symbol.is_function && symbol.section == section && symbol.offset == offset);
        found.expect("calls refer to functions")
    }
}

/// Section of programs: how its programs are loaded and attached.
struct Place {
    kind: u32,
    attach_kind: u32,
    kernel_function: Option<&'static str>,
}

impl Place {
    fn of(section: &str) -> Self {
        let (kind, attach_kind, kernel_function) = match section {
            "cgroup_skb/ingress" => (PROGRAM_CGROUP_SKB, ATTACH_INGRESS, None),
            "sockops" => (PROGRAM_SOCK_OPS, ATTACH_SOCK_OPS, None),
            "iter/bpf_sk_storage_map" => {
                (PROGRAM_TRACING, syscall::ATTACH_ITERATOR, Some("bpf_iter_bpf_sk_storage_map"))
            }
            other => unreachable!("programs of {other} are loaded with their control"),
        };
        Self { kind, attach_kind, kernel_function }
    }
}

fn compiled() -> Elf<'static> {
    Elf::parse(COMPILED)
}

/// Error of a loading step that the kernel refused.
pub(super) fn refused(step: &'static str, error: &io::Error) -> TcpError {
    TcpError::Kernel { step, reason: error.to_string() }
}

fn explained(what: &str, refusal: Refusal) -> TcpError {
    if refusal.error.kind() == io::ErrorKind::PermissionDenied {
        return TcpError::Forbidden { program: what.to_owned(), error: refusal.error };
    }
    let reason = match refusal.explanation.as_str() {
        "" => format!("{what}: {}", refusal.error),
        explanation => format!("{what}: {} ({explanation})", refusal.error),
    };
    TcpError::Kernel { step: "the kernel does not take the programs", reason }
}

fn missing(member: &str) -> TcpError {
    let reason = format!("its congestion controls have no {member} as the programs have it");
    TcpError::Kernel { step: "the kernel does not take the programs", reason }
}

fn set_source(instructions: &mut [u8], at: usize, source: u8) {
    instructions[at + 1] = instructions[at + 1] & 0x0f | source << 4;
}

fn read(instructions: &[u8], at: usize) -> i32 {
    i32::from_ne_bytes(instructions[at..at + 4].try_into().expect("four bytes"))
}

fn write(instructions: &mut [u8], at: usize, value: i32) {
    instructions[at..at + 4].copy_from_slice(&value.to_ne_bytes());
}

fn descriptor(of: &OwnedFd) -> u32 {
    u32::try_from(of.as_raw_fd()).expect("open files have numbers from 0 on")
}

fn length(number: usize) -> u32 {
    u32::try_from(number).expect("programs are small")
}

const CONFIG: &str = ".rodata.config";
const OPERATIONS: &str = "tcp_congestion_ops";

/// Opcode of the instruction that calls a function.
const CALL: u8 = 0x85;
/// Value of an instruction's source-register field that marks its operand as a map (`BPF_PSEUDO_MAP_FD`).
const MAP: u8 = 1;
const MAP_VALUE: u8 = 2;
const FUNCTION: u8 = 1;
const KERNEL_FUNCTION: u8 = 2;

const PROGRAM_CGROUP_SKB: u32 = 8;
const PROGRAM_SOCK_OPS: u32 = 13;
const PROGRAM_TRACING: u32 = 26;
const PROGRAM_STRUCT_OPS: u32 = 27;
const ATTACH_INGRESS: u32 = 0;
const ATTACH_SOCK_OPS: u32 = 3;
const MAP_ARRAY: u32 = 2;
/// Type of a map that stores values of sockets.
pub(super) const MAP_SK_STORAGE: u32 = 24;
const READ_ONLY_FOR_PROGRAMS: u32 = 1 << 7;
