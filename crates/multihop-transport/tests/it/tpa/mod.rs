//! TPA packet scripts. Segments carry 1000 bytes; blocks have 4 of them, and are numbered from 1.

mod acks;
mod close;
mod exhaustive;
mod figures;
mod filling;
mod flow_control;
mod fuzz;
mod handshake;
mod net;
mod paths;
mod properties;
mod round_trips;
mod states;
mod templates;
