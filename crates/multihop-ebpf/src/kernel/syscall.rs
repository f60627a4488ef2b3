//! Calls of the system call `bpf`.
#![expect(unsafe_code, reason = "nix has no bpf")]

use std::ffi::{CString, OsStr, c_long};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use nix::libc;

/// Parameters of a new map.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct MapAttributes {
    pub(super) kind: u32,
    pub(super) key_size: u32,
    pub(super) value_size: u32,
    pub(super) max_entries: u32,
    pub(super) flags: u32,
    pub(super) inner_map: u32,
    pub(super) numa_node: u32,
    pub(super) name: [u8; NAME],
    pub(super) interface: u32,
    pub(super) btf: u32,
    pub(super) key_type: u32,
    pub(super) value_type: u32,
    pub(super) kernel_value_type: u32,
}

/// Parameters of a new program.
pub(super) struct Program<'a> {
    pub(super) name: &'a str,
    pub(super) kind: u32,
    pub(super) attach_kind: u32,
    /// The kernel's type or function to which the program is attached.
    pub(super) attach_type: u32,
    pub(super) instructions: &'a [u8],
    pub(super) btf: BorrowedFd<'a>,
    /// First instruction and type of each function.
    pub(super) functions: &'a [u8],
    /// Records of accesses to members whose offsets the kernel fills in.
    pub(super) accesses: &'a [u8],
}

#[derive(Default)]
#[repr(C)]
struct ProgramAttributes {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    licence: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; NAME],
    interface: u32,
    attach_kind: u32,
    btf: u32,
    function_size: u32,
    functions: u64,
    function_count: u32,
    line_size: u32,
    lines: u64,
    line_count: u32,
    attach_type: u32,
    attach_to: u32,
    access_count: u32,
    file_descriptors: u64,
    accesses: u64,
    access_size: u32,
    log_true_size: u32,
}

#[derive(Default)]
#[repr(C)]
struct BtfAttributes {
    btf: u64,
    log: u64,
    size: u32,
    log_size: u32,
    log_level: u32,
    padding: u32,
}

#[derive(Default)]
#[repr(C)]
struct ElementAttributes {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[derive(Default)]
#[repr(C)]
struct LinkAttributes {
    from: u32,
    to: u32,
    attach_kind: u32,
    flags: u32,
    iterated: u64,
    iterated_length: u32,
    padding: u32,
}

#[derive(Default)]
#[repr(C)]
struct PinAttributes {
    path: u64,
    descriptor: u32,
    flags: u32,
}

#[derive(Default)]
#[repr(C)]
struct IdAttributes {
    id: u32,
    next: u32,
    flags: u32,
}

#[derive(Default)]
#[repr(C)]
struct InfoAttributes {
    descriptor: u32,
    length: u32,
    info: u64,
}

/// Properties of a map in the kernel.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct MapInfo {
    pub(super) kind: u32,
    pub(super) id: u32,
    pub(super) key_size: u32,
    pub(super) value_size: u32,
    pub(super) max_entries: u32,
    pub(super) flags: u32,
    pub(super) name: [u8; NAME],
}

/// Gives descriptions of types to the kernel.
pub(super) fn load_btf(btf: &[u8]) -> Result<OwnedFd, Refusal> {
    with_log(|log| {
        let mut attributes = BtfAttributes { btf: address(btf), size: length(btf), ..Default::default() };
        if let Some(log) = log {
            attributes.log = log.as_mut_ptr().expose_provenance() as u64;
            (attributes.log_size, attributes.log_level) = (length(log), 1);
        }
        descriptor(BTF_LOAD, &mut attributes)
    })
}

/// Loads a program into the kernel, which checks it.
pub(super) fn load_program(program: &Program<'_>, licence: &[u8]) -> Result<OwnedFd, Refusal> {
    with_log(|log| {
        let mut attributes = ProgramAttributes {
            kind: program.kind,
            instruction_count: length(program.instructions) / 8,
            instructions: address(program.instructions),
            licence: address(licence),
            name: name(program.name),
            attach_kind: program.attach_kind,
            btf: number(program.btf),
            function_size: 8,
            functions: address(program.functions),
            function_count: length(program.functions) / 8,
            attach_type: program.attach_type,
            access_count: length(program.accesses) / 16,
            accesses: address(program.accesses),
            access_size: 16,
            ..Default::default()
        };
        if let Some(log) = log {
            attributes.log = log.as_mut_ptr().expose_provenance() as u64;
            (attributes.log_size, attributes.log_level) = (length(log), 1);
        }
        descriptor(PROG_LOAD, &mut attributes)
    })
}

/// Creates a map with these attributes.
pub(super) fn create_map(mut attributes: MapAttributes) -> io::Result<OwnedFd> {
    descriptor(MAP_CREATE, &mut attributes)
}

/// Sets the first value of a map.
pub(super) fn update(map: BorrowedFd<'_>, value: &[u8]) -> io::Result<()> {
    let key = [0; 4];
    let mut attributes = ElementAttributes {
        map: number(map),
        key: address(&key),
        value: address(value),
        ..Default::default()
    };
    call(MAP_UPDATE_ELEM, &mut attributes).map(drop)
}

/// Deletes the first value of a map.
pub(super) fn delete(map: BorrowedFd<'_>) -> io::Result<()> {
    let key = [0; 4];
    let mut attributes = ElementAttributes { map: number(map), key: address(&key), ..Default::default() };
    call(MAP_DELETE_ELEM, &mut attributes).map(drop)
}

/// Makes a map read-only for user space.
pub(super) fn freeze(map: BorrowedFd<'_>) -> io::Result<()> {
    call(MAP_FREEZE, &mut ElementAttributes { map: number(map), ..Default::default() }).map(drop)
}

