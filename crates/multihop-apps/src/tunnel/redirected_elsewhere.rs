//! Redirected connections on systems other than Linux, where no firewall tells a connection's destination.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};

/// Refuses to listen for redirected connections.
pub async fn listen_for_redirected(_: SocketAddr) -> io::Result<TcpListener> {
    Err(only_on_linux())
}

/// Refuses to name the destination of a redirected connection.
pub(super) fn target(_: &TcpStream, _: SocketAddr) -> io::Result<SocketAddr> {
    Err(only_on_linux())
}

/// A TCP connection.
pub(super) async fn connect_marked(to: SocketAddr) -> io::Result<TcpStream> {
    TcpStream::connect(to).await
}

fn only_on_linux() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "connections can be redirected on Linux only")
}
