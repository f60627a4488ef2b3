//! Packets of this crate, parsed by tshark.

mod aodv;
mod dsr;
mod olsr;
mod tshark;
