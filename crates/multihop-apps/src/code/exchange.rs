//! Mutual proof that both ends of an encrypted connection have the same code. The proof includes the handshake hash
//! of the connection, which prevents a man-in-the-middle attack.
//!
//! # Bytes
//!
//! A number in parentheses is a length in bytes. A **code** is four words of BIP 39's English list (2048 words), in
//! lower case with hyphens. The number of the first word, from 0, is public; three words are secret. The end with the
//! code listens, with the token of the bytes `multihop code 1`. Caller and listener first prove that they have the
//! code.
//!
//! | from | bytes |
//! |---|---|
//! | caller | `multihop code`, version (1): 1, share Ya (32) |
//! | listener | status (1), share Yb (32) |
//! | caller | proof Ta (64) |
//! | listener | status (1), proof Tb (64) |
//!
//! Status 0 is success. A status other than 0 ends the stream: 1 wrong code, 2 too many guesses, 3 another protocol
//! or version, or an invalid share. After Tb the listening end sends the files.
//!
//! Shares and proofs are CPace's (draft-irtf-cfrg-cpace), suite CPACE-RISTR255-SHA512, initiator-responder. PRS is
//! the code's text, CI the caller's first 14 bytes, sid the hash `h` of the Noise handshake (32), ADa `ADa`, ADb
//! `ADb`. Key confirmation: the key is SHA-512 over `CPaceMac`, sid and ISK; Ta is HMAC-SHA-512 over `lv_cat(Ya,
//! ADa)`, Tb over `lv_cat(Yb, ADb)`. The listener counts each guess before it verifies Ta, and afterwards takes back
//! the count of a right guess. After three wrong guesses the listener accepts none.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use zeroize::Zeroizing;

use super::cpace::{Common, Role, Run, Share, Tag};
use super::guesses::Guesses;
use super::words::Code;

/// Hash of a connection's handshake, to which the proofs are bound.
pub(super) type Binding = [u8; 32];

/// Reason for which an end did not accept the other end.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("the other end has another code")]
    WrongCode = 1,
    #[error("the code is no longer valid: there were too many wrong guesses")]
    Ended = 2,
    #[error("the other end uses another protocol or another version of the protocol")]
    Protocol = 3,
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal {
            Refusal::WrongCode | Refusal::Ended => io::ErrorKind::PermissionDenied,
            Refusal::Protocol => io::ErrorKind::InvalidData,
        };
        Self::new(kind, refusal)
    }
}

/// The caller's part of the exchange. Its proof comes first: a listener learns from it only whether one guess
/// is right.
pub(super) async fn call<S>(stream: &mut S, code: &Code, binding: &Binding) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let secret = code.secret();
    let run = Run::new(common(&secret, binding), Role::Caller, &*random()?);
    stream.write_all(&[MAGIC, &run.share()[..]].concat()).await?;
    stream.flush().await?;
    status(stream).await?;
    let mut share: Share = [0; 32];
    stream.read_exact(&mut share).await?;
    let tags = run.finish(&share).ok_or(Refusal::Protocol)?;
    stream.write_all(tags.ours()).await?;
    stream.flush().await?;
    status(stream).await?;
    let mut tag: Tag = [0; 64];
    stream.read_exact(&mut tag).await?;
    // A listener without the code cannot decide whether to report a wrong code.
    if tags.verify(&tag) { Ok(()) } else { Err(Refusal::WrongCode.into()) }
}

/// The listener's part of the exchange. A caller's proof uses up one guess; the caller receives nothing before it
/// that reveals whether the guess is right.
pub(super) async fn answer<S>(
    stream: &mut S,
    code: &Code,
    binding: &Binding,
    guesses: &Guesses,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let answered = async {
        let mut magic = [0; MAGIC.len()];
        stream.read_exact(&mut magic).await?;
        if magic != *MAGIC {
            return Err(Refusal::Protocol.into());
        }
        let mut share: Share = [0; 32];
        stream.read_exact(&mut share).await?;
        let secret = code.secret();
        let run = Run::new(common(&secret, binding), Role::Listener, &*random()?);
        let ours = *run.share();
        let tags = run.finish(&share).ok_or(Refusal::Protocol)?;
        stream.write_all(&[&[WELL][..], &ours].concat()).await?;
        stream.flush().await?;
        let mut tag: Tag = [0; 64];
        stream.read_exact(&mut tag).await?;
        let guess = guesses.take().ok_or(Refusal::Ended)?;
        let ours = Zeroizing::new(*tags.ours());
        if !tags.verify(&tag) {
            return Err(Refusal::WrongCode.into());
        }
        guess.was_right();
        stream.write_all(&[&[WELL][..], &ours[..]].concat()).await?;
        stream.flush().await
    };
    let answered: io::Result<()> = answered.await;
    if let Some(refusal) = answered.as_ref().err().and_then(refusal) {
        stream.write_all(&[refusal as u8]).await?;
        stream.shutdown().await?;
    }
    answered
}

/// Refusal inside an error; `None` for other errors.
pub(super) fn refusal(error: &io::Error) -> Option<Refusal> {
    error.get_ref().and_then(|inner| inner.downcast_ref()).copied()
}

/// Reads the other end's status: whether it continues.
async fn status(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    match stream.read_u8().await? {
        WELL => Ok(()),
        1 => Err(Refusal::WrongCode.into()),
        2 => Err(Refusal::Ended.into()),
        _ => Err(Refusal::Protocol.into()),
    }
}

