//! Security options as other languages pass them.

use std::io;
use std::path::PathBuf;

use crate::config::{Peers, Security};
use crate::keys::{AuthorizedKeys, Identity, KnownPeers};

/// Security options in the form that other languages pass. Exactly one of the first three must be set.
#[derive(Clone, Debug, Default)]
pub struct SecurityChoice {
    /// The plain protocol.
    pub plain: bool,
    /// A token as text.
    pub token: Option<String>,
    /// The file with our key.
    pub identity: Option<PathBuf>,
    /// With a key: the public key that the peer must have as text, or `any`.
    pub peer: Option<String>,
    /// With a key, to connect: the file of known peers.
    pub known_peers: Option<PathBuf>,
    /// With a key, to listen: the file of authorised keys.
    pub authorized_keys: Option<PathBuf>,
}

impl SecurityChoice {
    /// The configuration; reads the files.
    pub fn security(&self) -> io::Result<Security> {
        match (self.plain, &self.token, &self.identity) {
            (true, None, None) => Ok(Security::Plain),
            (false, Some(token), None) => {
                token.parse().map(Security::Token).map_err(|error| invalid(format!("the token: {error}")))
            }
            (false, None, Some(path)) => {
                Ok(Security::Keys { identity: Identity::load(path)?, peers: self.peers()? })
            }
            (false, None, None) => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "no security mode: set a token, a key or plain",
            )),
            _ => Err(invalid("more than one security mode: a token, a key and plain exclude each other")),
        }
    }

    fn peers(&self) -> io::Result<Peers> {
        match (self.peer.as_deref(), &self.known_peers, &self.authorized_keys) {
            (Some("any"), None, None) => Ok(Peers::Any),
            (Some(key), None, None) => {
                key.parse().map(Peers::Exactly).map_err(|error| invalid(format!("the peer's key: {error}")))
            }
            (None, Some(path), None) => Ok(Peers::Known(KnownPeers::load(path)?)),
            (None, None, Some(path)) => Ok(Peers::Authorized(AuthorizedKeys::load(path)?)),
            _ => Err(invalid(
                "a key requires a peer: one public key, any, a file of known peers (to connect), or a file of authorised keys (to listen)",
            )),
        }
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Token;

    #[test]
    fn exactly_one_security_mode_must_be_set() {
        let token = Token::generate().unwrap().to_string();
        let none = SecurityChoice::default();
        assert_eq!(none.security().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        let with_token = SecurityChoice { token: Some(token), ..none.clone() };
        assert!(matches!(with_token.security(), Ok(Security::Token(_))));
        let both = SecurityChoice { plain: true, ..with_token };
        assert_eq!(both.security().unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(matches!(SecurityChoice { plain: true, ..none }.security(), Ok(Security::Plain)));
    }
}
