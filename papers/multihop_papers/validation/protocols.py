"""The routing protocols that these experiments compare, and how each of them finds broken links."""

from __future__ import annotations

from typing import Any

from multihop_papers.declare import Axis

AODV, AODV_HELLO = "AODV (ns2), MAC", "AODV (ns2), HELLO"
UU, UU_HELLO = "AODV (uu), MAC", "AODV (uu), HELLO"
DSR = "DSR, MAC"
OLSR, OLSR_MAC = "OLSR, HELLO", "OLSR, MAC"
PROTOCOLS: dict[str, dict[str, Any]] = {
    AODV: {"protocol": "aodv"},
    AODV_HELLO: {"protocol": "aodv", "link_failure": "hello"},
    UU: {"protocol": "aodv", "preset": "uu"},
    UU_HELLO: {"protocol": "aodv", "preset": "uu", "link_failure": "hello"},
    DSR: {"protocol": "dsr"},
    OLSR: {"protocol": "olsr"},
    OLSR_MAC: {"protocol": "olsr", "link_failure": "mac"},
}


def protocols(**routings: dict[str, Any]) -> Axis:
    """The axis of some protocols."""
    return Axis("protocol", {name: {"routing": routing} for name, routing in routings.items()})
