//! Recordings: every packet that entered a live run, with its virtual time.
//!
//! The first line of text contains the format and the run's identity, the second line the scenario as JSON.
//! Entries follow in binary, with numbers in little-endian order: 8 bytes of nanoseconds, 4 bytes of the
//! node's number, 1 byte of the interface's number, 2 bytes of length, the packet. An entry with the node
//! number [`CHANGE`] contains a [`Change`] as JSON, since format 4. Format 2 has no number of an interface:
//! all packets enter over the first one. The last entry contains the end of the run, the node number [`END`]
//! and no bytes. Entries with [`PASSED`] contain the run's progress, for readers of a growing recording.

use std::io::{self, BufRead, Read, Write};

use multihop_core::{Instant, Interface, NodeId};
use multihop_scenario::Request;

use super::change::Change;

/// Writer of a recording of everything that enters a live network.
pub struct Recording(Box<dyn Write + Send>);

/// First record of a recording: the run to which it belongs.
#[derive(Debug)]
pub struct Head {
    /// Format of the entries that follow the head.
    pub(crate) format: Format,
    /// Identity of the recorded run; see [`identity`](super::identity).
    pub identity: String,
    /// The scenario of the run.
    pub request: Request,
}

/// Format of the entries of a recording.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Format {
    /// Format 2, in which entries have no interface number.
    WithoutInterfaces,
    /// Formats 3 and 4, in which entries have an interface number; [`Recording`] writes format 4.
    WithInterfaces,
}

/// One entry of a recording: a packet, a change of the network, a mark of time, or the end.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Entry {
    Packet {
        at: Instant,
        node: NodeId,
        interface: Interface,
        bytes: Vec<u8>,
    },
    /// The time advances to this instant, and no packet has entered until then.
    Passed {
        at: Instant,
    },
    /// The network changes; the bytes are a [`Change`] as JSON.
    Change {
        at: Instant,
        bytes: Vec<u8>,
    },
    End {
        at: Instant,
    },
}

impl Entry {
    /// Instant of the entry.
    pub(crate) const fn at(&self) -> Instant {
        let (Self::Packet { at, .. } | Self::Passed { at } | Self::Change { at, .. } | Self::End { at }) =
            self;
        *at
    }
}

/// Beginning of the first line of a recording, in every version of the format.
const NAME: &str = "multihop recording ";
/// Formats that this version can read.
const FORMATS: [(&str, Format); 3] =
    [("2", Format::WithoutInterfaces), ("3", Format::WithInterfaces), ("4", Format::WithInterfaces)];
/// Format of new recordings.
const NEWEST: &str = "4";
/// Number in place of a node that marks the end of a recording.
const END: u32 = u32::MAX;
const PASSED: u32 = u32::MAX - 1;
/// Number in place of a node that marks a change of the network.
const CHANGE: u32 = u32::MAX - 2;

impl Recording {
    /// Begins a recording of the run with this [`identity`](super::identity).
    pub fn new(mut out: Box<dyn Write + Send>, identity: &str, request: &Request) -> io::Result<Self> {
        writeln!(out, "{NAME}{NEWEST} {identity}\n{}", serde_json::to_string(request)?)?;
        Ok(Self(out))
    }

    pub(super) fn entered(
        &mut self,
        at: Instant,
        node: NodeId,
        interface: Interface,
        bytes: &[u8],
    ) -> io::Result<()> {
        self.0.write_all(&at.as_nanos().to_le_bytes())?;
        self.0.write_all(&node.0.to_le_bytes())?;
        self.0.write_all(&[interface.0])?;
        self.0.write_all(&u16::try_from(bytes.len()).map_err(io::Error::other)?.to_le_bytes())?;
        self.0.write_all(bytes)
    }

    /// Writes a change of the network.
    pub(super) fn changed(&mut self, at: Instant, change: &Change) -> io::Result<()> {
        self.entered(at, NodeId(CHANGE), Interface(0), &serde_json::to_vec(change)?)
    }

    /// Writes that no packet has entered until `at`, so that programs that read the growing recording can
    /// advance to this time.
    pub fn passed(&mut self, at: Instant) -> io::Result<()> {
        self.entered(at, NodeId(PASSED), Interface(0), &[])?;
        self.0.flush()
    }

    /// Writes the end of the recording, at this virtual time, and flushes it.
    pub fn finish(mut self, at: Instant) -> io::Result<()> {
        self.entered(at, NodeId(END), Interface(0), &[])?;
        self.0.flush()
    }
}

/// Whether a file with these first bytes is a recording, of any version.
pub fn is_recording(first: &[u8]) -> bool {
    first.starts_with(NAME.as_bytes())
}

/// Reads the text before the entries of a recording.
pub fn read_head(from: &mut impl BufRead) -> Result<Head, String> {
    let first = read_line(from, NAME.len() + 64)?;
    let (version, identity) =
        first.strip_prefix(NAME).and_then(|rest| rest.split_once(' ')).ok_or(NO_RECORDING)?;
    let Some((_, format)) = FORMATS.into_iter().find(|(name, _)| *name == version) else {
        return Err(format!("has format {version}, allowed: 2, 3, 4"));
    };
    let request = read_line(from, LONGEST_REQUEST)?;
    let request =
        serde_json::from_str(&request).map_err(|error| format!("has a damaged scenario: {error}"))?;
    Ok(Head { format, identity: identity.to_owned(), request })
}

fn read_line(from: &mut impl BufRead, longest: usize) -> Result<String, String> {
    let mut line = Vec::new();
    let read = from.take(longest as u64).read_until(b'\n', &mut line);
    read.map_err(|error| format!("cannot be read: {error}"))?;
    let line = line.strip_suffix(b"\n").ok_or(NO_RECORDING)?;
    Ok(str::from_utf8(line).map_err(|_| NO_RECORDING)?.to_owned())
}

/// Reads the next entry.
pub(crate) fn read_entry(from: &mut impl Read, format: Format) -> Result<Entry, String> {
    let (mut head, mut interface, mut length) = ([0; 12], [0], [0; 2]);
    read_all(from, &mut head)?;
    if format == Format::WithInterfaces {
        read_all(from, &mut interface)?;
    }
    read_all(from, &mut length)?;
    let [t @ .., a, b, c, d] = head;
    let (at, node) = (Instant::from_nanos(u64::from_le_bytes(t)), u32::from_le_bytes([a, b, c, d]));
    match node {
        END => return Ok(Entry::End { at }),
        PASSED => return Ok(Entry::Passed { at }),
        _ => {}
    }
    let mut bytes = vec![0; usize::from(u16::from_le_bytes(length))];
    read_all(from, &mut bytes)?;
    if node == CHANGE {
        return Ok(Entry::Change { at, bytes });
    }
    Ok(Entry::Packet { at, node: NodeId(node), interface: Interface(interface[0]), bytes })
}

fn read_all(from: &mut impl Read, bytes: &mut [u8]) -> Result<(), String> {
    from.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => "is incomplete: the run was killed before its end".to_owned(),
        _ => format!("cannot be read: {error}"),
    })
}

/// Largest length of the request in the head, bytes. A scenario has at most 16 MiB, and JSON may escape each byte by
/// six.
const LONGEST_REQUEST: usize = 100 << 20;
const NO_RECORDING: &str = "is not a recording of multihop emulate";
