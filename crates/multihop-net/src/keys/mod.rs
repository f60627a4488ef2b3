//! The identity of peers: keys, tokens, and the files of known peers and authorised keys. `docs/wire.md` specifies
//! their text forms.

mod authorized;
mod file;
mod identity;
mod known;
mod secret_file;
mod text;
mod token;

pub use authorized::AuthorizedKeys;
pub use identity::{Identity, PublicKey, SharedKey};
pub use known::{KeyCheck, KnownPeers};
pub use secret_file::SecretFile;
pub use text::TextError;
pub use token::Token;
