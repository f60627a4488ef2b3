//! The targets of a tunnel: their addresses, and TCP connections to them.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpStream;

use super::address::Address;
use super::redirected::connect_marked;
use super::rules::{Rule, allowed, may_allow};
use super::{CONNECT, REQUEST, Refusal, within};

/// The addresses of a target that the rules allow.
pub(super) async fn resolve(wanted: &Address, rules: &[Rule]) -> Result<Vec<SocketAddr>, Refusal> {
    if !may_allow(rules, wanted) {
        return Err(Refusal::NotAllowed);
    }
    let found = within(REQUEST, wanted.look_up()).await.map_err(|_| Refusal::Host)?;
    let found = allowed(rules, wanted, &found);
    if found.is_empty() { Err(Refusal::NotAllowed) } else { Ok(found) }
}

/// Connects to the first of these addresses that answers, in order.
pub(super) async fn connect_any(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::HostUnreachable, "the name resolves to no address");
    for address in addresses {
        match within(CONNECT, connect_marked(*address)).await {
            Ok(stream) => {
                ready(&stream);
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Disables Nagle's algorithm for interactive use, and enables keepalives to detect a lost peer.
pub(super) fn ready(stream: &TcpStream) {
    // The connection also works without them.
    let _ = stream.set_nodelay(true);
    let _ = socket2::SockRef::from(stream).set_keepalive(true);
}
