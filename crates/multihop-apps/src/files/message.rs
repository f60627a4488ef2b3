//! The messages of a transfer.
//!
//! # Bytes
//!
//! Numbers are big-endian, and a number in parentheses is a length in bytes. The stream consists of frames: kind (1),
//! length of the body (4), body of at most 32,768 bytes. A longer or invalid body, or an unknown kind, ends the
//! connection.
//!
//! The connecting end sends the files; with a code, the listening end. Frames have this order:
//!
//! | kind | from | body | |
//! |---|---|---|---|
//! | 1 HELLO | sender | `multihop files`, version (1): 2, patience in ms (4) | within 10 s |
//! | 2 ENTRY | sender | type (1: 0 folder, 1 file, 2 symbolic link), permission bits (2), modification time: seconds since 1970 (8, signed), nanoseconds (4; all ones with 0 seconds: unknown), size (8; all ones: unknown), bytes outside of holes (8), length of the name (2), name; of a link then its target | folders before contents |
//! | 3 LISTED | sender | number of entries (4) | |
//! | 4 HAVE | receiver | index of the entry (4, from 0), bytes present (8), their BLAKE3 (32) | for each file present in whole or part |
//! | 5 READY | receiver | patience in ms (4) | or FAILED |
//! | 6 FILE | sender | index (4), offset (8): 0, or the bytes present by HAVE if the prefix is equal | in the order of the list |
//! | 7 DATA | sender | bytes | repeated |
//! | 13 HOLE | sender | number of zero bytes (4), at most 2^22 | in place of DATA |
//! | 8 END | sender | BLAKE3 of the whole file, holes included (32) | |
//! | 9 DONE | sender | | |
//! | 10 VERDICT | receiver | number of files (4) in place and on the disk | success |
//! | 11 FAILED | either | reason, UTF-8, up to 8192 bytes | at any time |
//! | 12 WAIT | either | the byte 1 from a receiver that serves others first; otherwise empty | after 1 s without another message, or after a quarter of the other's patience if that is less |
//!
//! After VERDICT or FAILED sender and receiver close the connection. A receiver of another version answers HELLO with
//! FAILED.

use std::time::Duration;

use super::names::{BadName, LinkTarget, NAME_MAX, Name, printable};

/// A message of a file transfer, from either end.
#[derive(Debug)]
pub(super) enum TransferMessage<'a> {
    /// First message of a sender. The sender gives up after receiving nothing for `patience`.
    Hello { patience: Duration },
    /// First message of a sender that uses another version of the protocol.
    OtherVersion(u8),
    /// One entry of the sender's list.
    FileEntry(Result<FileEntry, BadName>),
    /// End of the sender's list.
    Listed { entries: u32 },
    /// The receiver has the first `offset` bytes of a file, and their hash.
    Have(Have),
    /// End of the receiver's list. The receiver gives up after receiving nothing for `patience`.
    Ready { patience: Duration },
    /// Start of a file's data, which begins at `offset`.
    File { index: u32, offset: u64 },
    /// The next bytes of the file.
    Data(&'a [u8]),
    /// A hole: this number of bytes, at most [`HOLE_MAX`], are zero and need no space at the sender.
    Hole(u32),
    /// End of a file, with the hash of the whole file.
    End { hash: Hash },
    /// The sender has sent all files.
    Done,
    /// All files are complete at the receiver.
    Verdict { files: u32 },
    /// The peer gave up, for this reason.
    Failed(String),
    /// Keepalive of a peer that is busy.
    Wait,
}

/// An entry: a file, a folder or a symbolic link.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct FileEntry {
    pub(super) kind: EntryKind,
    /// Permission bits, at most [`MODE_MAX`].
    pub(super) mode: u16,
    pub(super) modified: Option<Modified>,
    /// Size of the file in bytes; `None` if unknown before the end.
    pub(super) size: Option<u64>,
    /// Bytes of the file outside of holes (unallocated ranges), as far as the sender's file system reports them.
    pub(super) stored: u64,
    pub(super) name: Name,
}

impl FileEntry {
    pub(super) fn is_file(&self) -> bool {
        self.kind == EntryKind::File
    }
}

/// A modification time, counted since the beginning of 1970.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Modified {
    pub(super) seconds: i64,
    /// Nanoseconds within the second, below 10^9.
    pub(super) nanoseconds: u32,
}

/// The part of a file that the receiver has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Have {
    pub(super) index: u32,
    pub(super) offset: u64,
    pub(super) hash: Hash,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum EntryKind {
    Folder,
    File,
    Link(LinkTarget),
}

pub(super) type Hash = [u8; 32];

