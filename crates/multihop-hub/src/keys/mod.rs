//! Identities of peers: keys and tokens. `docs/wire.md` specifies their text forms.

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
