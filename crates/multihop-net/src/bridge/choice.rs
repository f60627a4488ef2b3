use std::io;
use std::path::PathBuf;

use crate::config::{Peers, Security};
use crate::keys::{Identity, KnownPeers};

/// Security as other languages choose it, by words. One of the first three must be there.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The bare protocol.
    pub plain: bool,
    /// A token, as it is printed.
    pub token: Option<String>,
    /// The file with our key.
    pub identity: Option<PathBuf>,
    /// With a key: the key that the peer must have, as it is printed, or `any`.
    pub peer: Option<String>,
    /// With a key: the file of the peers that have been seen before.
    pub known_peers: Option<PathBuf>,
}

impl Choice {
    /// What was chosen; the files are read now.
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
                "security was not chosen: a token, a key, or plain, which anybody can read",
            )),
            _ => Err(invalid("security was chosen twice: a token, a key and plain exclude each other")),
        }
    }

    fn peers(&self) -> io::Result<Peers> {
        match (self.peer.as_deref(), &self.known_peers) {
            (Some("any"), None) => Ok(Peers::Any),
            (Some(key), None) => {
                key.parse().map(Peers::Exactly).map_err(|error| invalid(format!("the peer's key: {error}")))
            }
            (None, Some(path)) => Ok(Peers::Known(KnownPeers::load(path)?)),
            _ => Err(invalid("a key needs to know the peer's: one key, any, or the file of known peers")),
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
    fn one_way_must_be_chosen_and_only_one() {
        let token = Token::generate().unwrap().to_string();
        let none = Choice::default();
        assert_eq!(none.security().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        let with_token = Choice { token: Some(token), ..none.clone() };
        assert!(matches!(with_token.security(), Ok(Security::Token(_))));
        let both = Choice { plain: true, ..with_token };
        assert_eq!(both.security().unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(matches!(Choice { plain: true, ..none }.security(), Ok(Security::Plain)));
    }
}
