//! The addresses in messages: those of IPv4, or those of IPv6, with which the protocol is otherwise the same (RFC 3626
//! §17).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::net::{Ipv4Addr, Ipv6Addr};

use super::{Body, Echo, Hello, HelloLink, Hna, Message, Mid, Report, Tc};

/// An address in a message.
pub trait Address: Copy + Debug + Eq {
    /// Length of an address, bytes.
    const LEN: usize;
    /// Allowed length of a list of addresses, as a text for error messages.
    const WHOLE: &'static str;
    /// Allowed length of a list of address pairs, as a text for error messages.
    const PAIRS: &'static str;
    /// Allowed length of a message, as a text for error messages.
    const MESSAGE: &'static str;

    /// The address of these bytes.
    ///
    /// # Panics
    ///
    /// If they are not [`LEN`](Self::LEN).
    fn read(bytes: &[u8]) -> Self;

    /// Appends the bytes of the address.
    fn emit(self, out: &mut Vec<u8>);
}

impl Address for Ipv4Addr {
    const LEN: usize = 4;
    const WHOLE: &'static str = "a multiple of 4";
    const PAIRS: &'static str = "a multiple of 8";
    const MESSAGE: &'static str = "12 or more";

    fn read(bytes: &[u8]) -> Self {
        let bytes: [u8; 4] = bytes.try_into().expect("the length of an address");
        bytes.into()
    }

    fn emit(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.octets());
    }
}

impl Address for Ipv6Addr {
    const LEN: usize = 16;
    const WHOLE: &'static str = "a multiple of 16";
    const PAIRS: &'static str = "a multiple of 32";
    const MESSAGE: &'static str = "24 or more";

    fn read(bytes: &[u8]) -> Self {
        let bytes: [u8; 16] = bytes.try_into().expect("the length of an address");
        bytes.into()
    }

    fn emit(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.octets());
    }
}

impl<A: Address> Message<A> {
    /// Copies the message with each address replaced by `other`'s answer; `None` if one has no answer.
    pub fn readdress<B: Address>(&self, other: &mut impl FnMut(A) -> Option<B>) -> Option<Message<B>> {
        let Self { validity, originator, ttl, hop_count, sequence, ref body } = *self;
        let originator = other(originator)?;
        let body = match body {
            Body::Hello(hello) => Body::Hello(hello.readdress(other)?),
            Body::Tc(tc) => {
                Body::Tc(Arc::new(Tc { sequence: tc.sequence, neighbours: all(&tc.neighbours, other)? }))
            }
            Body::Mid(mid) => Body::Mid(Mid { interfaces: all(&mid.interfaces, other)? }),
            Body::Hna(hna) => {
                let mut pair = |&(network, mask): &(A, A)| Some((other(network)?, other(mask)?));
                Body::Hna(Hna { networks: hna.networks.iter().map(&mut pair).collect::<Option<_>>()? })
            }
            Body::Costs(costs) => Body::Costs(costs.clone()),
            Body::Opaque(opaque) => Body::Opaque(opaque.clone()),
        };
        Some(Message { validity, originator, ttl, hop_count, sequence, body })
    }
}

impl<A: Address> Hello<A> {
    fn readdress<B: Address>(&self, other: &mut impl FnMut(A) -> Option<B>) -> Option<Hello<B>> {
        let mut links = Vec::with_capacity(self.links.len());
        for &HelloLink { code, address } in &self.links {
            links.push(HelloLink { code, address: other(address)? });
        }
        let report = match &self.report {
            None => None,
            Some(report) => Some(Box::new(report.readdress(other)?)),
        };
        Some(Hello { interval: self.interval, willingness: self.willingness, links, report })
    }
}

impl<A: Address> Report<A> {
    fn readdress<B: Address>(&self, other: &mut impl FnMut(A) -> Option<B>) -> Option<Report<B>> {
        let &Self { number, quantity, stamp, ref heard, ref echoes } = self;
        let mut value = |&(address, value): &(A, u32)| Some((other(address)?, value));
        let heard = heard.iter().map(&mut value).collect::<Option<_>>()?;
        let mut echo = |&Echo { address, stamp, arrived }: &Echo<A>| {
            Some(Echo { address: other(address)?, stamp, arrived })
        };
        let echoes = echoes.iter().map(&mut echo).collect::<Option<_>>()?;
        Some(Report { number, quantity, stamp, heard, echoes })
    }
}

fn all<A: Address, B: Address>(list: &[A], other: &mut impl FnMut(A) -> Option<B>) -> Option<Vec<B>> {
    list.iter().map(|&address| other(address)).collect()
}
