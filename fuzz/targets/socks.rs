//! Requests of SOCKS5 clients: no input breaks the near end of a tunnel, and each gets the documented reply.

use multihop_apps::fuzzing::socks;

pub fn fuzz(data: &[u8]) {
    socks(data);
}
