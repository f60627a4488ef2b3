//! The messages of a transfer, as docs/net-programs.md specifies them.

use super::names::{BadName, NAME_MAX, Name, printable};

/// One message.
#[derive(Debug)]
pub(super) enum TransferMessage<'a> {
    /// The first message.
    Hello { version: u8 },
    /// One entry of the sender's list.
    FileEntry(Result<FileEntry, BadName>),
    /// The end of the list.
    Listed { entries: u32 },
    /// The receiver has the first `offset` bytes of a file, and their hash.
    Have(Have),
    /// The end of the receiver's list.
    Ready,
    /// The start of a file's data, at `offset`.
    File { index: u32, offset: u64 },
    /// The next bytes of the file.
    Data(&'a [u8]),
    /// The end of the file, with the hash of all of it.
    End { hash: Hash },
    /// The end of all files.
    Done,
    /// All files are complete at the receiver.
    Verdict { files: u32 },
    /// The peer gave up, for this reason.
    Failed(String),
    /// Keepalive: the peer is busy.
    Wait,
}

/// An entry: a file or a folder.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct FileEntry {
    pub(super) kind: EntryKind,
    /// Bytes; `None` if unknown before the end.
    pub(super) size: Option<u64>,
    pub(super) name: Name,
}

/// The part of a file that the receiver has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Have {
    pub(super) index: u32,
    pub(super) offset: u64,
    pub(super) hash: Hash,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum EntryKind {
    Folder,
    File,
    Executable,
}

pub(super) type Hash = [u8; 32];

impl<'a> TransferMessage<'a> {
    /// Parses a message; `None` if it is invalid.
    pub(super) fn parse(kind: u8, body: &'a [u8]) -> Option<Self> {
        Some(match kind {
            HELLO => match body.strip_prefix(MAGIC)? {
                &[version] => Self::Hello { version },
                _ => return None,
            },
            ENTRY => Self::FileEntry(entry(body)?),
            LISTED => Self::Listed { entries: u32::from_be_bytes(body.try_into().ok()?) },
            HAVE => {
                let (index, rest) = body.split_first_chunk()?;
                let (offset, hash) = rest.split_first_chunk()?;
                let (index, offset) = (u32::from_be_bytes(*index), u64::from_be_bytes(*offset));
                Self::Have(Have { index, offset, hash: hash.try_into().ok()? })
            }
            READY if body.is_empty() => Self::Ready,
            FILE => {
                let (index, offset) = body.split_first_chunk()?;
                let offset = u64::from_be_bytes(offset.try_into().ok()?);
                Self::File { index: u32::from_be_bytes(*index), offset }
            }
            DATA => Self::Data(body),
            END => Self::End { hash: body.try_into().ok()? },
            DONE if body.is_empty() => Self::Done,
            VERDICT => Self::Verdict { files: u32::from_be_bytes(body.try_into().ok()?) },
            FAILED => Self::Failed(printable(&body[..body.len().min(REASON_MAX)])),
            WAIT if body.is_empty() => Self::Wait,
            _ => return None,
        })
    }

    /// Its kind, and its body as a header in `scratch` and data elsewhere.
    pub(super) fn emit<'b>(&'b self, scratch: &'b mut Vec<u8>) -> (u8, &'b [u8]) {
        scratch.clear();
        let kind = match self {
            Self::Hello { version } => {
                scratch.extend_from_slice(MAGIC);
                scratch.push(*version);
                HELLO
            }
            Self::FileEntry(Ok(FileEntry { kind, size, name })) => {
                scratch.push(match kind {
                    EntryKind::Folder => 0,
                    EntryKind::File => 1,
                    EntryKind::Executable => 2,
                });
                scratch.extend(size.unwrap_or(UNKNOWN).to_be_bytes());
                scratch.extend_from_slice(name.as_bytes());
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
            Self::Ready => READY,
            Self::File { index, offset } => {
                scratch.extend(index.to_be_bytes());
                scratch.extend(offset.to_be_bytes());
                FILE
            }
            Self::Data(data) => return (DATA, data),
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

/// A parsed message emits the same bytes.
#[cfg(fuzzing)]
pub(crate) fn check(kind: u8, body: &[u8]) {
    match TransferMessage::parse(kind, body) {
        // Text for users has its control characters escaped.
        None | Some(TransferMessage::Failed(_) | TransferMessage::FileEntry(Err(_))) => {}
        Some(message) => assert_eq!(message.emit(&mut Vec::new()), (kind, body)),
    }
}

fn entry(body: &[u8]) -> Option<Result<FileEntry, BadName>> {
    let (&[kind], rest) = body.split_first_chunk()?;
    let (size, name) = rest.split_first_chunk()?;
    let kind = match kind {
        0 => EntryKind::Folder,
        1 => EntryKind::File,
        2 => EntryKind::Executable,
        _ => return None,
    };
    let size = Some(u64::from_be_bytes(*size)).filter(|&size| size != UNKNOWN);
    Some(Name::parse(name).map(|name| FileEntry { kind, size, name }))
}

/// The protocol version.
pub(super) const VERSION: u8 = 1;
/// The kind of keepalive messages.
pub(super) const WAIT: u8 = 12;
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
        for kind in [EntryKind::Folder, EntryKind::File, EntryKind::Executable] {
            for size in [None, Some(0), Some(1 << 40)] {
                round_trip(&TransferMessage::FileEntry(Ok(FileEntry { kind, size, name: name.clone() })));
            }
        }
        round_trip(&TransferMessage::Hello { version: VERSION });
        round_trip(&TransferMessage::Listed { entries: 3 });
        round_trip(&TransferMessage::Have(Have { index: 1, offset: 1 << 33, hash }));
        round_trip(&TransferMessage::Ready);
        round_trip(&TransferMessage::File { index: 9, offset: 5 });
        round_trip(&TransferMessage::Data(b"data"));
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
