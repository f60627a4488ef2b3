//! `mesh`: segment scripts, every loss pattern, properties.

mod acks;
mod exhaustive;
mod pair;
mod paths;
mod properties;
mod states;
mod windows;
