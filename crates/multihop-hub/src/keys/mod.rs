//! The identity of peers: keys and tokens. `docs/wire.md` specifies their text forms.

mod identity;
mod text;
mod token;

pub use identity::{Identity, PublicKey, SharedKey};
pub use text::TextError;
pub use token::Token;
