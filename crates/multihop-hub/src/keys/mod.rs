//! Identities of peers: keys and tokens.
//!
//! # Bytes
//!
//! Crockford's Base 32 in lower case (`0123456789abcdefghjkmnpqrstvwxyz`), most significant bits first.
//! Readers follow Crockford's rules (upper case, o for 0, i and l for 1, hyphens), and also skip blanks.
//!
//! | what | text |
//! |---|---|
//! | public, private, shared key | `tpa-public-`, `tpa-secret-` or `tpa-shared-`, then 56 characters: key (32), check (3) |
//! | token | 25 characters in groups of 5 with hyphens: 15 bytes, 5 bits of check |
//!
//! The check is the start of BLAKE2s-256 over the prefix (of a token: `token`) and the bytes of the key or
//! token. A token's psk is BLAKE2s-256 over `multihop TPA token 1` and its 15 bytes.

mod group;
mod identity;
mod signature;
mod text;
mod token;

pub use group::GroupKey;
pub use identity::{Identity, PublicKey, SharedKey};
pub use signature::SIGNATURE;
pub use text::TextError;
pub use token::Token;
