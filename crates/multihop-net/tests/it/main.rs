//! TPA between hubs in virtual time, and over real sockets.

mod loopback;