fn common<'a>(secret: &'a str, binding: &'a Binding) -> Common<'a> {
    Common { secret: secret.as_bytes(), channel: MAGIC, session: binding }
}

fn random() -> io::Result<Zeroizing<[u8; 64]>> {
    let mut bytes = Zeroizing::new([0; 64]);
    getrandom::fill(&mut bytes[..])?;
    Ok(bytes)
}

/// Start of the first message, which ends with the version of the protocol.
const MAGIC: &[u8; 14] = b"multihop code\x01";
const WELL: u8 = 0;

#[cfg(test)]
mod tests {
    use tokio::io::duplex;
    use tokio::runtime::Builder;

    use super::*;

    const HERE: Binding = [7; 32];
    const ELSEWHERE: Binding = [8; 32];

    fn code(last: &str) -> Code {
        format!("kitten river amazing {last}").parse().unwrap()
    }

    /// Runs one exchange between a caller and a listener with these words.
    fn meet(words: [&str; 2], bindings: [Binding; 2], guesses: &Guesses) -> [Option<Refusal>; 2] {
        let [one, other] = words.map(code);
        Builder::new_current_thread().build().unwrap().block_on(async {
            let (mut near, mut far) = duplex(1000);
            let (called, answered) = tokio::join!(
                call(&mut near, &one, &bindings[0]),
                answer(&mut far, &other, &bindings[1], guesses)
            );
            [called, answered]
                .map(|result| result.err().map(|error| refusal(&error).expect("no other error")))
        })
    }

    #[test]
    fn the_same_code_on_the_same_connection_is_accepted() {
        let guesses = Guesses::default();
        for _ in 0..5 {
            assert_eq!(meet(["zoo", "zoo"], [HERE; 2], &guesses), [None; 2], "right guesses do not count");
        }
    }

    #[test]
    fn three_wrong_guesses_end_the_code() {
        let guesses = Guesses::default();
        for _ in 0..3 {
            assert!(!guesses.are_used_up());
            assert_eq!(meet(["zone", "zoo"], [HERE; 2], &guesses), [Some(Refusal::WrongCode); 2]);
        }
        assert!(guesses.are_used_up());
        assert_eq!(meet(["zoo", "zoo"], [HERE; 2], &guesses), [Some(Refusal::Ended); 2], "the right code");
    }

    #[test]
    fn an_end_of_another_connection_is_refused() {
        // An attacker in between has a connection with each end, and forwards all messages.
        let refused = meet(["zoo", "zoo"], [HERE, ELSEWHERE], &Guesses::default());
        assert_eq!(refused, [Some(Refusal::WrongCode); 2]);
    }

    #[test]
    fn a_caller_that_sends_no_proof_learns_nothing_and_uses_no_guess() {
        let guesses = Guesses::default();
        Builder::new_current_thread().build().unwrap().block_on(async {
            let (mut near, mut far) = duplex(1000);
            let share = [MAGIC, &Run::new(common("x", &HERE), Role::Caller, &[1; 64]).share()[..]].concat();
            near.write_all(&share).await.unwrap();
            near.shutdown().await.unwrap();
            assert!(answer(&mut far, &code("zoo"), &HERE, &guesses).await.is_err());
            drop(far);
            let mut got = Vec::new();
            near.read_to_end(&mut got).await.unwrap();
            assert_eq!((got.len(), got[0]), (33, WELL), "a share, and nothing that depends on a guess");
        });
        assert_eq!(meet(["zone", "zoo"], [HERE; 2], &guesses), [Some(Refusal::WrongCode); 2]);
        assert_eq!(meet(["zone", "zoo"], [HERE; 2], &guesses), [Some(Refusal::WrongCode); 2]);
        assert!(!guesses.are_used_up());
    }

    #[test]
    fn a_listener_without_the_code_is_detected() {
        // The listener accepts every proof, and sends an invented proof.
        Builder::new_current_thread().build().unwrap().block_on(async {
            let (mut near, mut far) = duplex(1000);
            let impostor = async {
                let mut share = [0; MAGIC.len() + 32];
                far.read_exact(&mut share).await.unwrap();
                let run = Run::new(common("a guess", &HERE), Role::Listener, &[3; 64]);
                far.write_all(&[&[WELL][..], run.share()].concat()).await.unwrap();
                let tags = run.finish(share[MAGIC.len()..].try_into().unwrap()).unwrap();
                far.read_exact(&mut [0; 64]).await.unwrap();
                far.write_all(&[&[WELL][..], tags.ours()].concat()).await.unwrap();
            };
            let zoo = code("zoo");
            let (called, ()) = tokio::join!(call(&mut near, &zoo, &HERE), impostor);
            assert_eq!(refusal(&called.unwrap_err()), Some(Refusal::WrongCode));
        });
    }

    #[test]
    fn nonsense_is_refused() {
        let outcome = |input: &'static [u8]| {
            Builder::new_current_thread().build().unwrap().block_on(async {
                let mut stream = tokio::io::join(input, tokio::io::sink());
                answer(&mut stream, &code("zoo"), &HERE, &Guesses::default()).await.unwrap_err()
            })
        };
        assert_eq!(refusal(&outcome(b"multihop code\x02 and more")), Some(Refusal::Protocol));
        let neutral = b"multihop code\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
        assert_eq!(refusal(&outcome(neutral)), Some(Refusal::Protocol));
        assert_eq!(outcome(b"multihop").kind(), io::ErrorKind::UnexpectedEof);
    }
}
