//! The target of a connection, in the format of SOCKS5 (RFC 1928, section 5).

use std::fmt::{self, Display};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::Refusal;
use crate::text;

/// A host and a port.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Address {
    /// Host, by address or by name.
    pub host: Host,
    /// Port number at the host.
    pub port: u16,
}

/// A host: an address, or a name that the gateway resolves.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Host {
    /// A host by its IP address.
    Ip(IpAddr),
    /// A host by its name, in lower case.
    Name(String),
}

impl Address {
    /// Makes an address from a socket address.
    pub fn from_addr(addr: SocketAddr) -> Self {
        Self { host: Host::Ip(addr.ip()), port: addr.port() }
    }

    /// Reads an address; `Refusal` if it is malformed.
    pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Result<Self, Refusal>> {
        let kind = stream.read_u8().await?;
        Self::read_after(kind, stream).await
    }

    /// Reads the rest of an address whose type has already been read.
    pub(super) async fn read_after(
        kind: u8,
        stream: &mut (impl AsyncRead + Unpin),
    ) -> io::Result<Result<Self, Refusal>> {
        let host = match kind {
            V4 => Ok(Host::Ip(Ipv4Addr::from(stream.read_u32().await?).into())),
            V6 => Ok(Host::Ip(Ipv6Addr::from(stream.read_u128().await?).into())),
            NAME => {
                let mut name = vec![0; usize::from(stream.read_u8().await?)];
                stream.read_exact(&mut name).await?;
                let name = String::from_utf8(name).ok().and_then(|name| name.parse().ok());
                name.ok_or(Refusal::General)
            }
            _ => return Ok(Err(Refusal::AddressType)),
        };
        let port = stream.read_u16().await?;
        Ok(host.map(|host| Self { host, port }))
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        match &self.host {
            Host::Ip(IpAddr::V4(ip)) => {
                out.push(V4);
                out.extend(ip.octets());
            }
            Host::Ip(IpAddr::V6(ip)) => {
                out.push(V6);
                out.extend(ip.octets());
            }
            Host::Name(name) => {
                out.push(NAME);
                out.push(u8::try_from(name.len()).expect("a name has 255 bytes at most"));
                out.extend_from_slice(name.as_bytes());
            }
        }
        out.extend(self.port.to_be_bytes());
    }

    /// The addresses of the host, all with the port.
    pub async fn look_up(&self) -> io::Result<Vec<SocketAddr>> {
        match &self.host {
            Host::Ip(ip) => Ok(vec![SocketAddr::new(*ip, self.port)]),
            Host::Name(name) => Ok(tokio::net::lookup_host((name.as_str(), self.port)).await?.collect()),
        }
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        if let Some(text) = bare {
            return text.parse().map(Self::Ip).map_err(|_| format!("'{text}' is not an IPv6 address"));
        }
        if let Ok(ip) = text.parse() {
            return Ok(Self::Ip(ip));
        }
        if text.is_empty() {
            return Err("the host is missing".to_owned());
        }
        // Systems read a bare number as an IPv4 address; users mean a port.
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!("'{text}' is a number, not a host"));
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte) || !byte.is_ascii();
        if (1..=255).contains(&text.len())
            && text.bytes().all(is_plain)
            && !text.contains(text::is_unprintable)
        {
            // Names are compared case-insensitively in ASCII, and literally elsewhere.
            Ok(Self::Name(text.to_ascii_lowercase()))
        } else {
            Err(format!("'{}' is not a host", text.escape_debug()))
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, port) = text.rsplit_once(':').ok_or("allowed: HOST:PORT, or [ADDRESS]:PORT for IPv6")?;
        if host.parse::<Ipv6Addr>().is_ok() {
            return Err("an IPv6 address needs brackets: [ADDRESS]:PORT".to_owned());
        }
        let port = port.parse().map_err(|_| format!("'{}' is not a port", port.escape_debug()))?;
        Ok(Self { host: host.parse()?, port })
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Ip(ip) => SocketAddr::new(*ip, self.port).fmt(f),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

const V4: u8 = 1;
const NAME: u8 = 3;
const V6: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_text_is_parsed_and_other_text_rejected() {
        for text in
            ["10.0.0.1:80", "[::1]:443", "web.example:8080", "xn--bcher-kva.example:1", "bücher.example:1"]
        {
            assert_eq!(text.parse::<Address>().map(|address| address.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("WEB.example:1".parse::<Address>().unwrap().to_string(), "web.example:1");
        let wrong = [
            "",
            "a",
            ":80",
            "a:",
            "a:65536",
            "a:-1",
            "::1:80",
            "[a]:80",
            "a b:80",
            "a\n:80",
            "a/b:1",
            "80:80",
            "http://a:80",
            "a\u{7f}:80",
            "a\u{9b}31m:80",
            "a\u{202e}b:80",
            "a\u{2028}b:80",
            "a\u{200b}b:80",
        ];
        for text in wrong {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_emitted_address_is_parsed_again() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for text in ["10.0.0.1:80", "[fe80::1]:443", "web.example:8080"] {
            let (address, mut bytes) = (text.parse::<Address>().unwrap(), Vec::new());
            address.emit(&mut bytes);
            let read = runtime.block_on(Address::read(&mut bytes.as_slice())).unwrap();
            assert_eq!(read, Ok(address));
        }
    }
}
