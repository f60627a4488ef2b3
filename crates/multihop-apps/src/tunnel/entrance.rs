//! Local ports on the command line.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use super::address::{Address, Host};

/// A local port whose connections go to one target: `8080:web.example:80`, `[::1]:8080:10.0.0.1:80`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entrance {
    /// Address and port where connections are accepted: on loopback unless an address is given.
    pub local: SocketAddr,
    /// Target to which the gateway connects each stream or datagram.
    pub target: Address,
}

impl FromStr for Entrance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match parts(text).as_slice() {
            [local @ .., host, port] if (1..=2).contains(&local.len()) => {
                Ok(Self { local: bind(local)?, target: format!("{host}:{port}").parse()? })
            }
            _ => Err("allowed: [ADDRESS:]PORT:HOST:PORT".to_owned()),
        }
    }
}

/// A local port, on loopback unless an address is given: `1080`, `0.0.0.0:1080`.
pub fn local(text: &str) -> Result<SocketAddr, String> {
    bind(&parts(text))
}

fn bind(parts: &[&str]) -> Result<SocketAddr, String> {
    let (ip, port) = match parts {
        [port] => (IpAddr::V4(Ipv4Addr::LOCALHOST), port),
        [ip, port] => match ip.parse()? {
            Host::Ip(ip) => (ip, port),
            Host::Name(name) if name == "localhost" => (Ipv4Addr::LOCALHOST.into(), port),
            Host::Name(name) => return Err(format!("'{name}' is not an address of this host")),
        },
        _ => return Err("allowed: [ADDRESS:]PORT".to_owned()),
    };
    let port = port.parse().map_err(|_| format!("'{}' is not a port", port.escape_debug()))?;
    Ok(SocketAddr::new(ip, port))
}

/// Splits at colons outside of brackets.
fn parts(text: &str) -> Vec<&str> {
    let mut inside = false;
    text.split(|ch| {
        inside = (inside || ch == '[') && ch != ']';
        ch == ':' && !inside
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_text_is_parsed_and_other_text_rejected() {
        let entrance = |text: &str| {
            let Entrance { local, target } = text.parse()?;
            Ok::<_, String>(format!("{local} {target}"))
        };
        assert_eq!(entrance("8080:web.example:80").unwrap(), "127.0.0.1:8080 web.example:80");
        assert_eq!(entrance("0.0.0.0:8080:10.0.0.1:80").unwrap(), "0.0.0.0:8080 10.0.0.1:80");
        assert_eq!(entrance("[::1]:8080:[fd00::1]:80").unwrap(), "[::1]:8080 [fd00::1]:80");
        assert_eq!(entrance("localhost:1:a:2").unwrap(), "127.0.0.1:1 a:2");
        for text in
            ["", "8080", "8080:a", "a:b:c:d:e", "x:a:80", "there:1:a:80", "1:a b:80", "1:a:", "::1:2:a:80"]
        {
            assert!(entrance(text).is_err(), "{text}");
        }
        assert_eq!(local("1080"), Ok("127.0.0.1:1080".parse().unwrap()));
        assert_eq!(local("[::]:1080"), Ok("[::]:1080".parse().unwrap()));
        assert!(local("a:b:c").is_err());
    }
}
