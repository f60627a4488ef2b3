//! Waiting for descriptors, for signals and for other threads, on any Unix system.

mod doorbell;
mod gate;
mod signals;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};

pub use doorbell::Doorbell;
pub use gate::Gate;
pub use signals::Signals;

/// Waits until a descriptor is readable, has failed or is closed, until a signal arrives, or until the time is over; `None` sets no
/// limit. Returns for each descriptor whether reading from it does not block.
pub fn readable(descriptors: &[BorrowedFd<'_>], limit: Option<Duration>) -> io::Result<Vec<bool>> {
    let mut polled: Vec<_> = descriptors.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
    match poll(&mut polled, limit) {
        Ok(_) => Ok(polled.iter().map(|fd| fd.any().unwrap_or(false)).collect()),
        Err(Errno::EINTR) => Ok(vec![false; descriptors.len()]),
        Err(error) => Err(error.into()),
    }
}

#[cfg(target_os = "linux")]
fn poll(polled: &mut [PollFd<'_>], limit: Option<Duration>) -> Result<i32, Errno> {
    nix::poll::ppoll(polled, limit.map(Into::into), None)
}

/// Polls with the system's resolution of time: milliseconds on systems other than Linux.
#[cfg(not(target_os = "linux"))]
fn poll(polled: &mut [PollFd<'_>], limit: Option<Duration>) -> Result<i32, Errno> {
    use nix::poll::PollTimeout;
    let millis = limit.map(|limit| u16::try_from(limit.as_micros().div_ceil(1000)).unwrap_or(u16::MAX));
    nix::poll::poll(polled, millis.map_or(PollTimeout::NONE, PollTimeout::from))
}

/// Requests precise timers for the waits of this thread: by default, Linux may end each of them 50 us late (timer
/// slack).
pub fn wake_on_time() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_timerslack(1);
}

/// Raises the limit of descriptors as far as the system allows, for programs that have two descriptors
/// for each connection or file.
pub fn raise_limit_of_descriptors() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    // On failure the usual limit stays.
    let _ = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard, hard));
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn what_rings_is_readable_until_it_is_cleared() {
        let [silent, rung] = [(); 2].map(|()| Doorbell::new().unwrap());
        let both = [silent.as_fd(), rung.as_fd()];
        assert_eq!(readable(&both, Some(Duration::ZERO)).unwrap(), [false, false]);
        // There are more rings than the socket has room for.
        (0..100_000).for_each(|_| rung.ring());
        assert_eq!(readable(&both, None).unwrap(), [false, true]);
        rung.clear();
        assert_eq!(readable(&both, Some(Duration::ZERO)).unwrap(), [false, false]);
    }

    #[test]
    fn an_open_gate_is_readable_and_holds_nobody_back() {
        let gate = Gate::new().unwrap();
        assert_eq!(readable(&[gate.as_fd()], Some(Duration::ZERO)).unwrap(), [false]);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.wait());
            gate.open();
            waiting.join().unwrap().unwrap();
        });
        gate.wait().unwrap();
        assert_eq!(readable(&[gate.as_fd()], None).unwrap(), [true]);
    }

    #[test]
    fn a_signal_is_noted_before_it_rings() {
        let bell = Doorbell::new().unwrap();
        let signals = Signals::catch_and_ring(&[signal_hook::consts::SIGUSR1], &bell).unwrap();
        assert_eq!(signals.noted(), None);
        signal_hook::low_level::raise(signal_hook::consts::SIGUSR1).unwrap();
        assert_eq!(readable(&[bell.as_fd()], None).unwrap(), [true]);
        assert_eq!(signals.noted(), Some(signal_hook::consts::SIGUSR1));
        assert_eq!(signals.take(), Some(signal_hook::consts::SIGUSR1));
        assert_eq!(signals.take(), None);
    }
}