impl<'a> TransferMessage<'a> {
    /// Parses a message; `None` if it is invalid.
    pub(super) fn parse(kind: u8, body: &'a [u8]) -> Option<Self> {
        Some(match kind {
            HELLO => match body.strip_prefix(MAGIC)? {
                [VERSION, patience @ ..] => Self::Hello { patience: milliseconds(patience)? },
                &[version, ..] => Self::OtherVersion(version),
                [] => return None,
            },
            ENTRY => Self::FileEntry(entry(body)?),
            LISTED => Self::Listed { entries: u32::from_be_bytes(body.try_into().ok()?) },
            HAVE => {
                let (index, rest) = body.split_first_chunk()?;
                let (offset, hash) = rest.split_first_chunk()?;
                let (index, offset) = (u32::from_be_bytes(*index), u64::from_be_bytes(*offset));
                Self::Have(Have { index, offset, hash: hash.try_into().ok()? })
            }
            READY => Self::Ready { patience: milliseconds(body)? },
            FILE => {
                let (index, offset) = body.split_first_chunk()?;
                let offset = u64::from_be_bytes(offset.try_into().ok()?);
                Self::File { index: u32::from_be_bytes(*index), offset }
            }
            DATA => Self::Data(body),
            HOLE => {
                let length = u32::from_be_bytes(body.try_into().ok()?);
                Self::Hole(Some(length).filter(|length| (1..=HOLE_MAX).contains(length))?)
            }
            END => Self::End { hash: body.try_into().ok()? },
            DONE if body.is_empty() => Self::Done,
            VERDICT => Self::Verdict { files: u32::from_be_bytes(body.try_into().ok()?) },
            FAILED => Self::Failed(printable(&body[..body.len().min(REASON_MAX)])),
            WAIT if body.is_empty() => Self::Wait,
            _ => return None,
        })
    }

    /// Kind of the message, and its body: a header in `scratch`, and data elsewhere.
    pub(super) fn emit<'b>(&'b self, scratch: &'b mut Vec<u8>) -> (u8, &'b [u8]) {
        scratch.clear();
        let kind = match self {
            Self::Hello { patience } => {
                scratch.extend_from_slice(MAGIC);
                scratch.push(VERSION);
                scratch.extend(emit_milliseconds(*patience));
                HELLO
            }
            Self::OtherVersion(_) => unreachable!("this end has one version"),
            Self::FileEntry(Ok(entry)) => {
                emit_entry(entry, scratch);
                ENTRY
            }
            Self::FileEntry(Err(_)) => unreachable!("a bad name is never sent"),
            Self::Listed { entries: number } | Self::Verdict { files: number } => {
                scratch.extend(number.to_be_bytes());
                if matches!(self, Self::Listed { .. }) { LISTED } else { VERDICT }
            }
            Self::Have(Have { index, offset, hash }) => {
                scratch.extend(index.to_be_bytes());
                scratch.extend(offset.to_be_bytes());
                scratch.extend(hash);
                HAVE
            }
            Self::Ready { patience } => {
                scratch.extend(emit_milliseconds(*patience));
                READY
            }
            Self::File { index, offset } => {
                scratch.extend(index.to_be_bytes());
                scratch.extend(offset.to_be_bytes());
                FILE
            }
            Self::Data(data) => return (DATA, data),
            Self::Hole(length) => {
                scratch.extend(length.to_be_bytes());
                HOLE
            }
            Self::End { hash } => return (END, hash),
            Self::Done => DONE,
            Self::Failed(reason) => {
                let end = reason.floor_char_boundary(REASON_MAX);
                return (FAILED, &reason.as_bytes()[..end]);
            }
            Self::Wait => WAIT,
        };
        (kind, scratch)
    }
}

/// Checks that a parsed message emits the same bytes.
#[cfg(fuzzing)]
pub(crate) fn check(kind: u8, body: &[u8]) {
    match TransferMessage::parse(kind, body) {
        // Text for users has its control characters escaped.
        None
        | Some(
            TransferMessage::Failed(_)
            | TransferMessage::FileEntry(Err(_))
            | TransferMessage::OtherVersion(_),
        ) => {}
        Some(message) => assert_eq!(message.emit(&mut Vec::new()), (kind, body)),
    }
}

fn emit_entry(entry: &FileEntry, out: &mut Vec<u8>) {
    let FileEntry { kind, mode, modified, size, stored, name } = entry;
    let (kind, target) = match kind {
        EntryKind::Folder => (FOLDER, &[][..]),
        EntryKind::File => (REGULAR, &[][..]),
        EntryKind::Link(target) => (LINK, target.as_bytes()),
    };
    let Modified { seconds, nanoseconds } = modified.unwrap_or(Modified { seconds: 0, nanoseconds: NO_TIME });
    out.push(kind);
    out.extend(mode.to_be_bytes());
    out.extend(seconds.to_be_bytes());
    out.extend(nanoseconds.to_be_bytes());
    out.extend(size.unwrap_or(UNKNOWN).to_be_bytes());
    out.extend(stored.to_be_bytes());
    out.extend(u16::try_from(name.as_bytes().len()).expect("names are short").to_be_bytes());
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(target);
}

