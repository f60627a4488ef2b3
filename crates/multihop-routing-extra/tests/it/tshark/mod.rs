//! Messages of each protocol, parsed by tshark.

mod babel;
mod batman;
mod hwmp;
mod olsrv2;
