//! Capture files in the pcapng format (draft-ietf-opsawg-pcapng).

use std::io::{self, Write};

use multihop_core::Instant;
use multihop_wire::radiotap;

/// Writes a capture file of 802.11 frames with radiotap headers.
///
/// Time starts at the epoch: a packet at 1.5 s has the date 1970-01-01 00:00:01.5.
#[derive(Debug)]
pub(crate) struct PcapngWriter<W> {
    out: W,
    interfaces: usize,
    /// Number of bytes captured of a packet; `None` captures whole packets.
    snap_length: Option<u32>,
    /// Buffer for a block, reused so that a packet needs no allocation.
    block: Vec<u8>,
}

/// An interface in the head of a capture file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Described<'a> {
    pub(crate) name: &'a str,
    /// Description of the interface for readers of the capture; none is written if it is empty.
    pub(crate) description: &'a str,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the head of the file, with its interfaces.
    pub(crate) fn new<'a>(
        out: W,
        interfaces: impl IntoIterator<Item = Described<'a>>,
        snap_length: Option<u32>,
    ) -> io::Result<Self> {
        let mut writer = Self { out, interfaces: 0, snap_length, block: Vec::new() };
        writer.section_header()?;
        for interface in interfaces {
            writer.interface_description(&interface)?;
            writer.interfaces += 1;
        }
        Ok(writer)
    }

    /// Writes the packet that `interface` (from 0, in the order of the head) sent or received at `at`.
    pub(crate) fn packet(
        &mut self,
        interface: u32,
        at: Instant,
        bytes: &[u8],
        comment: Option<&str>,
    ) -> io::Result<()> {
        if interface as usize >= self.interfaces {
            let found = format!("interface {interface} in a capture of {} interfaces", self.interfaces);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, found));
        }
        let len = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let at = at.as_nanos();
        self.begin(ENHANCED_PACKET);
        self.u32(interface);
        self.u32(u32::try_from(at >> 32).expect("half of 64 bits"));
        self.u32(u32::try_from(at & 0xffff_ffff).expect("half of 64 bits"));
        let kept = self.snap_length.unwrap_or(len).min(len);
        self.u32(kept);
        self.u32(len);
        self.padded(&bytes[..kept as usize]);
        if let Some(comment) = comment {
            self.option(COMMENT, comment.as_bytes())?;
            self.u32(END_OF_OPTIONS);
        }
        self.end()
    }

    /// Flushes and returns the destination.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn section_header(&mut self) -> io::Result<()> {
        self.begin(SECTION_HEADER);
        self.u32(BYTE_ORDER_MAGIC);
        self.u16(1); // version 1.0
        self.u16(0);
        self.block.extend_from_slice(&UNKNOWN_LENGTH.to_le_bytes());
        self.end()
    }

    fn interface_description(&mut self, interface: &Described<'_>) -> io::Result<()> {
        self.begin(INTERFACE_DESCRIPTION);
        self.u16(radiotap::LINKTYPE);
        self.u16(0);
        self.u32(self.snap_length.unwrap_or(NO_SNAP_LENGTH));
        self.option(IF_NAME, interface.name.as_bytes())?;
        if !interface.description.is_empty() {
            self.option(IF_DESCRIPTION, interface.description.as_bytes())?;
        }
        self.option(IF_TSRESOL, &[NANOSECONDS])?;
        self.u32(END_OF_OPTIONS);
        self.end()
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.u32(kind);
        self.u32(0);
    }

    fn end(&mut self) -> io::Result<()> {
        let total = u32::try_from(self.block.len() + 4).map_err(io::Error::other)?;
        self.block[4..8].copy_from_slice(&total.to_le_bytes());
        self.u32(total);
        self.out.write_all(&self.block)
    }

    fn option(&mut self, code: u16, value: &[u8]) -> io::Result<()> {
        let len = u16::try_from(value.len()).map_err(|_| {
            let found = format!("name or comment has {} bytes, at most 65535 are allowed", value.len());
            io::Error::new(io::ErrorKind::InvalidInput, found)
        })?;
        self.u16(code);
        self.u16(len);
        self.padded(value);
        Ok(())
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn u16(&mut self, value: u16) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// Magic number of a little-endian capture, written on every machine so that a run writes equal bytes everywhere.
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const UNKNOWN_LENGTH: u64 = u64::MAX;
const NO_SNAP_LENGTH: u32 = 0;

const END_OF_OPTIONS: u32 = 0;
const COMMENT: u16 = 1;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
/// The resolution of timestamps, as a negative power of ten.
const NANOSECONDS: u8 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    fn capture() -> PcapngWriter<Vec<u8>> {
        PcapngWriter::new(Vec::new(), ["n0", "node1"].map(named), None).unwrap()
    }

    fn named(name: &str) -> Described<'_> {
        Described { name, description: "" }
    }

    #[test]
    fn a_file_begins_with_its_interfaces() {
        let expected = [
            &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..],
            &[0xff; 8],
            &[28, 0, 0, 0],
            &[1, 0, 0, 0, 40, 0, 0, 0, 127, 0, 0, 0, 0, 0, 0, 0],
            &[2, 0, 2, 0, b'n', b'0', 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0],
            &[1, 0, 0, 0, 44, 0, 0, 0, 127, 0, 0, 0, 0, 0, 0, 0],
            &[2, 0, 5, 0, b'n', b'o', b'd', b'e', b'1', 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0],
            &[44, 0, 0, 0],
        ]
        .concat();
        assert_eq!(capture().finish().unwrap(), expected);
    }

    #[test]
    fn an_interface_may_have_a_description() {
        let interface = Described { name: "n0", description: "a" };
        let capture = PcapngWriter::new(Vec::new(), [interface], None).unwrap();
        let expected = [
            &[1, 0, 0, 0, 48, 0, 0, 0, 127, 0, 0, 0, 0, 0, 0, 0][..],
            &[2, 0, 2, 0, b'n', b'0', 0, 0, 3, 0, 1, 0, b'a', 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0],
            &[48, 0, 0, 0],
        ]
        .concat();
        assert_eq!(capture.finish().unwrap()[28..], expected);
    }

    #[test]
    fn packets_with_and_without_comment() {
        let mut capture = capture();
        let head = capture.out.len();
        capture.packet(1, Instant::from_nanos(0x1_0000_0002), &[7; 5], None).unwrap();
        capture.packet(0, Instant::ZERO, &[8; 4], Some("no-route")).unwrap();
        let expected = [
            &[6, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0][..],
            &[7, 7, 7, 7, 7, 0, 0, 0, 40, 0, 0, 0],
            &[6, 0, 0, 0, 52, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0],
            &[8, 8, 8, 8, 1, 0, 8, 0],
            b"no-route",
            &[0, 0, 0, 0, 52, 0, 0, 0],
        ]
        .concat();
        assert_eq!(capture.finish().unwrap()[head..], expected);
    }

    #[test]
    fn packets_are_cut_to_the_snap_length() {
        let mut capture = PcapngWriter::new(Vec::new(), ["n0"].map(named), Some(4)).unwrap();
        assert_eq!(capture.out[40..44], 4_u32.to_le_bytes(), "of the interface");
        let head = capture.out.len();
        capture.packet(0, Instant::ZERO, &[7; 5], None).unwrap();
        let expected = [
            &[6, 0, 0, 0, 36, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0][..],
            &[7, 7, 7, 7, 36, 0, 0, 0],
        ]
        .concat();
        assert_eq!(capture.finish().unwrap()[head..], expected);
    }

    #[test]
    fn invalid_packets_are_refused_and_leave_the_file_intact() {
        let mut capture = capture();
        let head = capture.out.len();
        let error = capture.packet(2, Instant::ZERO, &[], None).unwrap_err();
        assert_eq!(error.to_string(), "interface 2 in a capture of 2 interfaces");
        let long = "x".repeat(65_536);
        let error = capture.packet(0, Instant::ZERO, &[], Some(&long)).unwrap_err();
        assert_eq!(error.to_string(), "name or comment has 65536 bytes, at most 65535 are allowed");
        assert_eq!(capture.finish().unwrap().len(), head);
    }
}