fn entry(body: &[u8]) -> Option<Result<FileEntry, BadName>> {
    let (&[kind], rest) = body.split_first_chunk()?;
    let (mode, rest) = rest.split_first_chunk()?;
    let (seconds, rest) = rest.split_first_chunk()?;
    let (nanoseconds, rest) = rest.split_first_chunk()?;
    let (size, rest) = rest.split_first_chunk()?;
    let (stored, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (name, target) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
    let mode = Some(u16::from_be_bytes(*mode)).filter(|&mode| mode <= MODE_MAX)?;
    let modified = match (i64::from_be_bytes(*seconds), u32::from_be_bytes(*nanoseconds)) {
        (0, NO_TIME) => None,
        (seconds, nanoseconds @ 0..1_000_000_000) => Some(Modified { seconds, nanoseconds }),
        _ => return None,
    };
    if kind > LINK || (kind != LINK && !target.is_empty()) {
        return None;
    }
    let size = Some(u64::from_be_bytes(*size)).filter(|&size| size != UNKNOWN);
    let stored = u64::from_be_bytes(*stored);
    Some(Name::parse(name).and_then(|name| {
        let kind = match kind {
            FOLDER => EntryKind::Folder,
            REGULAR => EntryKind::File,
            _ => EntryKind::Link(LinkTarget::parse(&name, target, name.parents())?),
        };
        Ok(FileEntry { kind, mode, modified, size, stored, name })
    }))
}

fn milliseconds(body: &[u8]) -> Option<Duration> {
    Some(Duration::from_millis(u32::from_be_bytes(body.try_into().ok()?).into()))
}

fn emit_milliseconds(time: Duration) -> [u8; 4] {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX).to_be_bytes()
}

/// Version of the transfer protocol.
pub(super) const VERSION: u8 = 2;
/// The kind of keepalive messages.
pub(super) const WAIT: u8 = 12;
/// Body of a WAIT message from a receiver that serves other senders first.
pub(super) const QUEUED: &[u8] = &[1];
const HELLO: u8 = 1;
const ENTRY: u8 = 2;
const LISTED: u8 = 3;
const HAVE: u8 = 4;
const READY: u8 = 5;
const FILE: u8 = 6;
const DATA: u8 = 7;
const END: u8 = 8;
const DONE: u8 = 9;
const VERDICT: u8 = 10;
const FAILED: u8 = 11;
const HOLE: u8 = 13;
/// Largest hole in one message. Its hash takes some milliseconds, so that a peer cannot keep this end busy
/// without sending messages.
pub(super) const HOLE_MAX: u32 = 1 << 22;
/// Kind number of a folder entry; other numbers are regular files and links.
const FOLDER: u8 = 0;
const REGULAR: u8 = 1;
const LINK: u8 = 2;
/// Mask of the permission bits. Set-user-ID, set-group-ID and sticky bits are never transferred.
pub(super) const MODE_MAX: u16 = 0o777;
/// Value of the nanoseconds for an unknown modification time.
const NO_TIME: u32 = u32::MAX;
const MAGIC: &[u8] = b"multihop files";
const UNKNOWN: u64 = u64::MAX;
const REASON_MAX: usize = 2 * NAME_MAX;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(message: &TransferMessage<'_>) {
        let mut scratch = Vec::new();
        let (kind, body) = message.emit(&mut scratch);
        let again = TransferMessage::parse(kind, body).expect("our own message");
        assert_eq!(format!("{again:?}"), format!("{message:?}"));
    }

    #[test]
    fn messages_survive_a_round_trip() {
        let hash = [7; 32];
        let name = Name::parse(b"a/b").unwrap();
        let link = LinkTarget::parse(&name, b"../c", 1).unwrap();
        for kind in [EntryKind::Folder, EntryKind::File, EntryKind::Link(link)] {
            for (size, modified) in [
                (None, None),
                (Some(0), Some(Modified { seconds: -1, nanoseconds: 999_999_999 })),
                (Some(1 << 40), Some(Modified { seconds: 1 << 40, nanoseconds: 0 })),
            ] {
                let (kind, name) = (kind.clone(), name.clone());
                let entry = FileEntry { kind, mode: 0o640, modified, size, stored: 3, name };
                round_trip(&TransferMessage::FileEntry(Ok(entry)));
            }
        }
        round_trip(&TransferMessage::Hello { patience: Duration::from_millis(1500) });
        round_trip(&TransferMessage::Listed { entries: 3 });
        round_trip(&TransferMessage::Have(Have { index: 1, offset: 1 << 33, hash }));
        round_trip(&TransferMessage::Ready { patience: Duration::from_secs(120) });
        round_trip(&TransferMessage::File { index: 9, offset: 5 });
        round_trip(&TransferMessage::Data(b"data"));
        round_trip(&TransferMessage::Hole(HOLE_MAX));
        round_trip(&TransferMessage::End { hash });
        round_trip(&TransferMessage::Done);
        round_trip(&TransferMessage::Verdict { files: 2 });
        round_trip(&TransferMessage::Failed("the disk is full".to_owned()));
        round_trip(&TransferMessage::Wait);
    }

    proptest! {
        #[test]
        fn noise_is_refused_or_understood(kind: u8, body in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = TransferMessage::parse(kind, &body);
        }
    }
}
