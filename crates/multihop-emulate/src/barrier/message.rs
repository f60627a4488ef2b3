//! Messages between the emulation and the library in programs, which `preload/preload.h` describes.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use multihop_core::Instant;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, RecvMsg, recvmsg, send};

/// Kinds of messages, with the numbers of `preload/preload.h`.
pub(super) mod kind {
    pub(in crate::barrier) const START: i32 = 1;
    pub(in crate::barrier) const WAIT: i32 = 3;
    pub(in crate::barrier) const CONTINUE: i32 = 4;
    pub(in crate::barrier) const WAKE: i32 = 5;
    pub(in crate::barrier) const EXEC: i32 = 6;
    pub(in crate::barrier) const SPAWNED: i32 = 7;
    pub(in crate::barrier) const SOCKET: i32 = 8;
    pub(in crate::barrier) const BIND: i32 = 9;
    pub(in crate::barrier) const LISTEN: i32 = 10;
    pub(in crate::barrier) const CONNECT: i32 = 11;
    pub(in crate::barrier) const LOCAL: i32 = 12;
    pub(in crate::barrier) const PEER: i32 = 13;
    pub(in crate::barrier) const ERROR: i32 = 14;
    pub(in crate::barrier) const LOOK_UP: i32 = 15;
    pub(in crate::barrier) const ALARM: i32 = 16;
    pub(in crate::barrier) const SIGNAL: i32 = 17;
    pub(in crate::barrier) const REFUSE: i32 = 18;
    pub(in crate::barrier) const DETAILS: i32 = 19;
    pub(in crate::barrier) const CHOOSE: i32 = 20;
    pub(in crate::barrier) const END: i32 = 21;
}

/// A message of either direction. The meaning of most fields depends on the kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) kind: i32,
    /// 0, or an error number of the system.
    pub(super) result: i32,
    /// Nanoseconds of virtual time; -1 for never.
    pub(super) time: i64,
    /// Inode of the program's end of a socket.
    pub(super) inode: u64,
    pub(super) first: i32,
    pub(super) second: i32,
    pub(super) address: u32,
    pub(super) port: u16,
    pub(super) events: u16,
    pub(super) text: [u8; TEXT],
}

const TEXT: usize = 40;
/// Length of a message, bytes.
const LEN: usize = 40 + TEXT;

impl Message {
    pub(super) fn new(kind: i32) -> Self {
        Self {
            kind,
            result: 0,
            time: -1,
            inode: 0,
            first: 0,
            second: 0,
            address: 0,
            port: 0,
            events: 0,
            text: [0; TEXT],
        }
    }

    /// The message that continues a thread at an instant.
    pub(super) fn go_on(now: Instant) -> Self {
        Self { time: nanos(now), ..Self::new(kind::CONTINUE) }
    }

    /// The text of the message up to its first zero byte.
    pub(super) fn text(&self) -> String {
        let length = self.text.iter().position(|byte| *byte == 0).unwrap_or(TEXT);
        String::from_utf8_lossy(&self.text[..length]).into_owned()
    }

    pub(super) fn set_text(&mut self, text: &str) {
        let length = text.len().min(TEXT - 1);
        self.text = [0; TEXT];
        self.text[..length].copy_from_slice(&text.as_bytes()[..length]);
    }

    /// Instant of the field `time`; `None` for never.
    pub(super) fn instant(&self) -> Option<Instant> {
        u64::try_from(self.time).ok().map(Instant::from_nanos)
    }

    fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        let fields: [&[u8]; 10] = [
            &self.kind.to_ne_bytes(),
            &self.result.to_ne_bytes(),
            &self.time.to_ne_bytes(),
            &self.inode.to_ne_bytes(),
            &self.first.to_ne_bytes(),
            &self.second.to_ne_bytes(),
            &self.address.to_ne_bytes(),
            &self.port.to_ne_bytes(),
            &self.events.to_ne_bytes(),
            &self.text,
        ];
        let mut at = 0;
        for field in fields {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; LEN]) -> Self {
        let four = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        let eight = |at: usize| u64::from_ne_bytes(*bytes[at..].first_chunk().expect("within the message"));
        Self {
            kind: i32::from_ne_bytes(four(0)),
            result: i32::from_ne_bytes(four(4)),
            time: eight(8).cast_signed(),
            inode: eight(16),
            first: i32::from_ne_bytes(four(24)),
            second: i32::from_ne_bytes(four(28)),
            address: u32::from_ne_bytes(four(32)),
            port: u16::from_ne_bytes([bytes[36], bytes[37]]),
            events: u16::from_ne_bytes([bytes[38], bytes[39]]),
            text: *bytes[40..].first_chunk().expect("the rest of the message"),
        }
    }

    /// Sends the message; a program that has ended receives nothing.
    pub(super) fn send(self, channel: &OwnedFd) {
        let _ = send(channel.as_raw_fd(), &self.to_bytes(), MsgFlags::MSG_NOSIGNAL);
    }

    /// The next message of a channel, with an attached descriptor; `None` at the end of the channel.
    pub(super) fn receive(channel: &OwnedFd) -> io::Result<Option<(Self, Option<OwnedFd>)>> {
        let mut bytes = [0; LEN];
        let mut space = cmsg_space!([RawFd; 1]);
        loop {
            let mut parts = [IoSliceMut::new(&mut bytes)];
            let flags = MsgFlags::MSG_CMSG_CLOEXEC;
            let received: Result<RecvMsg<'_, '_, ()>, Errno> =
                recvmsg(channel.as_raw_fd(), &mut parts, Some(&mut space), flags);
            let (length, attached) = match received {
                Err(Errno::EINTR) => continue,
                Err(Errno::ECONNRESET) => return Ok(None),
                Err(error) => return Err(error.into()),
                Ok(received) => (received.bytes, first_descriptor(&received)?),
            };
            return Ok((length == LEN).then(|| (Self::from_bytes(&bytes), attached)));
        }
    }
}

#[expect(unsafe_code, reason = "the kernel has just made this descriptor for this process")]
fn first_descriptor(received: &RecvMsg<'_, '_, ()>) -> io::Result<Option<OwnedFd>> {
    for message in received.cmsgs()? {
        if let ControlMessageOwned::ScmRights(descriptors) = message
            && let Some(descriptor) = descriptors.first()
        {
            // SAFETY: recvmsg has made the descriptor, and nothing else owns it.
            return Ok(Some(unsafe { OwnedFd::from_raw_fd(*descriptor) }));
        }
    }
    Ok(None)
}

/// Sends bytes with an attached descriptor over a socket that does not wait; returns whether there was room.
pub(super) fn send_with(socket: &OwnedFd, bytes: &[u8], attached: BorrowedFd<'_>) -> bool {
    use nix::sys::socket::{ControlMessage, sendmsg};
    let descriptors = [attached.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&descriptors)];
    let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
    sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(bytes)], &rights, flags, None).is_ok()
}

/// Nanoseconds of an instant in a message.
pub(super) fn nanos(at: Instant) -> i64 {
    i64::try_from(at.as_nanos()).unwrap_or(i64::MAX)
}
