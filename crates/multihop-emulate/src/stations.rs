//! Network namespaces of the nodes and hosts, each with a TUN interface, or with a TAP interface for each radio.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use multihop_core::{Interface, NodeId};
use multihop_linux::netns::Namespace;
use multihop_linux::netns::interface::{InterfaceSettings, add_address, add_default_route, set_up};
use multihop_linux::tun::Tun;
use multihop_scenario::{Emulation, Gateway, Port, Scenario, find_station};
use multihop_sim::live::{StationInterface, interfaces, stations};

use crate::{EmulateError, Tried};

const THREADS: usize = 16;
const MTU_OF_WIRES: u16 = 1500;

/// The namespaces and the interfaces of all nodes and hosts.
pub(crate) struct Stations {
    namespaces: Arc<[Namespace]>,
    /// Ports of the stations, in the order of nodes and then interfaces.
    ports: Vec<StationPort>,
}

/// A TUN or TAP interface in the namespace of a node or host.
pub(crate) struct StationPort {
    pub(crate) node: NodeId,
    pub(crate) interface: Interface,
    pub(crate) tun: Tun,
}

impl Stations {
    pub(crate) fn new(scenario: &Scenario) -> Result<Self, EmulateError> {
        let count = stations(scenario);
        let (mut namespaces, mut ports) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for node in (0..).map(NodeId).take(count) {
            let gateway = scenario.emulation.gateway.as_ref().filter(|gateway| gateway.node == node);
            let namespace = if gateway.is_some() { Namespace::current() } else { Namespace::new() };
            let namespace = namespace.tried(|| "make a network namespace".to_owned())?;
            for station in interfaces(scenario, node) {
                let name = name(gateway, station.interface);
                let made = || namespace.run(|| interface(scenario, node, &station, &name))?;
                let tun = made().tried(|| match gateway {
                    Some(_) => format!("make the gateway's interface {name} on this machine (needs root)"),
                    None => "make a TUN interface (an ordinary user must be allowed to open /dev/net/tun: \
                             chmod 666 /dev/net/tun, in containers --device /dev/net/tun)"
                        .to_owned(),
                });
                ports.push(StationPort { node, interface: station.interface, tun: tun? });
            }
            namespaces.push(namespace);
        }
        Ok(Self { namespaces: namespaces.into(), ports })
    }

    pub(crate) fn namespaces(&self) -> Arc<[Namespace]> {
        Arc::clone(&self.namespaces)
    }

    pub(crate) fn ports(&self) -> &[StationPort] {
        &self.ports
    }

    /// Passes a packet to the kernel of a station.
    pub(crate) fn send(&self, node: NodeId, interface: Interface, packet: &[u8]) {
        let found = self.ports.binary_search_by_key(&(node, interface), |port| (port.node, port.interface));
        self.ports[found.expect("packets leave at interfaces of the scenario")].tun.send(packet);
    }
}

impl Drop for Stations {
    /// Removes the interfaces on several threads, because the kernel waits some 50 ms for each.
    fn drop(&mut self) {
        let each = self.ports.len().div_ceil(THREADS).max(1);
        thread::scope(|scope| {
            while !self.ports.is_empty() {
                let some = self.ports.split_off(self.ports.len().saturating_sub(each));
                scope.spawn(move || drop(some));
            }
        });
    }
}

/// Name of an interface: `radio` with the number of the radio, on the gateway the scenario's name.
fn name(gateway: Option<&Gateway>, Interface(n): Interface) -> String {
    match gateway {
        Some(gateway) if n == 0 => gateway.interface.clone(),
        Some(gateway) => format!("{}-{n}", gateway.interface),
        None => format!("radio{n}"),
    }
}

