//! Reasons for which a listener refuses a connection.

/// Reason for which a listener refuses a connection. Reasons are not authenticated, so a caller must ignore them once
/// an authentic answer has arrived.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Reason {
    /// Only peers with a token are accepted.
    #[error("the listener requires a token")]
    WantsToken,
    /// Only peers with a key are accepted.
    #[error("the listener requires a key, not a token")]
    WantsKeys,
    /// The tokens of both ends differ.
    #[error("the listener has another token")]
    WrongToken,
    /// Only the plain protocol is accepted.
    #[error("the listener accepts only plain connections, without encryption")]
    WantsPlain,
    /// The initiator's key is not authorised.
    #[error("the listener does not accept this end's key")]
    UnknownKey,
    /// The initiator uses another version of the encrypted protocol.
    #[error("the listener uses another version of the protocol")]
    OtherVersion,
    /// Only peers that also have the shared key are accepted.
    #[error("the listener also requires a shared key")]
    WantsShared,
    /// The listener has no shared key.
    #[error("the listener has no shared key")]
    WantsNoShared,
    /// The shared keys of both ends differ.
    #[error("the listener has another shared key")]
    WrongShared,
}

impl Reason {
    /// The name of this reason in logs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::WantsToken => "wants_token",
            Self::WantsKeys => "wants_keys",
            Self::WrongToken => "wrong_token",
            Self::WantsPlain => "wants_plain",
            Self::UnknownKey => "unknown_key",
            Self::OtherVersion => "other_version",
            Self::WantsShared => "wants_shared_key",
            Self::WantsNoShared => "wants_no_shared_key",
            Self::WrongShared => "wrong_shared_key",
        }
    }
}
