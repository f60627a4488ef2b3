//! Networking of Linux: network namespaces, TUN and TAP interfaces, and netlink; and waiting, on any Unix system.

#[cfg(target_os = "linux")]
pub mod netlink;
#[cfg(target_os = "linux")]
pub mod netns;
#[cfg(target_os = "linux")]
pub mod tun;
#[cfg(unix)]
pub mod wait;
