//! A ring buffer that programs in the kernel write and this process reads.
#![expect(unsafe_code, reason = "the ring is memory that is shared with the kernel")]

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nix::libc::c_void;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::unistd::{SysconfVar, sysconf};

/// Reader of a ring of records that the kernel fills.
pub(super) struct Ring<'a> {
    map: BorrowedFd<'a>,
    /// Page with the consumer position: the number of bytes that this process has read.
    consumer: Shared,
    /// Page with the producer position, which the kernel advances, followed by the records. The records are mapped
    /// twice in a row, so that each record is contiguous.
    producer: Shared,
    page: usize,
    size: usize,
}

impl<'a> Ring<'a> {
    /// Opens a ring of this many bytes.
    pub(super) fn open(map: BorrowedFd<'a>, size: usize) -> io::Result<Self> {
        let page = sysconf(SysconfVar::PAGE_SIZE)?.and_then(|size| usize::try_from(size).ok());
        let page = page.ok_or_else(|| io::Error::other("the size of pages is unknown"))?;
        let read_write = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let consumer = Shared::open(map, page, read_write, 0)?;
        let producer = Shared::open(map, page + 2 * size, ProtFlags::PROT_READ, page)?;
        Ok(Self { map, consumer, producer, page, size })
    }

    /// Waits until a record arrives, a signal arrives, or the time is over.
    pub(super) fn wait(&self, milliseconds: u8) {
        let timeout = PollTimeout::from(milliseconds);
        let _ = poll(&mut [PollFd::new(self.map, PollFlags::POLLIN)], timeout);
    }

    /// Reads all complete records.
    #[expect(
        clippy::needless_pass_by_ref_mut,
        reason = "a second reader would free records that the first looks at"
    )]
    pub(super) fn read(&mut self, mut take: impl FnMut(&[u8])) {
        let mut position = self.consumer.position().load(Ordering::Relaxed);
        while position < self.producer.position().load(Ordering::Acquire) {
            let at = self.page + usize::try_from(position).expect("64 bits") % self.size;
            let header = self.producer.header(at).load(Ordering::Acquire);
            if header & BUSY != 0 {
                break;
            }
            let length = usize::try_from(header & LENGTH).expect("lengths are small");
            if header & DISCARDED == 0 {
                take(self.producer.bytes(at + HEADER, length));
            }
            position += ((length + HEADER).next_multiple_of(HEADER)) as u64;
            self.consumer.position().store(position, Ordering::Release);
        }
    }
}

/// Memory that is shared with the kernel.
struct Shared {
    start: NonNull<c_void>,
    length: usize,
}

impl Shared {
    fn open(map: BorrowedFd<'_>, length: usize, access: ProtFlags, offset: usize) -> io::Result<Self> {
        let (size, offset) = (NonZeroUsize::new(length), i64::try_from(offset));
        let (Some(size), Ok(offset)) = (size, offset) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        // SAFETY: the kernel chooses a free address.
        let start = unsafe { mmap(None, size, access, MapFlags::MAP_SHARED, map.as_fd(), offset) }?;
        Ok(Self { start, length })
    }

    /// Position in the ring, in bytes since its creation.
    fn position(&self) -> &AtomicU64 {
        // SAFETY: pages are aligned and begin with the position, which the kernel changes atomically.
        unsafe { self.start.cast().as_ref() }
    }

    /// The first half of a record's header.
    fn header(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(HEADER) && at + HEADER <= self.length, "records are inside the ring");
        // SAFETY: the address is aligned and inside the mapping, and the kernel changes the word atomically.
        unsafe { self.start.byte_add(at).cast().as_ref() }
    }

    /// The bytes of a complete record.
    fn bytes(&self, at: usize, length: usize) -> &[u8] {
        assert!(at + length <= self.length, "records are inside the ring");
        // SAFETY: the bytes are inside the mapping, and the kernel does not change a complete record before
        // it has been read.
        unsafe { std::slice::from_raw_parts(self.start.byte_add(at).cast().as_ptr(), length) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped with this length, and no reference to it outlives this value.
        let _ = unsafe { munmap(self.start, self.length) };
    }
}

/// Length of a record's header, to which records are aligned, bytes.
const HEADER: usize = 8;
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
const LENGTH: u32 = DISCARDED - 1;
