//! Files of keys: private keys, shared keys, known peers and authorised keys.

mod authorized;
mod file;
mod known;
mod secret_file;

pub use authorized::AuthorizedKeys;
pub use known::{KeyCheck, KnownPeers};
pub use multihop_hub::{GroupKey, Identity, PublicKey, SharedKey, TextError, Token};
pub use secret_file::SecretFile;
