//! The bare protocol, and the cookies in its SYNs: an option of this driver's, of which endpoints know
//! nothing.

use multihop_core::Instant;
use multihop_wire::tpa::{Ack, BlockSeq, Body, Framing, Segment};

use super::Datagram;
use super::armour::{Armour, Opened};
use super::door::Knock;
use crate::seal::cookie::{Baker, Cookie};
use crate::seal::gate::refusal;
use crate::seal::message::{Message, Reason};

/// What a connection of the bare protocol remembers.
#[derive(Debug, Default)]
pub(super) struct Plain {
    /// The number of our SYN, while it is not answered.
    calling: Option<BlockSeq>,
    /// What the listener gave us; zeros ask for one.
    cookie: Cookie,
    /// How often it gave us one.
    given: u8,
}

/// Lets everybody in who gets what is sent to its address.
pub(super) struct PlainDoor {
    baker: Baker,
}

impl Plain {
    pub(super) fn seal(&mut self, segment: &Segment, out: &mut Vec<u8>) {
        segment.emit_in_udp(out);
        if matches!(segment.body, Body::Syn(_)) && segment.ack.is_none() {
            self.calling = Some(segment.block);
            put(&self.cookie, out);
        }
    }

    pub(super) fn open(&mut self, bytes: &[u8], (from, to): (u16, u16)) -> Opened {
        let Ok(segment) = Segment::parse_in_udp(bytes, from, to) else { return Opened::Nothing };
        let answers = segment.ack.is_some_and(|ack| Some(ack.block) == self.calling);
        if answers && matches!(segment.body, Body::Syn(_)) {
            if let Some(cookie) = find(bytes) {
                return self.take(cookie);
            }
            self.calling = None;
        }
        Opened::Segment(segment, None)
    }

    /// Shows the cookie from now on. A listener that goes on handing out others gets no more answers.
    fn take(&mut self, cookie: Cookie) -> Opened {
        if self.given >= MOST_COOKIES || cookie == self.cookie {
            return Opened::Nothing;
        }
        self.given += 1;
        self.cookie = cookie;
        Opened::Again
    }
}

impl PlainDoor {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self { baker: Baker::new(key) }
    }

    pub(super) fn knock(
        &self,
        now: Instant,
        datagram: &Datagram<'_>,
        ports: (u16, u16),
        open: bool,
    ) -> Knock {
        let Ok(segment) = Segment::parse_in_udp(datagram.bytes, ports.0, ports.1) else {
            return refuse_sealed(datagram.bytes);
        };
        if !matches!(segment.body, Body::Syn(_)) || segment.ack.is_some() || !open {
            return Knock::Refuse(segment);
        }
        let proves = find(datagram.bytes).is_some_and(|shown| self.baker.accepts(now, datagram.from, &shown));
        if proves {
            return Knock::Proved;
        }
        // Never more bytes than the stranger has sent, who may be somebody else than it says.
        if datagram.bytes.len() < ANSWER_LEN {
            return Knock::Nothing;
        }
        Knock::Answer(answer(&segment, &self.baker.bake(now, datagram.from)))
    }

    /// A connection for a caller that has shown its cookie.
    pub(super) fn admit(datagram: &Datagram<'_>, ports: (u16, u16)) -> Knock {
        Segment::parse_in_udp(datagram.bytes, ports.0, ports.1)
            .map_or(Knock::Nothing, |syn| Knock::Enter(Armour::Plain(Plain::default()), syn))
    }
}

/// One that calls in the sealed protocol learns that it is not spoken here.
fn refuse_sealed(bytes: &[u8]) -> Knock {
    match Message::parse(bytes) {
        Some(Message::Hello { sender, .. }) => Knock::Answer(refusal(sender, Reason::WantsPlain)),
        _ => Knock::Nothing,
    }
}

/// A SYN ACK with nothing but a cookie.
fn answer(syn: &Segment, cookie: &Cookie) -> Vec<u8> {
    let ack = Ack { block: syn.block, tx_seq: syn.tx_seq, ..Ack::default() };
    let mut out = Vec::with_capacity(ANSWER_LEN);
    let bare =
        Segment { source: syn.destination, destination: syn.source, ack: Some(ack), ..Segment::default() };
    bare.emit_in_udp(&mut out);
    out[FLAGS] |= SYN;
    put(cookie, &mut out);
    out
}

fn put(cookie: &Cookie, out: &mut Vec<u8>) {
    out.extend_from_slice(&[KIND, LEN]);
    out.extend_from_slice(cookie);
}

