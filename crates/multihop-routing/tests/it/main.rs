//! Networks of agents over ideal links.

mod aodv;
mod dsr;
mod keys;
mod olsr;
