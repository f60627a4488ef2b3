//! Links between stationary nodes, each computed once.

use multihop_core::NodeId;

use super::{Hearing, Link};
use crate::grid::{Grid, Point};
use crate::propagation::Site;

#[derive(Clone, Debug)]
pub(super) struct Still {
    /// Links of node 0, then links of node 1, and so on.
    links: Vec<Link>,
    /// Index of each node's first link, and one past the index of the last link.
    first: Vec<usize>,
    places: Vec<Point>,
    /// Whether each node's radio is asleep; empty if no radio ever slept.
    asleep: Vec<bool>,
}

impl Still {
    pub(super) fn new(hearing: &Hearing, reach: f64, places: Vec<Point>) -> Self {
        let grid = Grid::new(reach, &places);
        let mut links = Vec::new();
        let mut first = vec![0];
        let mut near = Vec::new();
        for (from, &place) in (0..).map(NodeId).zip(&places) {
            grid.near(place, reach, &mut near);
            let begin = links.len();
            links.extend(
                near.iter()
                    .filter(|&&to| to != from)
                    .map(|&to| Site { node: to, place: places[to.index()] })
                    .filter_map(|to| hearing.link(Site { node: from, place }, to)),
            );
            links[begin..].sort_unstable_by_key(Link::order);
            first.push(links.len());
        }
        Self { links, first, places, asleep: Vec::new() }
    }

    pub(super) fn place(&self, node: NodeId) -> Point {
        self.places[node.index()]
    }

    /// Adds the links of a node to `links`.
    #[inline]
    pub(super) fn links_of(&self, node: NodeId, links: &mut Vec<Link>) {
        let all = &self.links[self.first[node.index()]..self.first[node.index() + 1]];
        if self.asleep.is_empty() {
            links.extend_from_slice(all);
        } else if !self.asleep[node.index()] {
            links.extend(all.iter().filter(|link| !self.asleep[link.to.index()]));
        }
    }

    /// Puts a node at another place: all links are computed anew.
    pub(super) fn put(&mut self, hearing: &Hearing, reach: f64, node: NodeId, place: Point) {
        let mut places = std::mem::take(&mut self.places);
        places[node.index()] = place;
        *self = Self { asleep: std::mem::take(&mut self.asleep), ..Self::new(hearing, reach, places) };
    }

    pub(super) fn hide(&mut self, node: NodeId) {
        self.asleep.resize(self.places.len(), false);
        self.asleep[node.index()] = true;
    }

    pub(super) fn show(&mut self, node: NodeId) {
        if let Some(asleep) = self.asleep.get_mut(node.index()) {
            *asleep = false;
        }
    }
}
