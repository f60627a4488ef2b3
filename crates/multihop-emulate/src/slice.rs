//! The scheduler's time slice of a thread.
#![expect(unsafe_code, reason = "nix has no sched_setattr")]

use nix::libc;

/// Requests the shortest scheduler time slice, so that the kernel runs this thread soon after a wake-up. Kernels
/// before 6.12 ignore the request.
pub(crate) fn shorten() {
    let size = u32::try_from(size_of::<libc::sched_attr>()).expect("a small structure");
    // SAFETY: the structure has only numbers, for which zeros are valid.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: sched_getattr writes at most `size` bytes into the structure, which outlives the call. 0 is this thread.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    if got != 0 {
        return;
    }
    attributes.sched_runtime = SHORTEST;
    // SAFETY: sched_setattr reads the structure, which says its own size and outlives the call. Without effect if the
    // kernel refuses it.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// Shortest time slice that the kernel accepts, ns.
const SHORTEST: u64 = 100_000;