/// Makes an interface of a station in the namespace of this thread, which is the station's own unless it is the gateway.
fn interface(scenario: &Scenario, node: NodeId, station: &StationInterface, name: &str) -> io::Result<Tun> {
    let Emulation { mtu, back_pressure, gateway, .. } = &scenario.emulation;
    let is_own = gateway.as_ref().is_none_or(|gateway| gateway.node != node);
    let port = scenario.port(node);
    let tun = match port {
        Port::Tun => Tun::open(name)?,
        Port::Tap => Tun::open_tap(name)?,
    };
    settings(name, port, is_own);
    add_address(name, station.address.into(), station.prefix, Some(station.broadcast))?;
    let has_ipv6 = Path::new("/proc/sys/net/ipv6").exists();
    if has_ipv6 {
        add_address(name, station.address6.into(), 64, None)?;
        if port == Port::Tun {
            add_address(name, node.link_local().into(), 64, None)?;
        }
    }
    let mac = &scenario.radios[station.interface.index()].mac;
    let queue = back_pressure.then(|| u32::try_from(mac.queue).expect("a checked number of packets"));
    let link = InterfaceSettings {
        mtu: Some(if scenario.is_host(node) { MTU_OF_WIRES } else { *mtu }),
        mac: (port == Port::Tap).then_some(station.mac),
        queue,
    };
    set_up(name, link)?;
    if gateway.is_some() && is_own && port == Port::Tun {
        add_default_route(name, Ipv4Addr::UNSPECIFIED.into())?;
        if has_ipv6 {
            add_default_route(name, Ipv6Addr::UNSPECIFIED.into())?;
        }
    }
    Ok(tun)
}

/// Sets the kernel parameters of an interface, and of its namespace if `is_own`. Parameters that the kernel does not
/// have are skipped.
fn settings(interface: &str, port: Port, is_own: bool) {
    let set = |parameter: &str, value: &str| {
        let _ = std::fs::write(format!("/proc/sys/net/{parameter}"), value);
    };
    if is_own {
        set("ipv4/conf/all/rp_filter", "0");
        set("ipv4/ping_group_range", "0 2147483647");
        if port == Port::Tap {
            set("ipv4/ip_forward", "1");
            set("ipv6/conf/all/forwarding", "1");
            // All neighbours of a router are on the same link, but not all of them hear each other.
            set("ipv4/conf/all/send_redirects", "0");
            set("ipv4/conf/all/accept_redirects", "0");
        }
    }
    let of_interface = [
        // ICMP errors of the simulated router have the station's own address as their source.
        ("ipv4", "accept_local", "1"),
        ("ipv4", "rp_filter", "0"),
        ("ipv4", "send_redirects", "0"),
        ("ipv4", "accept_redirects", "0"),
        ("ipv6", "accept_redirects", "0"),
        ("ipv6", "disable_ipv6", "0"),
        // No other host can have the addresses, and no router advertises networks.
        ("ipv6", "accept_dad", "0"),
        ("ipv6", "dad_transmits", "0"),
        ("ipv6", "router_solicitations", "0"),
        ("ipv6", "accept_ra", "0"),
    ];
    for (family, parameter, value) in of_interface {
        set(&format!("{family}/conf/{interface}/{parameter}"), value);
    }
    if port == Port::Tun {
        // The kernel must not create addresses of its own.
        set(&format!("ipv6/conf/{interface}/addr_gen_mode"), "1");
    }
}

/// The names of all nodes and hosts: those of the layout, else `node` with the number.
pub(crate) fn names(scenario: &Scenario) -> Result<Vec<String>, EmulateError> {
    let layout = scenario.topology.place(scenario.seed)?;
    Ok((0..stations(scenario)).map(|n| layout.interface_name(n)).collect())
}

/// The station with this number or name.
pub(crate) fn find(names: &[String], text: &str) -> Result<usize, EmulateError> {
    find_station(names, text).map_err(EmulateError::NotFound)
}

/// The environment variables with the addresses of all stations.
pub(crate) fn address_variables(stations: usize) -> impl Iterator<Item = (String, String)> {
    (0..).map(NodeId).take(stations).flat_map(|node| {
        let (v4, v6) = (node.addr().to_string(), node.addr6().to_string());
        [(format!("ADDRESS_{node}"), v4), (format!("ADDRESS6_{node}"), v6)]
    })
}
