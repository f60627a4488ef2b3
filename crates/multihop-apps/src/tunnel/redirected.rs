//! TCP connections that the firewall redirects to a local port.

use std::io;
use std::net::SocketAddr;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// The mark of the TCP connections that this program makes, so that a rule of the firewall can leave them alone.
const OWN_MARK: u32 = 0x6d68;

/// Listens for redirected connections: those of REDIRECT, and those of TPROXY if this program has the right to
/// administer the network.
pub async fn listen_for_redirected(local: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(local).await?;
    let socket = SockRef::from(&listener);
    // Without the right, connections of REDIRECT still arrive.
    let _ =
        if local.is_ipv4() { socket.set_ip_transparent_v4(true) } else { socket.set_ip_transparent_v6(true) };
    Ok(listener)
}

/// Where a connection was going before it was redirected to a listener at `own`.
pub(super) fn target(near: &TcpStream, own: SocketAddr) -> io::Result<SocketAddr> {
    let local = near.local_addr()?;
    let is_own = local.port() == own.port() && (own.ip().is_unspecified() || own.ip() == local.ip());
    // TPROXY leaves the destination as it was, REDIRECT changes it.
    let target = if is_own { before_redirect(near, local)? } else { local };
    if target == local && is_own {
        return Err(io::Error::other("the connection was made to this port, not redirected by the firewall"));
    }
    Ok(target)
}

fn before_redirect(near: &TcpStream, local: SocketAddr) -> io::Result<SocketAddr> {
    let socket = SockRef::from(near);
    let found = if local.is_ipv4() { socket.original_dst_v4() } else { socket.original_dst_v6() };
    match found {
        Ok(address) => Ok(address.as_socket().unwrap_or(local)),
        // The kernel has not changed this connection.
        Err(error) if matches!(error.raw_os_error(), Some(nix::libc::ENOENT | nix::libc::ENOPROTOOPT)) => {
            Ok(local)
        }
        Err(error) => Err(error),
    }
}

/// A TCP connection with the mark, if this program has the right to set it.
pub(super) async fn connect_marked(to: SocketAddr) -> io::Result<TcpStream> {
    let socket = if to.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Without the right, rules can tell the connections by their user.
    let _ = SockRef::from(&socket).set_mark(OWN_MARK);
    socket.connect(to).await
}
