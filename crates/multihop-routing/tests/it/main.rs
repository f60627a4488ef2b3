//! Agents among others of their kind, over ideal links.

mod aodv;
mod dsr;
mod olsr;
