//! Who a peer is: keys, tokens, and the peers that are known.

/// The key pair of this host.
#[derive(Clone, Debug)]
pub struct Identity(());

/// The key by which a peer is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PublicKey([u8; 32]);

/// The peers that have been seen before.
#[derive(Clone, Debug)]
pub struct KnownPeers(());

/// A secret that both ends were told.
#[derive(Clone, Debug)]
pub struct Token(());
