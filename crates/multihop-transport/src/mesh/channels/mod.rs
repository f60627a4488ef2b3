//! Channels of messages over one connection: docs/models/mesh.md describes the rules, docs/wire.md the chunks.
//!
//! | module | for |
//! |---|---|
//! | `outgoing`, `scheduler` | messages that this end sends; which of them the next segment takes |
//! | `incoming`, `reassembly`, `receiver` | messages that this end receives |
//! | `copies` | forward error correction: copies of messages with a deadline in later segments |
//! | `ends` | both halves in an end of a connection |

mod copies;
mod ends;
mod incoming;
mod outgoing;
mod ranges;
mod reassembly;
mod receiver;
mod scheduler;

pub(crate) use receiver::GUARANTEED;
pub(super) use receiver::ReceiveSide;
pub(super) use scheduler::{CLASSES, STREAM, SendSide, URGENT, priority};

/// Rule of channels that the peer has broken, as the text of a reset has it.
type Violation = &'static str;

/// Credit that each message uses in addition to its bytes, so that empty messages do not fill the memory of the receiver.
const MESSAGE_COST: u64 = 64;
/// Shortest chunk that does not end its message, bytes.
const MIN_PART: u64 = 64;
