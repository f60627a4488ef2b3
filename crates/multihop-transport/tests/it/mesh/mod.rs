//! `mesh`: packet scripts, every loss pattern, properties.

mod acks;
mod close;
mod exhaustive;
mod handshake;
mod pair;
mod paths;
mod properties;
mod states;
mod templates;
mod windows;
