//! `[topology]`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::document::{Node, Value};
use crate::faults::Faults;
use crate::read::{NoKeys, Read, kinds, table, wrong};
use crate::values::{Coordinate, Metres, Whole};

kinds! {
    /// Where the nodes are.
    TopologyTable by "kind" {
        /// Nodes in a row; the first sends to the last.
        "chain" => Chain(ChainTable),
        /// Two chains of five nodes that share the middle one.
        "cross" => Cross(SpacingTable),
        /// Two chains of four nodes that cross between their middle links; nodes N1 to N8.
        "cross-testbed" => CrossTestbed(SpacingTable),
        /// Two chains of five nodes side by side.
        "parallel" => Parallel(ParallelTable),
        /// The upper chain is three hops longer at each end.
        "asymmetric-parallel" => AsymmetricParallel(ParallelTable),
        /// 5 x 5 nodes; three flows run left to right and three bottom to top.
        "grid" => Grid(SpacingTable),
        /// Six crossing flows whose positions are alike: the lines of a hexagram.
        "grid-symmetric" => GridSymmetric(SpacingTable),
        /// Two disjoint routes of four hops from S to D.
        "diamond" => Diamond(SpacingTable),
        /// Three nodes in a row and a fourth, N4, that walks along them and back, and sends to N1.
        "roaming" => Roaming(SpacingTable),
        /// Uniform in a rectangle, drawn anew for each seed.
        "random" => Random(RandomTable),
        /// Positions in the scenario.
        "list" => List(ListTable),
        /// Positions in another file.
        "file" => File(PositionsTable),
        /// The nodes of the movement, which must be waypoints, ns2 or bonnmotion.
        "mobility" => Mobility(NoKeys),
    }
}

table! {
    /// Nodes in a row.
    ChainTable {
        /// Links; there is one node more.
        hops: Whole<1, 99_999>,
        /// Distance between neighbours, m.
        spacing: Metres = 200.0,
    }
}

table! {
    /// A layout of fixed size.
    SpacingTable {
        /// Distance between neighbours, m.
        spacing: Metres = 200.0,
    }
}

table! {
    /// Two chains.
    ParallelTable {
        /// Distance between neighbours, m.
        spacing: Metres = 200.0,
        /// Distance between the chains, m.
        gap: Metres = 400.0,
    }
}

table! {
    /// Uniform in a rectangle.
    RandomTable {
        /// How many nodes.
        nodes: Whole<1, 100_000>,
        /// Width and height, m.
        area: [Metres; 2],
        /// Whether to draw again until every node can reach every other at the decode range; true
        /// if not given and the nodes stand still, never if they move.
        connected: Option<bool>,
    }
}

table! {
    /// Positions in the scenario.
    ListTable {
        /// One [x, y] for each node, m; y grows downwards.
        positions: Vec<[Coordinate; 2]>,
    }
}

table! {
    /// Positions in another file.
    PositionsTable {
        /// A CSV file with columns x and y (and name), or a GraphML file (ending .graphml or .xml)
        /// whose nodes have data x and y; relative to the scenario's folder.
        file: String,
    }
}

/// A node by its number or by its name.
pub(crate) enum NodeRef {
    /// From 0.
    Number(u64),
    /// As the layout gives it.
    Name(String),
}

impl Read for NodeRef {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        match &node.value {
            Value::Integer(n) if u64::try_from(*n).is_ok() => u64::try_from(*n).ok().map(Self::Number),
            Value::Text(name) => Some(Self::Name(name.clone())),
            _ => wrong(node, path, "the number or the name of a node", faults),
        }
    }
}

impl JsonSchema for NodeRef {
    fn schema_name() -> Cow<'static, str> {
        "NodeRef".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string" }] })
    }
}
