//! The sealed protocol, as the hub sees it.

use std::net::SocketAddr;

use multihop_core::Instant;
use multihop_wire::tpa::{Body, Segment};

use super::armour::{Armour, Opened};
use super::door::Knock;
use super::routes::Route;
use super::{Datagram, Entropy};
use crate::keys::PublicKey;
use crate::seal::gate::{Gate, Hello, Welcome};
use crate::seal::message::{Message, Reason};
use crate::seal::session::{self, Seal};

/// What a sealed connection remembers.
pub(super) struct Sealed {
    seal: Seal,
    /// The address and index of the hello that began it, if the peer did.
    hello: Option<(SocketAddr, u32)>,
}

/// Lets those in who prove who they are.
pub(super) struct SealedDoor {
    gate: Gate,
}

impl Sealed {
    pub(super) fn seal(&mut self, now: Instant, segment: &Segment, out: &mut Vec<u8>) {
        self.seal.seal(now, segment, out);
    }

    pub(super) fn open(
        &mut self,
        now: Instant,
        datagram: &Datagram<'_>,
        peer: SocketAddr,
        ports: (u16, u16),
    ) -> Opened {
        let Some(message) = Message::parse(datagram.bytes) else { return Opened::Nothing };
        match self.seal.open(now, message, peer, datagram.from == peer, ports) {
            session::Opened::Segment(segment, freshness) => Opened::Segment(segment, freshness),
            session::Opened::Seen => Opened::Seen,
            session::Opened::Again => Opened::Again,
            session::Opened::WrongKey(key) => Opened::WrongKey(key),
            session::Opened::Nothing => Opened::Nothing,
        }
    }

    pub(super) fn pop_pending(&mut self) -> Option<Vec<u8>> {
        self.seal.pop_pending()
    }

    pub(super) fn routes(&self) -> [Option<Route>; 2] {
        let hello = self.hello.map(|(from, index)| Route::Hello(from, index));
        [Some(Route::Index(self.seal.local())), hello]
    }

    pub(super) fn peer_key(&self) -> Option<PublicKey> {
        self.seal.peer_key()
    }

    pub(super) fn is_turned_away(&self) -> bool {
        self.seal.is_turned_away()
    }

    pub(super) fn refusal(&self) -> Option<Reason> {
        self.seal.refusal()
    }
}

impl SealedDoor {
    pub(super) fn new(gate: Gate) -> Self {
        Self { gate }
    }

    /// The armour of a connection that begins here.
    pub(super) fn leave(&self, entropy: &mut Entropy) -> Armour {
        let (index, ephemeral) = draw(entropy);
        Armour::Sealed(Box::new(Sealed { seal: self.gate.call(index, ephemeral), hello: None }))
    }

    /// Whom the datagram is for. A hello without a good cookie is for nobody.
    pub(super) fn route(&self, now: Instant, datagram: &Datagram<'_>) -> Option<Route> {
        let message = Message::parse(datagram.bytes)?;
        match message {
            Message::Hello { sender, .. } => {
                let asked = self.gate.ask(now, datagram.from, &message);
                asked.is_none().then_some(Route::Hello(datagram.from, sender))
            }
            Message::CookieReply { receiver, .. }
            | Message::Answer { receiver, .. }
            | Message::Confirm { receiver, .. }
            | Message::Refusal { receiver, .. } => Some(Route::Index(receiver)),
            Message::Data(data) => Some(Route::Index(data.receiver)),
        }
    }

    /// What is for nobody is a caller's first words, or nothing.
    pub(super) fn knock(
        &self,
        now: Instant,
        datagram: &Datagram<'_>,
        ports: (u16, u16),
        open: bool,
    ) -> Knock {
        let Some(message @ Message::Hello { .. }) = Message::parse(datagram.bytes) else {
            // One that calls in the bare protocol learns that it is not spoken here.
            let plain = Segment::parse_in_udp(datagram.bytes, ports.0, ports.1);
            let calls = plain.ok().filter(|plain| matches!(plain.body, Body::Syn(_)) && plain.ack.is_none());
            return calls.map_or(Knock::Nothing, Knock::Refuse);
        };
        if !open {
            return Knock::Nothing;
        }
        self.gate.ask(now, datagram.from, &message).map_or(Knock::Proved, Knock::Answer)
    }

    /// A connection for a caller that is where it says, if it can prove who it is.
    pub(super) fn admit(&self, datagram: &Datagram<'_>, port: u16, entropy: &mut Entropy) -> Knock {
        let Some(Message::Hello { pattern, sender, noise, .. }) = Message::parse(datagram.bytes) else {
            return Knock::Nothing;
        };
        let hello = Hello { from: datagram.from, pattern, sender, noise, len: datagram.bytes.len() };
        let (index, ephemeral) = draw(entropy);
        match self.gate.welcome(hello, index, ephemeral, port) {
            Welcome::Nothing => Knock::Nothing,
            Welcome::Answer(bytes) => Knock::Answer(bytes),
            Welcome::Enter(seal, syn) => {
                let hello = Some((datagram.from, sender));
                Knock::Enter(Armour::Sealed(Box::new(Sealed { seal: *seal, hello })), syn)
            }
        }
    }
}

fn draw(entropy: &mut Entropy) -> (u32, [u8; 32]) {
    let (mut index, mut ephemeral) = ([0; 4], [0; 32]);
    entropy(&mut index);
    entropy(&mut ephemeral);
    (u32::from_be_bytes(index), ephemeral)
}