/// Attaches a program to a cgroup.
pub(super) fn attach(program: BorrowedFd<'_>, cgroup: BorrowedFd<'_>, kind: u32) -> io::Result<OwnedFd> {
    let (from, to) = (number(program), number(cgroup));
    descriptor(LINK_CREATE, &mut LinkAttributes { from, to, attach_kind: kind, ..Default::default() })
}

/// Registers the map of a control's programs by a link.
pub(super) fn register(map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let from = number(map);
    descriptor(
        LINK_CREATE,
        &mut LinkAttributes { from, attach_kind: ATTACH_STRUCT_OPS, ..Default::default() },
    )
}

/// Runs a program for each element of a map; the result is a file with the program's output.
pub(super) fn iterate(program: BorrowedFd<'_>, map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let iterated = [number(map), 0, 0, 0].map(u32::to_ne_bytes).concat();
    let link = descriptor(
        LINK_CREATE,
        &mut LinkAttributes {
            from: number(program),
            attach_kind: ATTACH_ITERATOR,
            iterated: address(&iterated),
            iterated_length: length(&iterated),
            ..Default::default()
        },
    )?;
    descriptor(ITER_CREATE, &mut IdAttributes { id: number(link.as_fd()), ..Default::default() })
}

/// Pins an object to a file of bpffs.
pub(super) fn pin(what: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = CString::new(OsStr::as_bytes(path.as_os_str()))?;
    let path = path.as_bytes_with_nul();
    call(OBJ_PIN, &mut PinAttributes { path: address(path), descriptor: number(what), flags: 0 }).map(drop)
}

/// All maps of the machine, except for those that vanish before they are opened.
pub(super) fn maps() -> impl Iterator<Item = (MapInfo, OwnedFd)> {
    let mut last = 0;
    let ids = std::iter::from_fn(move || {
        let mut attributes = IdAttributes { id: last, ..Default::default() };
        call(MAP_GET_NEXT_ID, &mut attributes).ok()?;
        last = attributes.next;
        Some(last)
    });
    ids.filter_map(|id| {
        let map = descriptor(MAP_GET_FD_BY_ID, &mut IdAttributes { id, ..Default::default() }).ok()?;
        let mut info = MapInfo::default();
        let mut attributes = InfoAttributes {
            descriptor: number(map.as_fd()),
            length: u32::try_from(size_of::<MapInfo>()).expect("a small structure"),
            info: ptr::from_mut(&mut info).expose_provenance() as u64,
        };
        call(OBJ_GET_INFO_BY_FD, &mut attributes).ok()?;
        Some((info, map))
    })
}

/// Error of a refused request, with the last line of the kernel's log.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) error: io::Error,
    pub(super) explanation: String,
}

/// Makes a request, and repeats it with a log if the kernel refuses it.
fn with_log(attempt: impl Fn(Option<&mut [u8]>) -> io::Result<OwnedFd>) -> Result<OwnedFd, Refusal> {
    attempt(None).or_else(|error| {
        let mut log = vec![0; LOG];
        attempt(Some(&mut log)).map_err(|_| Refusal { error, explanation: last_line(&log) })
    })
}

/// Last line of a verifier log that gives the reason of a failure; lines of statistics are skipped.
fn last_line(log: &[u8]) -> String {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..end]);
    let is_reason = |line: &&str| !line.trim().is_empty() && !line.starts_with("processed ");
    text.lines().rev().find(is_reason).unwrap_or_default().trim().to_owned()
}

fn descriptor<T>(command: c_long, attributes: &mut T) -> io::Result<OwnedFd> {
    let number = call(command, attributes)?;
    let number = i32::try_from(number).map_err(io::Error::other)?;
    // SAFETY: the commands in this module return a new file descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

fn call<T>(command: c_long, attributes: &mut T) -> io::Result<c_long> {
    // SAFETY: the kernel accesses `size_of::<T>()` bytes at the address, and the slices to which they refer,
    // which the caller borrows during the call.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, ptr::from_mut(attributes), size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Name in the kernel's form, with a terminating zero byte.
pub(super) fn name(text: &str) -> [u8; NAME] {
    let mut field = [0; NAME];
    let length = text.len().min(NAME - 1);
    field[..length].copy_from_slice(&text.as_bytes()[..length]);
    field
}

fn number(descriptor: BorrowedFd<'_>) -> u32 {
    u32::try_from(descriptor.as_raw_fd()).expect("open files have numbers from 0 on")
}

fn address(bytes: &[u8]) -> u64 {
    bytes.as_ptr().expose_provenance() as u64
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("programs are small")
}

/// Bytes of a name, with its zero.
pub(super) const NAME: usize = 16;
/// Length of the buffer for the kernel's explanation, bytes.
const LOG: usize = 1 << 20;

const MAP_CREATE: c_long = 0;
const MAP_UPDATE_ELEM: c_long = 2;
const MAP_DELETE_ELEM: c_long = 3;
const PROG_LOAD: c_long = 5;
const OBJ_PIN: c_long = 6;
const MAP_GET_NEXT_ID: c_long = 12;
const MAP_GET_FD_BY_ID: c_long = 14;
const OBJ_GET_INFO_BY_FD: c_long = 15;
const BTF_LOAD: c_long = 18;
const MAP_FREEZE: c_long = 22;
const LINK_CREATE: c_long = 28;
const ITER_CREATE: c_long = 33;

pub(super) const ATTACH_ITERATOR: u32 = 28;
const ATTACH_STRUCT_OPS: u32 = 44;
