//! TPA packet scripts. Segments carry 1000 bytes; blocks have 4 of them, and are numbered from 1.

mod acks;
mod close;
mod figures;
mod filling;
mod flow_control;
mod handshake;
mod properties;
mod round_trips;
mod states;
mod templates;
