use std::collections::HashMap;
use std::net::SocketAddr;

use super::slots::Id;

/// What a datagram says of whom it is for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Route {
    /// The one that talks with this address.
    Peer(SocketAddr),
    /// The one with this index.
    Index(u32),
    /// The one that the caller at this address has begun under this index of its own.
    Hello(SocketAddr, u32),
}

/// Which connection a datagram is for.
#[derive(Debug, Default)]
pub(super) struct Routes(HashMap<Route, Id>);

impl Routes {
    pub(super) fn get(&self, route: Route) -> Option<Id> {
        self.0.get(&route).copied()
    }

    pub(super) fn insert(&mut self, routes: [Option<Route>; 2], id: Id) {
        self.0.extend(routes.into_iter().flatten().map(|route| (route, id)));
    }

    /// Whether an index is another connection's already: it was drawn, and the draw must be repeated.
    pub(super) fn collide(&self, routes: [Option<Route>; 2]) -> bool {
        let mut indices = routes.into_iter().flatten().filter(|route| matches!(route, Route::Index(_)));
        indices.any(|route| self.0.contains_key(&route))
    }

    /// Takes back what leads to this connection.
    pub(super) fn remove(&mut self, routes: [Option<Route>; 2], id: Id) {
        for route in routes.into_iter().flatten() {
            if self.get(route) == Some(id) {
                self.0.remove(&route);
            }
        }
    }
}
