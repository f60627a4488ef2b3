//! `mesh`: packet scripts, every loss pattern, properties.

mod acks;
mod channel_properties;
mod channels;
mod close;
mod exhaustive;
mod handshake;
mod multipath;
mod outage;
mod pair;
mod paths;
mod properties;
mod second_path;
mod states;
mod templates;
mod windows;
mod wires;
