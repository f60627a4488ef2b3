//! Networking of Linux, and waiting for it.
//!
//! | module | for |
//! |---|---|
//! | `netns` | network namespaces: networks that exist only inside this machine |
//! | `tun` | TUN and TAP interfaces, whose packets or frames a program reads and writes |
//! | `netlink` | interfaces, addresses, routes, neighbours, queues and Wi-Fi cards of the kernel, and news of them |
//! | [`wait`] | descriptors, signals and other threads, on any Unix system |
//!
//! A thread that waits for descriptors can be woken by another one:
//!
//! ```
//! use std::os::fd::AsFd;
//! use multihop_linux::wait::{Doorbell, readable};
//!
//! let bell = Doorbell::new()?;
//! std::thread::scope(|scope| {
//!     scope.spawn(|| bell.ring());
//!     assert_eq!(readable(&[bell.as_fd()], None)?, [true]);
//!     bell.clear();
//!     std::io::Result::Ok(())
//! })?;
//! # std::io::Result::Ok(())
//! ```
//!
//! Everything works on the network namespace of the calling thread. Only the few messages of netlink are here that multihop needs:
//! crates for all of it have a thousand types.

#[cfg(target_os = "linux")]
pub mod memory;
#[cfg(target_os = "linux")]
pub mod netlink;
#[cfg(target_os = "linux")]
pub mod netns;
#[cfg(target_os = "linux")]
pub mod tun;
#[cfg(unix)]
pub mod wait;
