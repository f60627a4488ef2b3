//! Who a peer is: keys, tokens, and the peers that are known. Their text forms, byte by byte:
//! `docs/wire.md`.

mod identity;
mod known;
mod text;
mod token;

pub use identity::{Identity, PublicKey};
pub use known::{KnownPeers, Verdict};
pub use text::TextError;
pub use token::Token;
