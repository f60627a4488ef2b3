//! TCP packet scripts. Segments carry 1000 bytes and are numbered from 1.

mod adtcp;
mod bbr;
mod byte_counting;
mod close;
mod custom;
mod delayed_ack;
mod ecn;
mod elfn;
mod fast_retransmit;
mod flow_control;
mod fuzz;
mod handshake;
mod limited_transmit;
mod newreno;
mod pacing;
mod policies;
mod properties;
mod prr;
mod rack;
mod rto;
mod sack;
mod templates;
mod timestamps;
mod undo;
mod window_max;
