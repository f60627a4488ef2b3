//! Index of connections by node and peer.

use multihop_core::{FlowId, NodeId};
use multihop_scenario::Scenario;

use super::ids::EndId;

/// Index of all ends by their node and the node of the other end, in which a host counts as its gateway.
#[derive(Debug)]
pub(super) struct Peers(Vec<(NodeId, NodeId, EndId)>);

impl Peers {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let flows = (0..).map(FlowId).zip(&scenario.flows);
        let ends = flows.flat_map(|(id, flow)| {
            let [from, to] = [flow.from, flow.to].map(|end| scenario.in_mesh(end));
            [(flow.from, to, EndId::sender(id)), (flow.to, from, EndId::receiver(id))]
        });
        let mut ends: Vec<_> = ends.collect();
        ends.sort_by_key(|&(node, peer, _)| (node, peer));
        Self(ends)
    }

    /// Ends at `node` whose other end is at `peer`, a node of the mesh, in the order of flows.
    pub(super) fn ends(&self, node: NodeId, peer: NodeId) -> impl Iterator<Item = EndId> {
        let first = self.0.partition_point(|&(at, with, _)| (at, with) < (node, peer));
        let ends = self.0[first..].iter().take_while(move |&&(at, with, _)| (at, with) == (node, peer));
        ends.map(|&(_, _, end)| end)
    }
}

#[cfg(test)]
mod tests {
    use multihop_scenario::Source;

    use super::*;

    #[test]
    fn ends_with_a_host_are_found_by_its_gateway() {
        let flow =
            |from: u32, to: u32| format!("[[flow]]\nfrom = {from}\nto = {to}\ntransport = \"newreno\"\n");
        let text = format!(
            "duration = 1.0\n[topology]\nkind = \"chain\"\nhops = 2\n[[host]]\nname = \"server\"\ngateway = 2\n{}",
            [flow(0, 3), flow(1, 0), flow(2, 0), flow(0, 3)].concat()
        );
        let scenario = Scenario::load(&Source::Toml { text, name: "x.toml".to_owned() }, &[]).unwrap();
        let peers = Peers::new(&scenario);
        let ends = |node, peer| peers.ends(NodeId(node), NodeId(peer)).map(|end| end.0).collect::<Vec<_>>();
        assert_eq!(ends(0, 2), [0, 5, 6]);
        assert_eq!(ends(0, 1), [3]);
        assert_eq!(ends(3, 0), [1, 7]);
        assert!(ends(1, 2).is_empty());
    }
}
