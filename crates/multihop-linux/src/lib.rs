//! Networking of Linux: network namespaces, TUN and TAP interfaces, and netlink. Empty on other systems.
#![cfg(target_os = "linux")]

pub mod netlink;
pub mod netns;
pub mod tun;
