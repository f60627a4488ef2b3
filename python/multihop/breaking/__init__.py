"""Search for networks in which a transport or a routing protocol does badly: `multihop break`."""