/// The cookie among the options of a SYN.
fn find(syn: &[u8]) -> Option<Cookie> {
    let mut options = syn.get(HEADER..)?;
    loop {
        let (&kind, after) = options.split_first()?;
        if kind == PAD {
            options = after;
            continue;
        }
        let (&len, after) = after.split_first()?;
        let (value, rest) = after.split_at_checked(usize::from(len))?;
        if kind == KIND {
            return value.try_into().ok();
        }
        options = rest;
    }
}

const HEADER: usize = Framing::Udp.header_len();
/// Where the flags are, and the one that makes a SYN.
const FLAGS: usize = 3;
const SYN: u8 = 2;
/// The option: its type, and the length of its value.
const KIND: u8 = 10;
const LEN: u8 = 16;
/// An option of one byte.
const PAD: u8 = 0;
const ANSWER_LEN: usize = HEADER + 2 + LEN as usize;
/// A caller may be slow enough to need a second one.
const MOST_COOKIES: u8 = 3;

#[cfg(test)]
mod tests {
    use multihop_wire::tpa::Options;

    use super::*;

    fn syn(caller: &mut Plain) -> Vec<u8> {
        let segment = Segment {
            block: BlockSeq(7),
            body: Body::Syn(Options::default()),
            source: 1000,
            destination: 80,
            ..Segment::default()
        };
        let mut out = Vec::new();
        caller.seal(&segment, &mut out);
        out
    }

    fn knock(door: &PlainDoor, seconds: u64, bytes: &[u8]) -> Knock {
        let now = Instant::ZERO + multihop_core::Duration::from_secs(seconds);
        let datagram = Datagram { from: "10.0.0.1:1000".parse().unwrap(), local: None, ttl: None, bytes };
        door.knock(now, &datagram, (1000, 80), true)
    }

    #[test]
    fn a_stranger_gets_a_cookie_and_with_it_a_connection() {
        let (door, mut caller) = (PlainDoor::new([1; 32]), Plain::default());
        let first = syn(&mut caller);
        let Knock::Answer(answer) = knock(&door, 0, &first) else { panic!("no cookie yet") };
        assert!(answer.len() <= first.len(), "{} bytes for {}", answer.len(), first.len());
        assert!(matches!(caller.open(&answer, (80, 1000)), Opened::Again));
        let second = syn(&mut caller);
        assert_eq!(second.len(), first.len());
        assert!(matches!(knock(&door, 0, &second), Knock::Proved));
        assert!(matches!(knock(&door, 120, &second), Knock::Answer(_)), "it is stale");
    }

    #[test]
    fn a_syn_shorter_than_the_answer_gets_none() {
        let door = PlainDoor::new([1; 32]);
        let whole = syn(&mut Plain::default());
        // Padding of one byte each behind the version.
        let padded = |len: usize| [&whole[..HEADER + 3], &vec![0; len - HEADER - 3]].concat();
        assert!(matches!(knock(&door, 0, &padded(ANSWER_LEN - 1)), Knock::Nothing));
        let Knock::Answer(answer) = knock(&door, 0, &padded(ANSWER_LEN)) else { panic!("long enough") };
        assert_eq!(answer.len(), ANSWER_LEN);
    }

    #[test]
    fn a_cookie_for_another_syn_and_a_fourth_one_are_nothing() {
        let mut caller = Plain::default();
        let first = syn(&mut caller);
        let asked = Segment::parse_in_udp(&first, 1000, 80).unwrap();
        let other = Segment { block: BlockSeq(8), ..asked.clone() };
        assert!(matches!(caller.open(&answer(&other, &[9; 16]), (80, 1000)), Opened::Segment(..)));
        for n in 1..=MOST_COOKIES {
            assert!(matches!(caller.open(&answer(&asked, &[n; 16]), (80, 1000)), Opened::Again));
            assert!(matches!(caller.open(&answer(&asked, &[n; 16]), (80, 1000)), Opened::Nothing));
        }
        assert!(matches!(caller.open(&answer(&asked, &[99; 16]), (80, 1000)), Opened::Nothing));
    }

    #[test]
    fn options_cut_off_hold_no_cookie() {
        let whole = syn(&mut Plain::default());
        for len in 0..whole.len() {
            assert_eq!(find(&whole[..len]), None, "{len} bytes");
        }
        assert_eq!(find(&whole), Some([0; 16]));
    }
}
