//! The identity of peers: keys, tokens and the file of known peers. `docs/wire.md` specifies their text forms.

mod identity;
mod known;
mod text;
mod token;

pub use identity::{Identity, PublicKey};
pub use known::{KeyCheck, KnownPeers};
pub use text::TextError;
pub use token::Token;
