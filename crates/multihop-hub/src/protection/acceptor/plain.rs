//! Acceptor of plain connections: every peer that proves its address by the cookie in its SYN is accepted.

use alloc::vec::Vec;
use core::net::SocketAddr;

use multihop_core::Instant;
use multihop_transport::connection::Segment;
use multihop_wire::control::Cause;

use super::Acceptor;
use super::encrypted::{MAX_REFUSAL_LINES, refusal};
use crate::datagram::{Entropy, IncomingDatagram};
use crate::protection::connection::Protection;
use crate::protection::cookie::CookieKey;
use crate::protection::destination::Destination;
use crate::protection::encrypted::SecureDatagram;
use crate::protection::opening;
use crate::protection::outcome::FirstContact;
use crate::protection::plain::PlainSession;
use crate::reason::Reason;
use crate::segment::{Format, Kind, emit, kind, reset_of};
use crate::transport::{TransportName, Transports};
use crate::version::VERSION;

/// Accepts every peer that receives datagrams at its claimed address.
pub(crate) struct PlainAcceptor {
    transports: Transports,
    cookies: CookieKey,
}

impl PlainAcceptor {
    pub(in crate::protection) fn new(transports: Transports, key: [u8; 32]) -> Self {
        Self { transports, cookies: CookieKey::new(key) }
    }

    /// The protection of a new connection with the chosen transport.
    pub(in crate::protection) fn session(&self, chosen: TransportName) -> Protection {
        Protection::Plain(PlainSession::new(self.transports, chosen))
    }

    /// Decides about the SYN of a peer that has no connection.
    fn on_syn(&self, now: Instant, datagram: &IncomingDatagram<'_>, syn: &Segment) -> FirstContact {
        if opening::is_version_probe(datagram.bytes) {
            return FirstContact::Ignore;
        }
        let version = opening::version(syn);
        if version != Some(VERSION) {
            log_version(datagram.from, version);
            let refusal = opening::refusal(syn, Cause::VERSION, self.transports);
            return refusal.map_or(FirstContact::Ignore, FirstContact::Refuse);
        }
        let shown = opening::cookie(syn, datagram.bytes);
        if shown.is_some_and(|shown| self.cookies.verify(now, datagram.from, &shown)) {
            return FirstContact::AddressProved;
        }
        // The source address may be spoofed, so an answer is never longer than the SYN (no amplification).
        let reply = opening::cookie_reply(syn, self.cookies.make(now, datagram.from));
        let reply = reply.filter(|reply| reply.len() <= datagram.bytes.len());
        reply.map_or(FirstContact::Ignore, FirstContact::Reply)
    }

    /// A segment of a peer without a connection.
    fn read(&self, bytes: &[u8], ports: (u16, u16)) -> Option<Segment> {
        let read = |format: Format| format.parse(bytes, ports, &mut None);
        match Format::of_syn(bytes, self.transports.format) {
            Some(format) => read(format),
            // Segments other than SYNs do not name their transport, so this end's preferred one is tried
            // first.
            None => read(self.transports.format).or_else(|| read(Format::Tpa)),
        }
    }
}

impl Acceptor for PlainAcceptor {
    fn initiate(&self, _name: &str, transport: TransportName, _entropy: &mut Entropy) -> Protection {
        self.session(transport)
    }

    fn destination(&self, _now: Instant, datagram: &IncomingDatagram<'_>) -> Option<Destination> {
        Some(Destination::Peer(datagram.from))
    }

    fn first_contact(
        &self,
        now: Instant,
        datagram: &IncomingDatagram<'_>,
        ports: (u16, u16),
        listening: bool,
    ) -> FirstContact {
        let Some(segment) = self.read(datagram.bytes, ports) else {
            return refuse_encrypted(datagram.bytes);
        };
        if kind(&segment) == Kind::Syn && listening {
            return self.on_syn(now, datagram, &segment);
        }
        let reset = reset_of(&segment).map(|reset| {
            let mut out = Vec::new();
            emit(&reset, &mut out);
            out
        });
        reset.map_or(FirstContact::Ignore, FirstContact::Refuse)
    }

    fn accept(
        &self,
        _now: Instant,
        datagram: &IncomingDatagram<'_>,
        ports: (u16, u16),
        _entropy: &mut Entropy,
    ) -> Result<(Protection, Segment), Option<Vec<u8>>> {
        let syn = self.read(datagram.bytes, ports).ok_or(None)?;
        match opening::choose(self.transports, &syn) {
            Some(chosen) => Ok((self.session(chosen), syn)),
            None => Err(opening::refusal(&syn, Cause::TRANSPORT, self.transports)),
        }
    }
}

fn log_version(from: SocketAddr, theirs: Option<u8>) {
    let theirs = theirs.unwrap_or(0);
    tracing::info!(limit = MAX_REFUSAL_LINES, peer = %from, reason = "other_version", ours = VERSION, theirs, "peer refused");
}

/// Refuses an initiator of the encrypted protocol, because only the plain protocol is accepted.
fn refuse_encrypted(bytes: &[u8]) -> FirstContact {
    match SecureDatagram::parse(bytes) {
        Some(SecureDatagram::Hello { sender, .. } | SecureDatagram::OtherHello { sender, .. }) => {
            FirstContact::Reply(refusal(sender, Reason::WantsPlain))
        }
        _ => FirstContact::Ignore,
    }
}
