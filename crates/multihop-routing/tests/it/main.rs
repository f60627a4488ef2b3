//! Networks of agents over ideal links.

mod aodv;
mod babel;
mod batman;
mod dsr;
mod hwmp;
mod keys;
mod olsr;
mod olsrv2;
