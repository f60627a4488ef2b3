//! Removal of what a daemon has installed in the kernel.

use std::io;
use std::net::IpAddr;

use multihop_linux::netlink::{remove_route, routes};

use crate::kernel::PROTOCOL;
use crate::paths::{flush_paths, is_segment};
use crate::prefix::Family;

/// Removes all routes of a family with this daemon's protocol number, with IPv4 also what [reserved paths](crate::segment)
/// need; returns the number of removed routes.
pub fn flush(family: Family) -> io::Result<usize> {
    let paths = if family == Family::Ipv4 { flush_paths()? } else { 0 };
    let mut left = routes(PROTOCOL)?;
    let is_meant = |to: IpAddr| Family::of(to) == family && !is_segment(to);
    left.retain(|route| is_meant(route.destination.0));
    left.iter().try_for_each(|route| remove_route(route, PROTOCOL))?;
    Ok(paths + left.len())
}
