//! TPA on real UDP sockets.
