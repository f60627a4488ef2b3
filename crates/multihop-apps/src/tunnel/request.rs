//! Requests of the near end of a tunnel to the gateway, and the streams that follow.
//!
//! # Bytes
//!
//! A number in parentheses is a length in bytes; numbers are big-endian.
//!
//! | step | bytes |
//! |---|---|
//! | connecting end | `multihop tunnel`, version (1): 1, then for TCP a SOCKS5 address (RFC 1928, section 5): type (1: 1 IPv4, 3 name, 4 IPv6), address (4; length and name; 16), port (2). For UDP 0x80, for IP 0x81, for channels 0x82 |
//! | gateway | a reply code (1) of RFC 1928, section 6; other than 0, the stream ends |
//! | then, TCP | the bytes of the connection |
//! | then, UDP | messages: length (2), SOCKS5 address of the target, or of the sender, and data |
//! | then, IP | messages: length (2), packet of at most 1400 bytes |
//! | then, channels | The connecting end opens ordered, reliable channels. Each serves one stream after another, in the format of this table |

use std::fmt::{self, Display};
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::address::Address;
use super::{MAGIC, Refusal};

/// Purpose of a connection to a gateway.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Request {
    /// A TCP connection to this target.
    Tcp(Address),
    /// UDP datagrams to many targets.
    Datagrams,
    /// IP packets between the TUN interfaces of both ends.
    Packets,
    /// Channels, each of which serves one request after another.
    Channels,
}

impl Request {
    /// Reads a request; `Refusal` if it is malformed.
    pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Result<Self, Refusal>> {
        let mut magic = [0; MAGIC.len()];
        stream.read_exact(&mut magic).await?;
        if magic != *MAGIC {
            return Err(io::Error::other("the caller is not multihop tunnel"));
        }
        Ok(match stream.read_u8().await? {
            DATAGRAMS => Ok(Self::Datagrams),
            PACKETS => Ok(Self::Packets),
            CHANNELS => Ok(Self::Channels),
            kind => Address::read_after(kind, stream).await?.map(Self::Tcp),
        })
    }

    pub(super) fn emit(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        match self {
            Self::Tcp(address) => address.emit(&mut out),
            Self::Datagrams => out.push(DATAGRAMS),
            Self::Packets => out.push(PACKETS),
            Self::Channels => out.push(CHANNELS),
        }
        out
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Datagrams => f.write_str("UDP"),
            Self::Packets => f.write_str("IP"),
            Self::Channels => f.write_str("channels"),
        }
    }
}

/// Reads the next message of a stream of datagrams or packets: its length (2 bytes), and that many bytes.
pub(super) async fn read_message<'a>(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &'a mut [u8],
) -> io::Result<&'a mut [u8]> {
    let length = usize::from(stream.read_u16().await?);
    let allowed = buffer.len();
    let Some(message) = buffer.get_mut(..length) else {
        let text = format!("received a message of {length} bytes, allowed: {allowed}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    };
    stream.read_exact(message).await?;
    Ok(message)
}

/// Builds a message from its parts, with its length of 2 bytes in front.
pub(super) fn message(parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let length = u16::try_from(body.len()).expect("a datagram or packet");
    [&length.to_be_bytes()[..], &body].concat()
}

/// Kind of a request for datagrams, in place of the type of a SOCKS5 address.
const DATAGRAMS: u8 = 0x80;
const PACKETS: u8 = 0x81;
const CHANNELS: u8 = 0x82;
