//! Derives of the traits `Settings` and `Field` of `multihop_core::settings`, which re-exports them and describes their
//! attributes.
//!
//! A key of a configuration is described once: by a field, its doc comment and its attribute `#[key(...)]`. The derive
//! turns them into the call that visits the key. It uses no other crate: parsers of Rust take longer to compile than all
//! configurations.
//!
//! ```
//! use multihop_core::settings::Settings;
//!
//! /// Parameters of a protocol.
//! #[derive(Clone, Debug, Settings)]
//! struct Config {
//!     /// Largest number of packets that wait for a route.
//!     #[key(1..=100_000, default = 64)]
//!     buffer_packets: usize,
//! }
//!
//! assert_eq!(Config::default().buffer_packets, 64);
//! ```

mod code;
mod expand;
mod parse;

use proc_macro::TokenStream;

/// Derives `Settings`: the visit of every field that has the attribute `#[key]`, in the order of the fields.
///
/// `multihop_core::settings` describes the attributes.
#[proc_macro_derive(Settings, attributes(key, settings, word))]
pub fn settings(input: TokenStream) -> TokenStream {
    parse::item(input).and_then(|item| expand::settings(&item)).unwrap_or_else(code::Refusal::tokens)
}

/// Derives `Field` for an enumeration: a key that has one word for each variant, its name in kebab case or `#[word("...")]`.
///
/// Users cannot choose a variant with data or with `#[word(skip)]`.
#[proc_macro_derive(Field, attributes(word))]
pub fn field(input: TokenStream) -> TokenStream {
    parse::item(input).and_then(|item| expand::field(&item)).unwrap_or_else(code::Refusal::tokens)
}
