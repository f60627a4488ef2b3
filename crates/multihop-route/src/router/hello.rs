//! HELLOs of a node with several interfaces, for an agent that has one.

use std::net::Ipv4Addr;

use multihop_core::Duration;
use multihop_wire::olsr::{Hello, HelloLink, LinkCode, NeighbourType};

use super::Port;
use super::neighbours::Neighbours;

/// The addresses of this host, by the agent's names for them.
pub(super) struct Own<'a> {
    pub(super) main: Ipv4Addr,
    /// Of the interface over which a HELLO came.
    pub(super) port: Ipv4Addr,
    pub(super) ports: &'a [Port],
}

impl Own<'_> {
    /// Puts the main address in the place of that of the interface over which the HELLO came. Links to other interfaces
    /// of this host say nothing about this link.
    pub(super) fn translate(&self, hello: &mut Hello) {
        let has_link = hello.links.iter().any(|link| link.address == self.port);
        hello.links.retain_mut(|link| {
            if link.address == self.port {
                link.address = self.main;
            } else if link.address == self.main {
                link.code = LinkCode::Unspecified(link.code.neighbour());
                return !has_link;
            } else if self.is_own(link.address) {
                return false;
            }
            true
        });
        if let Some(report) = &mut hello.report {
            let main = |address: &mut Ipv4Addr| {
                if *address == self.port {
                    *address = self.main;
                    return true;
                }
                !self.is_own(*address)
            };
            report.heard.retain_mut(|(address, _)| main(address));
            report.echoes.retain_mut(|echo| main(&mut echo.address));
        }
    }

    fn is_own(&self, address: Ipv4Addr) -> bool {
        self.ports.iter().any(|port| port.name == address)
    }
}

/// Lets a HELLO count as one that came earlier. The delays computed from its stamp and from its echo, by this host and by the
/// neighbour, are those of an arrival at that time if the stamp is later by as much.
pub(super) fn came_before(hello: &mut Hello, ago: Duration) {
    if let (Some(report), Ok(ago)) = (&mut hello.report, u32::try_from(ago.as_micros())) {
        report.stamp = report.stamp.wrapping_add(ago);
    }
}

/// What an interface declares of the agent's links: its own, and the neighbours that are reached over others by their
/// main addresses.
pub(super) fn of_port(hello: &Hello, interface: u32, neighbours: &Neighbours) -> Hello {
    let is_here = |address: Ipv4Addr| neighbours.interface(address) == Some(interface);
    let (mut links, others): (Vec<HelloLink>, Vec<HelloLink>) =
        hello.links.iter().partition(|link| is_here(link.address));
    let mut mains: Vec<_> = links.iter().filter_map(|link| neighbours.main(link.address)).collect();
    for link in others {
        let (kind, main) = (link.code.neighbour(), neighbours.main(link.address));
        let Some(main) = main.filter(|main| kind != NeighbourType::Not && !mains.contains(main)) else {
            continue;
        };
        mains.push(main);
        links.push(HelloLink { code: LinkCode::Unspecified(kind), address: main });
    }
    links.sort_unstable_by_key(|link| (link.code, link.address));
    let report = hello.report.clone().map(|mut report| {
        report.heard.retain(|(address, _)| is_here(*address));
        report.echoes.retain(|echo| is_here(echo.address));
        report
    });
    Hello { links, report, ..*hello }
}
