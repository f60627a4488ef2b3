//! A SOCKS5 server (RFC 1928) with CONNECT and UDP ASSOCIATE, without authentication.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::Refusal;
use super::address::Address;

/// Request of a SOCKS5 client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Wanted {
    /// A connection to this target.
    Connect(Address),
    /// Datagrams to any target.
    Associate,
}

/// Reads the request of a client. On failure the client has got its error reply.
pub(super) async fn request<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> io::Result<Wanted> {
    if stream.read_u8().await? != VERSION {
        return Err(io::Error::other("the client does not use SOCKS5"));
    }
    let mut methods = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut methods).await?;
    if !methods.contains(&WITHOUT_PASSWORD) {
        stream.write_all(&[VERSION, NO_METHOD]).await?;
        return Err(io::Error::other("the client requires authentication, which is not supported"));
    }
    stream.write_all(&[VERSION, WITHOUT_PASSWORD]).await?;
    let [version, command, _] = [stream.read_u8().await?, stream.read_u8().await?, stream.read_u8().await?];
    if version != VERSION {
        return Err(io::Error::other("the client does not use SOCKS5"));
    }
    let wanted = Address::read(stream).await?;
    match (command, wanted) {
        (CONNECT, Ok(wanted)) => Ok(Wanted::Connect(wanted)),
        // The address is that of the client, which may not know it.
        (ASSOCIATE, Ok(_)) => Ok(Wanted::Associate),
        (CONNECT | ASSOCIATE, Err(refusal)) => refuse(stream, refusal).await,
        _ => refuse(stream, Refusal::Command).await,
    }
}

/// Sends the client the result, with the address that it may use.
pub(super) async fn reply<S: AsyncWrite + Unpin>(
    stream: &mut S,
    met: Result<SocketAddr, Refusal>,
) -> io::Result<()> {
    let mut reply = vec![VERSION, met.map_or_else(|refusal| refusal as u8, |_| 0), 0];
    Address::from_addr(met.unwrap_or(NOWHERE)).emit(&mut reply);
    stream.write_all(&reply).await
}

async fn refuse<S: AsyncWrite + Unpin>(stream: &mut S, refusal: Refusal) -> io::Result<Wanted> {
    reply(stream, Err(refusal)).await?;
    Err(io::Error::other(refusal))
}

const VERSION: u8 = 5;
const WITHOUT_PASSWORD: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
const ASSOCIATE: u8 = 3;
/// Address in a reply that has none: clients of CONNECT do not use it.
pub(super) const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
