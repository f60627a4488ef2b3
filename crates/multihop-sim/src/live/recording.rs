//! Recordings: every packet that entered a live run, with its virtual time.
//!
//! A line of text names the format and the run's identity. Each entry follows in binary, numbers with the lowest byte
//! first: 8 bytes of nanoseconds, 4 bytes of the node's number, 2 bytes of length, the packet. The last entry has the
//! end of the run, the node number [`END`] and no bytes.

use std::io::{self, Read, Write};

use multihop_core::{Instant, NodeId};

/// Writes a recording.
pub struct Recording(Box<dyn Write + Send>);

/// An entry of a recording.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Entry {
    Packet { at: Instant, node: NodeId, bytes: Vec<u8> },
    End { at: Instant },
}

const FORMAT: &str = "multihop recording 1";
/// In place of a node's number.
const END: u32 = u32::MAX;

impl Recording {
    /// Begins a recording of the run with this [`identity`](super::identity).
    pub fn new(mut out: Box<dyn Write + Send>, identity: &str) -> io::Result<Self> {
        writeln!(out, "{FORMAT} {identity}")?;
        Ok(Self(out))
    }

    pub(super) fn entered(&mut self, at: Instant, node: NodeId, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(&at.as_nanos().to_le_bytes())?;
        self.0.write_all(&node.0.to_le_bytes())?;
        self.0.write_all(&u16::try_from(bytes.len()).map_err(io::Error::other)?.to_le_bytes())?;
        self.0.write_all(bytes)
    }

    pub(super) fn finish(mut self, at: Instant) -> io::Result<()> {
        self.entered(at, NodeId(END), &[])?;
        self.0.flush()
    }
}

/// Reads the first line of a recording: the identity of the run.
pub(super) fn read_identity(from: &mut impl Read) -> Result<String, String> {
    let mut line = [0; FORMAT.len() + 1 + 32 + 1];
    from.read_exact(&mut line).map_err(|_| NO_RECORDING)?;
    let line = str::from_utf8(&line).map_err(|_| NO_RECORDING)?;
    let identity = line.strip_prefix(FORMAT).and_then(|rest| rest.strip_prefix(' ')?.strip_suffix('\n'));
    Ok(identity.ok_or(NO_RECORDING)?.to_owned())
}

/// Reads the next entry.
pub(super) fn read_entry(from: &mut impl Read) -> Result<Entry, String> {
    let mut head = [0; 14];
    read_all(from, &mut head)?;
    let [t @ .., a, b, c, d, low, high] = head;
    let (at, node) = (Instant::from_nanos(u64::from_le_bytes(t)), u32::from_le_bytes([a, b, c, d]));
    if node == END {
        return Ok(Entry::End { at });
    }
    let mut bytes = vec![0; usize::from(u16::from_le_bytes([low, high]))];
    read_all(from, &mut bytes)?;
    Ok(Entry::Packet { at, node: NodeId(node), bytes })
}

fn read_all(from: &mut impl Read, bytes: &mut [u8]) -> Result<(), String> {
    from.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => "is incomplete: the run was killed before its end".to_owned(),
        _ => format!("cannot be read: {error}"),
    })
}

const NO_RECORDING: &str = "is not a recording of multihop emulate";
