//! Security options in the form in which other languages pass them.

use std::io;
use std::path::PathBuf;

use multihop_net::{AuthorizedKeys, Config, Identity, KnownPeers, Peers, SecretFile, Security, SharedKey};

/// Security options in the form in which other languages pass them. Exactly one of the first three must be
/// set.
#[derive(Clone, Debug, Default)]
pub struct SecurityChoice {
    /// Whether the plain protocol is chosen: no encryption and no proof of identity.
    pub plain: bool,
    /// Token as text, which both ends share.
    pub token: Option<String>,
    /// Path of the file with this end's key.
    pub identity: Option<PathBuf>,
    /// Public key that the peer must have, as text, or `any`; only with an identity.
    pub peer: Option<String>,
    /// File of known peers, for connecting with a key.
    pub known_peers: Option<PathBuf>,
    /// File of authorised keys, for listening with a key.
    pub authorized_keys: Option<PathBuf>,
    /// Whether a listener that is missing in the file of known peers is refused.
    pub strict: bool,
    /// File with a secret that both ends have in addition to their keys.
    pub shared_key: Option<PathBuf>,
    /// Whether a listener with a token or a key answers only peers that prove their identity.
    pub silent: bool,
}

impl SecurityChoice {
    /// Creates a configuration with these options, and with defaults for all others; reads the files.
    pub fn config(&self) -> io::Result<Config> {
        let mut config = Config::new(self.security()?);
        if self.strict && self.known_peers.is_none() {
            return Err(invalid("strict requires a file of known peers"));
        }
        if self.shared_key.is_some() && self.identity.is_none() {
            return Err(invalid("a shared key requires a key: it does not replace one"));
        }
        if self.silent && self.plain {
            return Err(invalid("silent requires a token or a key: with plain everybody may connect"));
        }
        config.shared_key = self.shared_key.as_deref().map(SharedKey::load).transpose()?;
        config.silent = self.silent;
        Ok(config)
    }

    fn security(&self) -> io::Result<Security> {
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
            (None, Some(path), None) => {
                let known = KnownPeers::load(path)?;
                Ok(Peers::Known(if self.strict { known.strict() } else { known }))
            }
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
    use multihop_net::Token;

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

    #[test]
    fn strict_silent_and_a_shared_key_reach_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let [key, shared] = ["key", "shared"].map(|name| Some(folder.path().join(name)));
        Identity::generate().unwrap().save(key.as_ref().unwrap()).unwrap();
        SharedKey::generate().unwrap().save(shared.as_ref().unwrap()).unwrap();
        let known_peers = Some(folder.path().join("known_peers"));
        let with_key = SecurityChoice { identity: key, known_peers, ..SecurityChoice::default() };
        let config = with_key.config().unwrap();
        assert!(!config.silent && config.shared_key.is_none() && config.security.check_name("a:1").is_ok());
        let all = SecurityChoice { strict: true, silent: true, shared_key: shared.clone(), ..with_key };
        let config = all.config().unwrap();
        assert!(config.silent && config.shared_key.is_some() && config.security.check_name("a:1").is_err());
        let plain = SecurityChoice { plain: true, ..SecurityChoice::default() };
        for wrong in [
            SecurityChoice { strict: true, ..plain.clone() },
            SecurityChoice { silent: true, ..plain.clone() },
            SecurityChoice { shared_key: shared, ..plain },
        ] {
            assert_eq!(wrong.config().unwrap_err().kind(), io::ErrorKind::InvalidInput, "{wrong:?}");
        }
    }
}
