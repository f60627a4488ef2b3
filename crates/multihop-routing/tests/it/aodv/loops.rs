//! No routing loops, whatever happens to links and messages.

use super::*;

/// A network with random link failures, losses and delays.
struct Chaos {
    mesh: AodvMesh,
    rng: Rng,
    sent: usize,
    loss: f64,
}

impl Chaos {
    fn new(config: &Config, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "chaos", 0);
        let nodes = 6 + rng.below(9) as usize;
        let mut mesh = TestNetwork::new(agents(nodes, config, seed), Net::default(), seed);
        mesh.logging = false;
        let loss = [0.0, 0.05, 0.3][rng.below(3) as usize];
        let mut chaos = Self { mesh, rng, sent: 0, loss };
        for _ in 0..2 * nodes {
            chaos.flip_link();
        }
        chaos
    }

    fn pair(&mut self) -> (usize, usize) {
        let nodes = u32::try_from(self.mesh.machines.len()).expect("networks are small");
        let a = self.rng.below(nodes);
        let b = (a + 1 + self.rng.below(nodes - 1)) % nodes;
        (a as usize, b as usize)
    }

    /// Changes a link at random: up or down, loss, delay, or only one direction works.
    fn flip_link(&mut self) {
        let (a, b) = self.pair();
        if self.mesh.connected(a, b) {
            return self.mesh.disconnect(a, b);
        }
        let delay = Duration::from_micros(200 + u64::from(self.rng.below(20_000)));
        let link = TestLink { delay, loss: self.rng.range(0.0, 2.0 * self.loss) };
        if self.rng.chance(0.1) {
            self.mesh.connect_one_way(a, b, link);
        } else {
            self.mesh.connect(a, b, link);
        }
    }

    fn run(&mut self, packets: usize) {
        let flows: Vec<(usize, usize)> = (0..5).map(|_| self.pair()).collect();
        while self.sent < packets {
            let pause = Duration::from_nanos(self.rng.next_u64() % 40_000_000);
            self.advance(self.mesh.now() + pause);
            match self.rng.below(1000) {
                0..60 => self.flip_link(),
                60 => {
                    let rest = Duration::from_secs(self.rng.below(20).into());
                    self.advance(self.mesh.now() + rest);
                }
                n => {
                    let (from, to) = if n < 150 { self.pair() } else { flows[n as usize % flows.len()] };
                    send(&mut self.mesh, from, to);
                    self.sent += 1;
                }
            }
        }
        self.advance(self.mesh.now() + Duration::from_secs(40));
    }

    /// Only messages can close a loop: timeouts and link failures only remove next hops.
    fn advance(&mut self, until: Instant) {
        while self.mesh.next_event().is_some_and(|at| at <= until) {
            self.mesh.step();
            if std::mem::take(&mut self.mesh.adapter.news) > 0 {
                assert_no_loop(&self.mesh);
            }
        }
        self.mesh.run_until(until);
    }
}

fn assert_no_loop(mesh: &AodvMesh) {
    let nodes = mesh.machines.len();
    for destination in 0..nodes {
        for start in 0..nodes {
            let mut at = start;
            let mut steps = 0;
            while at != destination
                && let Some(next) = next_hop(mesh, at, destination)
            {
                at = next;
                steps += 1;
                assert!(steps < nodes, "at {}: a loop on the path from {start} to {destination}", mesh.now());
            }
        }
    }
}

fn check(config: &Config) {
    let (mut sent, mut arrived) = (0, 0);
    for seed in 0..17 {
        let mut chaos = Chaos::new(config, seed);
        chaos.run(1000);
        let net = &chaos.mesh.adapter;
        let looped = net.dropped.iter().any(|(_, _, reason, _)| *reason == DropReason::Ttl);
        assert!(!looped, "seed {seed}: a packet looped");
        assert!(net.held.is_empty(), "seed {seed}: packets never ended: {:?}", net.held);
        sent += chaos.sent;
        arrived += net.delivered.len();
    }
    assert!(arrived * 4 > sent, "{arrived} of {sent} packets arrived");
}

fn with_repair(link_failure: LinkFailure) -> Config {
    Config {
        local_repair: LocalRepair::Rfc,
        gratuitous_replies: true,
        ..Config::new(Preset::Uu, link_failure)
    }
}

#[test]
fn no_loop_in_ns2_with_mac_feedback() {
    check(&Config::new(Preset::Ns2, LinkFailure::Mac));
}

#[test]
fn no_loop_in_ns2_with_hellos() {
    check(&Config::new(Preset::Ns2, LinkFailure::Hello));
}

#[test]
fn no_loop_in_uu_with_mac_feedback() {
    check(&Config::new(Preset::Uu, LinkFailure::Mac));
}

#[test]
fn no_loop_in_uu_with_hellos() {
    check(&Config::new(Preset::Uu, LinkFailure::Hello));
}

#[test]
fn no_loop_with_rfc_repair_and_gratuitous_replies() {
    check(&with_repair(LinkFailure::Mac));
}

#[test]
fn no_loop_with_short_route_lifetimes() {
    let second = Duration::from_secs(1);
    check(&Config {
        active_route_timeout: second,
        my_route_timeout: second,
        delete_period: Some(second),
        rate_limit: None,
        ..with_repair(LinkFailure::Mac)
    });
}
