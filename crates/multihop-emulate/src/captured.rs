//! Output of a program that a client has started, kept in memory.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, pipe};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use serde_json::{Value, json};

/// One output stream of a program: its newest bytes.
pub(crate) struct Captured {
    /// Pipe of the output; `None` once every writer has closed it.
    pipe: Option<PipeReader>,
    bytes: Vec<u8>,
    /// Bytes of the stream before `bytes`.
    dropped: u64,
}

/// Bytes of a stream that are kept.
const MAX_KEPT: usize = 4 << 20;
/// Bytes of a stream in one reply.
const MAX_PIECE: usize = 64 << 10;

impl Captured {
    /// An empty stream, and the end that the program writes to.
    pub(crate) fn new() -> io::Result<(Self, PipeWriter)> {
        let (pipe, writer) = pipe()?;
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok((Self { pipe: Some(pipe), bytes: Vec::new(), dropped: 0 }, writer))
    }

    /// Reads what the program has written, at most a few pipes full.
    pub(crate) fn update(&mut self) {
        let mut piece = [0; MAX_PIECE];
        for _ in 0..4 {
            let Some(pipe) = &mut self.pipe else { break };
            match pipe.read(&mut piece) {
                Ok(0) => self.pipe = None,
                Ok(length) => self.append(&piece[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > MAX_KEPT + MAX_KEPT / 4 {
            let excess = self.bytes.len() - MAX_KEPT;
            self.bytes.drain(..excess);
            self.dropped += excess as u64;
        }
    }

    /// The reply to a request for output from a byte on; negative numbers count from the end.
    pub(crate) fn reply(&self, from: i64) -> Value {
        let end = self.dropped + self.bytes.len() as u64;
        let from =
            if from < 0 { end.saturating_sub(from.unsigned_abs()) } else { from.unsigned_abs().min(end) };
        let from = from.max(self.dropped);
        let rest = &self.bytes[usize::try_from(from - self.dropped).expect("at most what is kept")..];
        let piece = whole_characters(&rest[..rest.len().min(MAX_PIECE)]);
        let text = String::from_utf8_lossy(piece);
        json!({"text": text, "from": from, "next": from + piece.len() as u64, "end": end})
    }
}

/// The bytes without an incomplete character of UTF-8 at their end, unless there is nothing else.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let tail = bytes.len().saturating_sub(4);
    let begins = |&at: &usize| bytes[at] & 0xc0 != 0x80;
    let Some(last) = (tail..bytes.len()).rev().find(begins) else { return bytes };
    let length = match bytes[last] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xff => 4,
        _ => 1,
    };
    if last > 0 && last + length > bytes.len() { &bytes[..last] } else { bytes }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_newest_bytes_are_kept_and_read_by_their_numbers() {
        let (mut stream, mut program) = Captured::new().unwrap();
        assert_eq!(stream.reply(0), json!({"text": "", "from": 0, "next": 0, "end": 0}));
        program.write_all(b"first second").unwrap();
        stream.update();
        assert_eq!(stream.reply(6), json!({"text": "second", "from": 6, "next": 12, "end": 12}));
        assert_eq!(stream.reply(-3)["text"], "ond");
        assert_eq!(stream.reply(99)["next"], 12);
        let block = [b'x'; 32 << 10];
        for _ in 0..200 {
            program.write_all(&block).unwrap();
            stream.update();
        }
        let end = 12 + 200 * block.len() as u64;
        let reply = stream.reply(0);
        let from = reply["from"].as_u64().unwrap();
        assert!(end - from >= MAX_KEPT as u64 && end - from <= (MAX_KEPT + MAX_KEPT / 4) as u64, "{from}");
        assert_eq!((&reply["end"], reply["next"].as_u64()), (&end.into(), Some(from + MAX_PIECE as u64)));
        assert_eq!(stream.reply(-5)["text"], "xxxxx");
        drop(program);
        stream.update();
        assert!(stream.pipe.is_none(), "a descriptor less");
        assert_eq!(stream.reply(-5)["text"], "xxxxx");
    }

    #[test]
    fn a_character_is_not_cut() {
        assert_eq!(whole_characters("aé".as_bytes()), "aé".as_bytes());
        assert_eq!(whole_characters(&"aé".as_bytes()[..2]), b"a");
        assert_eq!(whole_characters(&"€".as_bytes()[..2]), &"€".as_bytes()[..2]);
        assert_eq!(whole_characters(&[0x80; 6]), [0x80; 6]);
    }
}
