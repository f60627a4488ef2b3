//! Networks of agents over ideal links, and messages read by tshark.

mod babel;
mod batman;
mod hwmp;
mod keys;
mod olsrv2;
mod tshark;
