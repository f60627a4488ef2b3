//! Tests of the time until routes exist after a start, a restart, and changes of links and addresses.

use super::*;

/// A chain of hosts with one interface each, all with addresses of the same network.
fn chain(hosts: u8, config: &Config) -> Net {
    let addresses: Vec<[Ipv4Addr; 1]> = (1..=hosts).map(|host| [address(1, host)]).collect();
    let slices: Vec<&[Ipv4Addr]> = addresses.iter().map(|own| &own[..]).collect();
    let net = Net::new(&slices, config);
    (1..usize::from(hosts)).fold(net, |net, host| net.link((host - 1, 0), (host, 0)))
}

/// Milliseconds until both ends of a chain have routes to each other.
fn time_to_connect(net: &mut Net) -> u64 {
    let (begin, last) = (net.now, net.routers.len() - 1);
    let ends = [net.address((0, 0)), net.address((last, 0))];
    while !(net.has_path(0, ends[1]) && net.has_path(last, ends[0])) {
        net.step();
        assert!(net.now < begin + Duration::from_secs(60), "not connected");
    }
    (net.now - begin).as_nanos() / 1_000_000
}

impl Net {
    /// Whether packets from a router reach an address, by the routes of all.
    fn has_path(&mut self, from: usize, to: IpAddr) -> bool {
        let mut at = from;
        for _ in 0..self.routers.len() {
            let Some(next) = self.next_hop(at, to) else { return false };
            let holder = (0..self.routers.len()).find(|&n| {
                let has = self.routers[n].ports.iter().any(|port| port.address == next);
                let joined = self.links.iter().any(|(ends, works)| {
                    *works && ends.iter().any(|end| end.0 == at) && ends.iter().any(|end| end.0 == n)
                });
                has && joined
            });
            let Some(holder) = holder else { return false };
            if next == to {
                return true;
            }
            at = holder;
        }
        false
    }

    /// Restarts the daemon of a host after it was killed.
    fn start_again(&mut self, router: usize, config: &Config) {
        let seconds = 1_000_000 + self.now.as_nanos() / 1_000_000_000;
        // The router's clock counts from the start of the test.
        let addresses: Vec<_> = self.routers[router].ports.iter().map(|port| port.address).collect();
        self.routers[router] = Router::new(config.clone(), seconds, 1_000_000);
        self.routers[router].set_ports(self.now, &ports(&addresses));
    }
}

fn apdr() -> Config {
    let metric = olsr::Metric { clocks: olsr::Clocks::Echoed, ..olsr::Metric::default() };
    Config { routing: Routing::Olsr(olsr::Config::for_hosts().with_metric(metric)), ..Config::default() }
}

fn without() -> Config {
    Config { routing: Routing::Olsr(olsr::Config::rfc()), ..Config::default() }
}

#[test]
fn a_chain_is_connected_soon_after_the_start_of_all_daemons() {
    for config in [Config::default(), apdr()] {
        assert!(time_to_connect(&mut chain(5, &config)) < 3_000);
    }
    assert!(time_to_connect(&mut chain(5, &without())) > 3_000, "RFC 3626 without early messages");
}

#[test]
fn a_relay_that_starts_anew_has_routes_soon() {
    for config in [Config::default(), apdr()] {
        for away in [1, 20] {
            let mut net = chain(7, &config);
            net.run(30);
            net.links[2].1 = false;
            net.links[3].1 = false;
            net.run(away);
            net.links[2].1 = true;
            net.links[3].1 = true;
            net.start_again(3, &config);
            let taken = time_to_connect(&mut net);
            assert!(taken < 2_500, "{taken} ms after {away} s");
        }
    }
}

#[test]
fn a_host_at_the_end_that_starts_anew_has_routes_soon() {
    for config in [Config::default(), apdr()] {
        let mut net = chain(7, &config);
        net.run(30);
        net.start_again(0, &config);
        let taken = time_to_connect(&mut net);
        assert!(taken < 2_500, "{taken} ms");
    }
}

#[test]
fn a_relay_that_is_in_reach_again_is_used_soon() {
    for config in [Config::default(), apdr()] {
        let mut net = chain(5, &config);
        net.run(30);
        net.links[1].1 = false;
        net.links[2].1 = false;
        net.run(20);
        net.links[1].1 = true;
        net.links[2].1 = true;
        let taken = time_to_connect(&mut net);
        assert!(taken < 4_000, "{taken} ms: until the next HELLO of either side, and the handshake");
    }
}

#[test]
fn an_interface_that_goes_down_is_routed_around_at_once() {
    for config in [Config::default(), without()] {
        let addresses: [&[_]; 4] = [
            &[address(3, 1), address(1, 1)],
            &[address(1, 2), address(2, 2)],
            &[address(3, 3), address(4, 3)],
            &[address(2, 4), address(4, 4)],
        ];
        let net = Net::new(&addresses, &config).link((0, 1), (1, 0)).link((1, 1), (3, 0));
        let mut net = net.link((0, 0), (2, 0)).link((2, 1), (3, 1));
        net.run(40);
        let far = address(2, 4).into();
        assert_eq!(net.next_hop(0, far), Some(address(1, 2).into()));
        net.routers[0].set_ports(net.now, &ports(&[address(3, 1)]));
        assert_eq!(net.next_hop(0, far), Some(address(3, 3).into()));
    }
}

#[test]
fn neighbours_drop_an_address_that_its_host_has_left() {
    for config in [Config::default(), apdr()] {
        let mut net = chain(5, &config);
        net.run(30);
        let (now, new) = (net.now, address(1, 200));
        let farewell = net.routers[2].farewell(now, 0).expect("it has links");
        net.deliver(2, &farewell);
        net.routers[2].set_ports(now, &ports(&[new]));
        let taken = time_to_connect(&mut net);
        assert!(taken < 2_500, "{taken} ms");
        assert!(!net.routers[1].routes(net.now).contains_key(&Prefix::host(address(1, 3))));
    }
}

#[test]
fn a_network_behind_a_new_neighbour_is_known_soon() {
    let mut net = chain(2, &Config::default());
    let announce = vec![network("192.168.7.0/24")];
    net.routers[1].configure(net.now, Config { announce, ..Config::default() });
    net.run(2);
    assert!(net.routers[0].routes(net.now).contains_key(&network("192.168.7.0/24")));
    // A network announced later becomes known soon, too.
    net.run(20);
    let announce = vec![network("192.168.8.0/24")];
    net.routers[1].configure(net.now, Config { announce, ..Config::default() });
    net.run(2);
    assert!(net.routers[0].routes(net.now).contains_key(&network("192.168.8.0/24")));
}
