//! Network namespaces of the nodes and hosts, each with a TUN interface.

use std::sync::Arc;

use multihop_core::NodeId;
use multihop_netns::Namespace;
use multihop_scenario::Scenario;
use multihop_sim::live::{stations, subnet};
use multihop_tun::Tun;

use crate::{EmulateError, Tried};

const INTERFACE: &str = "radio0";
const MTU: u16 = 1500;

/// The namespace and the interface of each node and host.
pub(crate) struct Stations {
    namespaces: Arc<[Namespace]>,
    tuns: Vec<Tun>,
}

impl Stations {
    pub(crate) fn new(count: usize) -> Result<Self, EmulateError> {
        let (mut namespaces, mut tuns) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for node in (0..).map(NodeId).take(count) {
            let namespace = Namespace::new().tried(|| "make a network namespace".to_owned())?;
            let tun = namespace.tun(INTERFACE, node.addr(), subnet(count), MTU);
            tuns.push(tun.tried(|| "make a TUN interface (needs /dev/net/tun)".to_owned())?);
            settings(&namespace);
            namespaces.push(namespace);
        }
        Ok(Self { namespaces: namespaces.into(), tuns })
    }

    pub(crate) fn namespaces(&self) -> Arc<[Namespace]> {
        Arc::clone(&self.namespaces)
    }

    pub(crate) fn tuns(&self) -> &[Tun] {
        &self.tuns
    }

    /// The next packet that a program at this station sends; its length.
    pub(crate) fn receive(&self, station: usize, buffer: &mut [u8]) -> std::io::Result<Option<usize>> {
        self.tuns[station].receive(buffer)
    }

    pub(crate) fn send(&self, station: usize, packet: &[u8]) {
        self.tuns[station].send(packet);
    }
}

/// Kernel parameters of a station. A kernel without one of them does without.
fn settings(namespace: &Namespace) {
    let parameters = [
        // The simulated network carries IPv4.
        ("ipv6/conf/all/disable_ipv6", "1"),
        // The simulated router of a station sends ICMP errors to it with the station's own address.
        ("ipv4/conf/radio0/accept_local", "1"),
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/radio0/rp_filter", "0"),
        ("ipv4/ping_group_range", "0 2147483647"),
    ];
    for (parameter, value) in parameters {
        let _ = namespace.set(&format!("net/{parameter}"), value);
    }
}

/// The names of all nodes and hosts: those of the layout, else `node` with the number.
pub(crate) fn names(scenario: &Scenario) -> Result<Vec<String>, EmulateError> {
    let layout = scenario.topology.place(scenario.seed)?;
    let name = |n: usize| layout.names.get(n).cloned().flatten().unwrap_or_else(|| format!("node{n}"));
    Ok((0..stations(scenario)).map(name).collect())
}

/// The station with this number or name.
pub(crate) fn find(names: &[String], text: &str) -> Result<usize, EmulateError> {
    let named = names.iter().position(|name| name == text);
    let number = text.parse().ok().filter(|n| *n < names.len());
    named.or(number).ok_or_else(|| {
        let shown: Vec<_> = names.iter().take(20).map(String::as_str).collect();
        let (last, shown) = (names.len() - 1, shown.join(", "));
        EmulateError::NotFound(format!("found node {text:?}, allowed: 0 to {last}, or a name: {shown}"))
    })
}

/// The environment variable with the address of a station.
pub(crate) fn address_variable(station: usize) -> (String, String) {
    let node = NodeId(u32::try_from(station).expect("a checked number of nodes"));
    (format!("ADDRESS_{station}"), node.addr().to_string())
}
