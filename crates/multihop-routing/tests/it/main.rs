//! Networks of agents over ideal links.

mod aodv;
mod change;
mod dsr;
mod keys;
mod olsr;
