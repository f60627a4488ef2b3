//! Networks of agents over ideal links.

mod aodv;
mod babel;
mod dsr;
mod keys;
mod olsr;
