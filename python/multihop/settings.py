"""The tables of a scenario as types. Made by tools/settings_types.py from the schema."""

# size: as many keys as scenarios have

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

_DataRate = TypedDict("_DataRate", {"from": "int | str"}, total=False)

class DataRate(_DataRate, total=False):
    """The table `data_rate`."""

    rate: str
    """Bit rate of unicast data from the sender to the receiver: one that radio.rate may have."""

    to: int | str
    """Receiver of the data; by default all receivers to which the sender has no rate of their own."""

class Emulation(TypedDict, total=False):
    """How `multihop emulate` connects real programs to the network."""

    back_pressure: bool
    """Whether a node takes no packets from its programs while its interface queue is full, so that they
    wait in the kernel, which drops what is too much. Default: False.
    """

    gateway: int | str
    """Node whose interface is one of this machine, outside of any namespace of the emulation. Packets to
    other networks go there.
    """

    gateway_interface: str
    """Name of the gateway's interface on this machine. Default: mesh0."""

    interface: Literal["tun", "tap"]
    """Interface of each node: tun for IP packets, which the scenario's routing protocol routes; tap for
    Ethernet frames, which reach neighbours only, so that kernels and their routing daemons route.
    Default: tun.
    """

    mtu: int
    """Longest IP packet on the radio, bytes. Wires to hosts transmit packets of 1500 bytes. Default: 1500."""

    simulated: Sequence[int | str]
    """Nodes on which, with interface tap, the simulator runs the scenario's routing protocol (olsr or
    apdr) instead of a daemon. These nodes exchange routing messages with the daemons of the other
    nodes.
    """

class Energy(TypedDict, total=False):
    """Electrical powers of a radio, W, and batteries; without this table no energy is reported."""

    battery: float | Sequence[float]
    """Energy of each node at the start, J; or a list with one for each node. A node whose battery is empty
    stays silent. Default: no limit.
    """

    card: Literal["wavelan-11", "wavelan-2", "intel-5300"]
    """Card whose measured powers take the place of the defaults."""

    idle: float
    """Power while awake, but neither transmitting nor receiving, W."""

    receive: float
    """Power while receiving, W."""

    sleep: float
    """Power while asleep, W."""

    transmit: float
    """Power while transmitting, W."""

class Expected(TypedDict, total=False):
    """Measured goodput of chains, from which the expected goodput is computed."""

    table: str | PathLike[str]
    """JSON file of hops and kb/s, such as {"1": 1460.0, "2": 720.5}, from 1 hop on without gaps; relative
    to the scenario's folder.
    """

class FlowChannel(TypedDict, total=False):
    """The table `channel`."""

    deadline: float
    """Time after which a message is worthless, s. Over mesh it is then given up; other transports deliver
    it late.
    """

    interval: float
    """Time between two messages, s. 0: the next one follows as soon as there is room, which udp does not
    allow. Default: 0.0.
    """

    name: str
    """Name of the channel in results, up to 32 visible ASCII characters; by default its place in the list.
    Default: .
    """

    ordered: bool
    """Whether mesh delivers the messages in order. Default: True."""

    priority: int
    """Class of the messages over mesh: those of class 0 leave first. Default: 3."""

    size: int
    """Bytes of each message; under udp at most 2200."""

TransportName = Literal[
    "udp", "reno", "newreno", "cubic", "vegas", "westwood", "bbr", "bbr3", "prague", "adtcp", "tcp-2",
    "tcp-3", "tcp-uc", "tcp-cwl", "tcp-ap", "tcp-ap-sync", "elfn", "elfn-w", "elfn-rto-w", "tpa", "tpa-2",
    "tpa-3", "tpa*-2", "tpa*-3", "tpa-ap-2", "tpa-ap-3", "tpa*-ap-3", "mesh", "reno+da", "reno+dyn",
    "reno+tack", "reno+ack1", "reno+elfn", "reno+ap", "newreno+da", "newreno+dyn", "newreno+tack",
    "newreno+ack1", "newreno+elfn", "newreno+ap", "cubic+da", "cubic+dyn", "cubic+tack", "cubic+ack1",
    "cubic+elfn", "cubic+ap", "vegas+da", "vegas+dyn", "vegas+tack", "vegas+ack1", "vegas+elfn", "vegas+ap",
    "westwood+da", "westwood+dyn", "westwood+tack", "westwood+ack1", "westwood+elfn", "westwood+ap",
    "bbr+da", "bbr+dyn", "bbr+tack", "bbr+ack1", "bbr+elfn", "bbr3+da", "bbr3+dyn", "bbr3+tack",
    "bbr3+ack1", "bbr3+elfn", "prague+da", "prague+dyn", "prague+tack", "prague+ack1", "prague+elfn",
    "prague+ap", "adtcp+da", "adtcp+dyn", "adtcp+tack", "adtcp+ack1", "adtcp+ap", "tcp-2+da", "tcp-2+dyn",
    "tcp-2+tack", "tcp-2+ack1", "tcp-2+elfn", "tcp-2+ap", "tcp-3+da", "tcp-3+dyn", "tcp-3+tack",
    "tcp-3+ack1", "tcp-3+elfn", "tcp-3+ap", "tcp-uc+da", "tcp-uc+dyn", "tcp-uc+tack", "tcp-uc+ack1",
    "tcp-uc+elfn", "tcp-uc+ap", "tcp-cwl+da", "tcp-cwl+dyn", "tcp-cwl+tack", "tcp-cwl+ack1", "tcp-cwl+elfn",
    "tcp-cwl+ap", "tcp-ap+da", "tcp-ap+dyn", "tcp-ap+tack", "tcp-ap+ack1", "tcp-ap+elfn", "tcp-ap-sync+da",
    "tcp-ap-sync+dyn", "tcp-ap-sync+tack", "tcp-ap-sync+ack1", "tcp-ap-sync+elfn", "elfn+da", "elfn+dyn",
    "elfn+tack", "elfn+ack1", "elfn+ap", "elfn-w+da", "elfn-w+dyn", "elfn-w+tack", "elfn-w+ack1",
    "elfn-w+ap", "elfn-rto-w+da", "elfn-rto-w+dyn", "elfn-rto-w+tack", "elfn-rto-w+ack1", "elfn-rto-w+ap",
    "tpa+ap", "tpa-2+ap", "tpa-3+ap", "tpa*-2+ap", "tpa*-3+ap", "reno+da+elfn", "reno+da+ap",
    "reno+dyn+elfn", "reno+dyn+ap", "reno+tack+elfn", "reno+tack+ap", "reno+ack1+elfn", "reno+ack1+ap",
    "reno+elfn+da", "reno+elfn+dyn", "reno+elfn+tack", "reno+elfn+ack1", "reno+elfn+ap", "reno+ap+da",
    "reno+ap+dyn", "reno+ap+tack", "reno+ap+ack1", "reno+ap+elfn", "newreno+da+elfn", "newreno+da+ap",
    "newreno+dyn+elfn", "newreno+dyn+ap", "newreno+tack+elfn", "newreno+tack+ap", "newreno+ack1+elfn",
    "newreno+ack1+ap", "newreno+elfn+da", "newreno+elfn+dyn", "newreno+elfn+tack", "newreno+elfn+ack1",
    "newreno+elfn+ap", "newreno+ap+da", "newreno+ap+dyn", "newreno+ap+tack", "newreno+ap+ack1",
    "newreno+ap+elfn", "cubic+da+elfn", "cubic+da+ap", "cubic+dyn+elfn", "cubic+dyn+ap", "cubic+tack+elfn",
    "cubic+tack+ap", "cubic+ack1+elfn", "cubic+ack1+ap", "cubic+elfn+da", "cubic+elfn+dyn",
    "cubic+elfn+tack", "cubic+elfn+ack1", "cubic+elfn+ap", "cubic+ap+da", "cubic+ap+dyn", "cubic+ap+tack",
    "cubic+ap+ack1", "cubic+ap+elfn", "vegas+da+elfn", "vegas+da+ap", "vegas+dyn+elfn", "vegas+dyn+ap",
    "vegas+tack+elfn", "vegas+tack+ap", "vegas+ack1+elfn", "vegas+ack1+ap", "vegas+elfn+da",
    "vegas+elfn+dyn", "vegas+elfn+tack", "vegas+elfn+ack1", "vegas+elfn+ap", "vegas+ap+da", "vegas+ap+dyn",
    "vegas+ap+tack", "vegas+ap+ack1", "vegas+ap+elfn", "westwood+da+elfn", "westwood+da+ap",
    "westwood+dyn+elfn", "westwood+dyn+ap", "westwood+tack+elfn", "westwood+tack+ap", "westwood+ack1+elfn",
    "westwood+ack1+ap", "westwood+elfn+da", "westwood+elfn+dyn", "westwood+elfn+tack", "westwood+elfn+ack1",
    "westwood+elfn+ap", "westwood+ap+da", "westwood+ap+dyn", "westwood+ap+tack", "westwood+ap+ack1",
    "westwood+ap+elfn", "bbr+da+elfn", "bbr+dyn+elfn", "bbr+tack+elfn", "bbr+ack1+elfn", "bbr+elfn+da",
    "bbr+elfn+dyn", "bbr+elfn+tack", "bbr+elfn+ack1", "bbr3+da+elfn", "bbr3+dyn+elfn", "bbr3+tack+elfn",
    "bbr3+ack1+elfn", "bbr3+elfn+da", "bbr3+elfn+dyn", "bbr3+elfn+tack", "bbr3+elfn+ack1", "prague+da+elfn",
    "prague+da+ap", "prague+dyn+elfn", "prague+dyn+ap", "prague+tack+elfn", "prague+tack+ap",
    "prague+ack1+elfn", "prague+ack1+ap", "prague+elfn+da", "prague+elfn+dyn", "prague+elfn+tack",
    "prague+elfn+ack1", "prague+elfn+ap", "prague+ap+da", "prague+ap+dyn", "prague+ap+tack",
    "prague+ap+ack1", "prague+ap+elfn", "adtcp+da+ap", "adtcp+dyn+ap", "adtcp+tack+ap", "adtcp+ack1+ap",
    "adtcp+ap+da", "adtcp+ap+dyn", "adtcp+ap+tack", "adtcp+ap+ack1", "tcp-2+da+elfn", "tcp-2+da+ap",
    "tcp-2+dyn+elfn", "tcp-2+dyn+ap", "tcp-2+tack+elfn", "tcp-2+tack+ap", "tcp-2+ack1+elfn",
    "tcp-2+ack1+ap", "tcp-2+elfn+da", "tcp-2+elfn+dyn", "tcp-2+elfn+tack", "tcp-2+elfn+ack1",
    "tcp-2+elfn+ap", "tcp-2+ap+da", "tcp-2+ap+dyn", "tcp-2+ap+tack", "tcp-2+ap+ack1", "tcp-2+ap+elfn",
    "tcp-3+da+elfn", "tcp-3+da+ap", "tcp-3+dyn+elfn", "tcp-3+dyn+ap", "tcp-3+tack+elfn", "tcp-3+tack+ap",
    "tcp-3+ack1+elfn", "tcp-3+ack1+ap", "tcp-3+elfn+da", "tcp-3+elfn+dyn", "tcp-3+elfn+tack",
    "tcp-3+elfn+ack1", "tcp-3+elfn+ap", "tcp-3+ap+da", "tcp-3+ap+dyn", "tcp-3+ap+tack", "tcp-3+ap+ack1",
    "tcp-3+ap+elfn", "tcp-uc+da+elfn", "tcp-uc+da+ap", "tcp-uc+dyn+elfn", "tcp-uc+dyn+ap",
    "tcp-uc+tack+elfn", "tcp-uc+tack+ap", "tcp-uc+ack1+elfn", "tcp-uc+ack1+ap", "tcp-uc+elfn+da",
    "tcp-uc+elfn+dyn", "tcp-uc+elfn+tack", "tcp-uc+elfn+ack1", "tcp-uc+elfn+ap", "tcp-uc+ap+da",
    "tcp-uc+ap+dyn", "tcp-uc+ap+tack", "tcp-uc+ap+ack1", "tcp-uc+ap+elfn", "tcp-cwl+da+elfn",
    "tcp-cwl+da+ap", "tcp-cwl+dyn+elfn", "tcp-cwl+dyn+ap", "tcp-cwl+tack+elfn", "tcp-cwl+tack+ap",
    "tcp-cwl+ack1+elfn", "tcp-cwl+ack1+ap", "tcp-cwl+elfn+da", "tcp-cwl+elfn+dyn", "tcp-cwl+elfn+tack",
    "tcp-cwl+elfn+ack1", "tcp-cwl+elfn+ap", "tcp-cwl+ap+da", "tcp-cwl+ap+dyn", "tcp-cwl+ap+tack",
    "tcp-cwl+ap+ack1", "tcp-cwl+ap+elfn", "tcp-ap+da+elfn", "tcp-ap+dyn+elfn", "tcp-ap+tack+elfn",
    "tcp-ap+ack1+elfn", "tcp-ap+elfn+da", "tcp-ap+elfn+dyn", "tcp-ap+elfn+tack", "tcp-ap+elfn+ack1",
    "tcp-ap-sync+da+elfn", "tcp-ap-sync+dyn+elfn", "tcp-ap-sync+tack+elfn", "tcp-ap-sync+ack1+elfn",
    "tcp-ap-sync+elfn+da", "tcp-ap-sync+elfn+dyn", "tcp-ap-sync+elfn+tack", "tcp-ap-sync+elfn+ack1",
    "elfn+da+ap", "elfn+dyn+ap", "elfn+tack+ap", "elfn+ack1+ap", "elfn+ap+da", "elfn+ap+dyn",
    "elfn+ap+tack", "elfn+ap+ack1", "elfn-w+da+ap", "elfn-w+dyn+ap", "elfn-w+tack+ap", "elfn-w+ack1+ap",
    "elfn-w+ap+da", "elfn-w+ap+dyn", "elfn-w+ap+tack", "elfn-w+ap+ack1", "elfn-rto-w+da+ap",
    "elfn-rto-w+dyn+ap", "elfn-rto-w+tack+ap", "elfn-rto-w+ack1+ap", "elfn-rto-w+ap+da",
    "elfn-rto-w+ap+dyn", "elfn-rto-w+ap+tack", "elfn-rto-w+ap+ack1", "reno+da+elfn+ap", "reno+da+ap+elfn",
    "reno+dyn+elfn+ap", "reno+dyn+ap+elfn", "reno+tack+elfn+ap", "reno+tack+ap+elfn", "reno+ack1+elfn+ap",
    "reno+ack1+ap+elfn", "reno+elfn+da+ap", "reno+elfn+dyn+ap", "reno+elfn+tack+ap", "reno+elfn+ack1+ap",
    "reno+elfn+ap+da", "reno+elfn+ap+dyn", "reno+elfn+ap+tack", "reno+elfn+ap+ack1", "reno+ap+da+elfn",
    "reno+ap+dyn+elfn", "reno+ap+tack+elfn", "reno+ap+ack1+elfn", "reno+ap+elfn+da", "reno+ap+elfn+dyn",
    "reno+ap+elfn+tack", "reno+ap+elfn+ack1", "newreno+da+elfn+ap", "newreno+da+ap+elfn",
    "newreno+dyn+elfn+ap", "newreno+dyn+ap+elfn", "newreno+tack+elfn+ap", "newreno+tack+ap+elfn",
    "newreno+ack1+elfn+ap", "newreno+ack1+ap+elfn", "newreno+elfn+da+ap", "newreno+elfn+dyn+ap",
    "newreno+elfn+tack+ap", "newreno+elfn+ack1+ap", "newreno+elfn+ap+da", "newreno+elfn+ap+dyn",
    "newreno+elfn+ap+tack", "newreno+elfn+ap+ack1", "newreno+ap+da+elfn", "newreno+ap+dyn+elfn",
    "newreno+ap+tack+elfn", "newreno+ap+ack1+elfn", "newreno+ap+elfn+da", "newreno+ap+elfn+dyn",
    "newreno+ap+elfn+tack", "newreno+ap+elfn+ack1", "cubic+da+elfn+ap", "cubic+da+ap+elfn",
    "cubic+dyn+elfn+ap", "cubic+dyn+ap+elfn", "cubic+tack+elfn+ap", "cubic+tack+ap+elfn",
    "cubic+ack1+elfn+ap", "cubic+ack1+ap+elfn", "cubic+elfn+da+ap", "cubic+elfn+dyn+ap",
    "cubic+elfn+tack+ap", "cubic+elfn+ack1+ap", "cubic+elfn+ap+da", "cubic+elfn+ap+dyn",
    "cubic+elfn+ap+tack", "cubic+elfn+ap+ack1", "cubic+ap+da+elfn", "cubic+ap+dyn+elfn",
    "cubic+ap+tack+elfn", "cubic+ap+ack1+elfn", "cubic+ap+elfn+da", "cubic+ap+elfn+dyn",
    "cubic+ap+elfn+tack", "cubic+ap+elfn+ack1", "vegas+da+elfn+ap", "vegas+da+ap+elfn", "vegas+dyn+elfn+ap",
    "vegas+dyn+ap+elfn", "vegas+tack+elfn+ap", "vegas+tack+ap+elfn", "vegas+ack1+elfn+ap",
    "vegas+ack1+ap+elfn", "vegas+elfn+da+ap", "vegas+elfn+dyn+ap", "vegas+elfn+tack+ap",
    "vegas+elfn+ack1+ap", "vegas+elfn+ap+da", "vegas+elfn+ap+dyn", "vegas+elfn+ap+tack",
    "vegas+elfn+ap+ack1", "vegas+ap+da+elfn", "vegas+ap+dyn+elfn", "vegas+ap+tack+elfn",
    "vegas+ap+ack1+elfn", "vegas+ap+elfn+da", "vegas+ap+elfn+dyn", "vegas+ap+elfn+tack",
    "vegas+ap+elfn+ack1", "westwood+da+elfn+ap", "westwood+da+ap+elfn", "westwood+dyn+elfn+ap",
    "westwood+dyn+ap+elfn", "westwood+tack+elfn+ap", "westwood+tack+ap+elfn", "westwood+ack1+elfn+ap",
    "westwood+ack1+ap+elfn", "westwood+elfn+da+ap", "westwood+elfn+dyn+ap", "westwood+elfn+tack+ap",
    "westwood+elfn+ack1+ap", "westwood+elfn+ap+da", "westwood+elfn+ap+dyn", "westwood+elfn+ap+tack",
    "westwood+elfn+ap+ack1", "westwood+ap+da+elfn", "westwood+ap+dyn+elfn", "westwood+ap+tack+elfn",
    "westwood+ap+ack1+elfn", "westwood+ap+elfn+da", "westwood+ap+elfn+dyn", "westwood+ap+elfn+tack",
    "westwood+ap+elfn+ack1", "prague+da+elfn+ap", "prague+da+ap+elfn", "prague+dyn+elfn+ap",
    "prague+dyn+ap+elfn", "prague+tack+elfn+ap", "prague+tack+ap+elfn", "prague+ack1+elfn+ap",
    "prague+ack1+ap+elfn", "prague+elfn+da+ap", "prague+elfn+dyn+ap", "prague+elfn+tack+ap",
    "prague+elfn+ack1+ap", "prague+elfn+ap+da", "prague+elfn+ap+dyn", "prague+elfn+ap+tack",
    "prague+elfn+ap+ack1", "prague+ap+da+elfn", "prague+ap+dyn+elfn", "prague+ap+tack+elfn",
    "prague+ap+ack1+elfn", "prague+ap+elfn+da", "prague+ap+elfn+dyn", "prague+ap+elfn+tack",
    "prague+ap+elfn+ack1", "tcp-2+da+elfn+ap", "tcp-2+da+ap+elfn", "tcp-2+dyn+elfn+ap", "tcp-2+dyn+ap+elfn",
    "tcp-2+tack+elfn+ap", "tcp-2+tack+ap+elfn", "tcp-2+ack1+elfn+ap", "tcp-2+ack1+ap+elfn",
    "tcp-2+elfn+da+ap", "tcp-2+elfn+dyn+ap", "tcp-2+elfn+tack+ap", "tcp-2+elfn+ack1+ap", "tcp-2+elfn+ap+da",
    "tcp-2+elfn+ap+dyn", "tcp-2+elfn+ap+tack", "tcp-2+elfn+ap+ack1", "tcp-2+ap+da+elfn",
    "tcp-2+ap+dyn+elfn", "tcp-2+ap+tack+elfn", "tcp-2+ap+ack1+elfn", "tcp-2+ap+elfn+da",
    "tcp-2+ap+elfn+dyn", "tcp-2+ap+elfn+tack", "tcp-2+ap+elfn+ack1", "tcp-3+da+elfn+ap", "tcp-3+da+ap+elfn",
    "tcp-3+dyn+elfn+ap", "tcp-3+dyn+ap+elfn", "tcp-3+tack+elfn+ap", "tcp-3+tack+ap+elfn",
    "tcp-3+ack1+elfn+ap", "tcp-3+ack1+ap+elfn", "tcp-3+elfn+da+ap", "tcp-3+elfn+dyn+ap",
    "tcp-3+elfn+tack+ap", "tcp-3+elfn+ack1+ap", "tcp-3+elfn+ap+da", "tcp-3+elfn+ap+dyn",
    "tcp-3+elfn+ap+tack", "tcp-3+elfn+ap+ack1", "tcp-3+ap+da+elfn", "tcp-3+ap+dyn+elfn",
    "tcp-3+ap+tack+elfn", "tcp-3+ap+ack1+elfn", "tcp-3+ap+elfn+da", "tcp-3+ap+elfn+dyn",
    "tcp-3+ap+elfn+tack", "tcp-3+ap+elfn+ack1", "tcp-uc+da+elfn+ap", "tcp-uc+da+ap+elfn",
    "tcp-uc+dyn+elfn+ap", "tcp-uc+dyn+ap+elfn", "tcp-uc+tack+elfn+ap", "tcp-uc+tack+ap+elfn",
    "tcp-uc+ack1+elfn+ap", "tcp-uc+ack1+ap+elfn", "tcp-uc+elfn+da+ap", "tcp-uc+elfn+dyn+ap",
    "tcp-uc+elfn+tack+ap", "tcp-uc+elfn+ack1+ap", "tcp-uc+elfn+ap+da", "tcp-uc+elfn+ap+dyn",
    "tcp-uc+elfn+ap+tack", "tcp-uc+elfn+ap+ack1", "tcp-uc+ap+da+elfn", "tcp-uc+ap+dyn+elfn",
    "tcp-uc+ap+tack+elfn", "tcp-uc+ap+ack1+elfn", "tcp-uc+ap+elfn+da", "tcp-uc+ap+elfn+dyn",
    "tcp-uc+ap+elfn+tack", "tcp-uc+ap+elfn+ack1", "tcp-cwl+da+elfn+ap", "tcp-cwl+da+ap+elfn",
    "tcp-cwl+dyn+elfn+ap", "tcp-cwl+dyn+ap+elfn", "tcp-cwl+tack+elfn+ap", "tcp-cwl+tack+ap+elfn",
    "tcp-cwl+ack1+elfn+ap", "tcp-cwl+ack1+ap+elfn", "tcp-cwl+elfn+da+ap", "tcp-cwl+elfn+dyn+ap",
    "tcp-cwl+elfn+tack+ap", "tcp-cwl+elfn+ack1+ap", "tcp-cwl+elfn+ap+da", "tcp-cwl+elfn+ap+dyn",
    "tcp-cwl+elfn+ap+tack", "tcp-cwl+elfn+ap+ack1", "tcp-cwl+ap+da+elfn", "tcp-cwl+ap+dyn+elfn",
    "tcp-cwl+ap+tack+elfn", "tcp-cwl+ap+ack1+elfn", "tcp-cwl+ap+elfn+da", "tcp-cwl+ap+elfn+dyn",
    "tcp-cwl+ap+elfn+tack", "tcp-cwl+ap+elfn+ack1", "tpa-star-2", "tpa-star-3", "tpa-star-ap-3",
    "tpa-star-2+ap", "tpa-star-3+ap"
]

class FlowTransport(TypedDict, total=False):
    """How the data travels: a short name, or a table of parameters. Only cbr, poisson, paced, voice and
    spread have a default, which is udp.
    """

    kind: Literal["reno", "newreno", "cubic", "vegas", "westwood", "bbr", "bbr3", "prague", "adtcp", "tcp-2", "tcp-3", "tcp-uc", "tcp-cwl", "tcp-ap", "tcp-ap-sync", "elfn", "elfn-w", "elfn-rto-w", "reno+da", "reno+dyn", "reno+tack", "reno+ack1", "reno+elfn", "reno+ap", "newreno+da", "newreno+dyn", "newreno+tack", "newreno+ack1", "newreno+elfn", "newreno+ap", "cubic+da", "cubic+dyn", "cubic+tack", "cubic+ack1", "cubic+elfn", "cubic+ap", "vegas+da", "vegas+dyn", "vegas+tack", "vegas+ack1", "vegas+elfn", "vegas+ap", "westwood+da", "westwood+dyn", "westwood+tack", "westwood+ack1", "westwood+elfn", "westwood+ap", "bbr+da", "bbr+dyn", "bbr+tack", "bbr+ack1", "bbr+elfn", "bbr3+da", "bbr3+dyn", "bbr3+tack", "bbr3+ack1", "bbr3+elfn", "prague+da", "prague+dyn", "prague+tack", "prague+ack1", "prague+elfn", "prague+ap", "adtcp+da", "adtcp+dyn", "adtcp+tack", "adtcp+ack1", "adtcp+ap", "tcp-2+da", "tcp-2+dyn", "tcp-2+tack", "tcp-2+ack1", "tcp-2+elfn", "tcp-2+ap", "tcp-3+da", "tcp-3+dyn", "tcp-3+tack", "tcp-3+ack1", "tcp-3+elfn", "tcp-3+ap", "tcp-uc+da", "tcp-uc+dyn", "tcp-uc+tack", "tcp-uc+ack1", "tcp-uc+elfn", "tcp-uc+ap", "tcp-cwl+da", "tcp-cwl+dyn", "tcp-cwl+tack", "tcp-cwl+ack1", "tcp-cwl+elfn", "tcp-cwl+ap", "tcp-ap+da", "tcp-ap+dyn", "tcp-ap+tack", "tcp-ap+ack1", "tcp-ap+elfn", "tcp-ap-sync+da", "tcp-ap-sync+dyn", "tcp-ap-sync+tack", "tcp-ap-sync+ack1", "tcp-ap-sync+elfn", "elfn+da", "elfn+dyn", "elfn+tack", "elfn+ack1", "elfn+ap", "elfn-w+da", "elfn-w+dyn", "elfn-w+tack", "elfn-w+ack1", "elfn-w+ap", "elfn-rto-w+da", "elfn-rto-w+dyn", "elfn-rto-w+tack", "elfn-rto-w+ack1", "elfn-rto-w+ap", "reno+da+elfn", "reno+da+ap", "reno+dyn+elfn", "reno+dyn+ap", "reno+tack+elfn", "reno+tack+ap", "reno+ack1+elfn", "reno+ack1+ap", "reno+elfn+da", "reno+elfn+dyn", "reno+elfn+tack", "reno+elfn+ack1", "reno+elfn+ap", "reno+ap+da", "reno+ap+dyn", "reno+ap+tack", "reno+ap+ack1", "reno+ap+elfn", "newreno+da+elfn", "newreno+da+ap", "newreno+dyn+elfn", "newreno+dyn+ap", "newreno+tack+elfn", "newreno+tack+ap", "newreno+ack1+elfn", "newreno+ack1+ap", "newreno+elfn+da", "newreno+elfn+dyn", "newreno+elfn+tack", "newreno+elfn+ack1", "newreno+elfn+ap", "newreno+ap+da", "newreno+ap+dyn", "newreno+ap+tack", "newreno+ap+ack1", "newreno+ap+elfn", "cubic+da+elfn", "cubic+da+ap", "cubic+dyn+elfn", "cubic+dyn+ap", "cubic+tack+elfn", "cubic+tack+ap", "cubic+ack1+elfn", "cubic+ack1+ap", "cubic+elfn+da", "cubic+elfn+dyn", "cubic+elfn+tack", "cubic+elfn+ack1", "cubic+elfn+ap", "cubic+ap+da", "cubic+ap+dyn", "cubic+ap+tack", "cubic+ap+ack1", "cubic+ap+elfn", "vegas+da+elfn", "vegas+da+ap", "vegas+dyn+elfn", "vegas+dyn+ap", "vegas+tack+elfn", "vegas+tack+ap", "vegas+ack1+elfn", "vegas+ack1+ap", "vegas+elfn+da", "vegas+elfn+dyn", "vegas+elfn+tack", "vegas+elfn+ack1", "vegas+elfn+ap", "vegas+ap+da", "vegas+ap+dyn", "vegas+ap+tack", "vegas+ap+ack1", "vegas+ap+elfn", "westwood+da+elfn", "westwood+da+ap", "westwood+dyn+elfn", "westwood+dyn+ap", "westwood+tack+elfn", "westwood+tack+ap", "westwood+ack1+elfn", "westwood+ack1+ap", "westwood+elfn+da", "westwood+elfn+dyn", "westwood+elfn+tack", "westwood+elfn+ack1", "westwood+elfn+ap", "westwood+ap+da", "westwood+ap+dyn", "westwood+ap+tack", "westwood+ap+ack1", "westwood+ap+elfn", "bbr+da+elfn", "bbr+dyn+elfn", "bbr+tack+elfn", "bbr+ack1+elfn", "bbr+elfn+da", "bbr+elfn+dyn", "bbr+elfn+tack", "bbr+elfn+ack1", "bbr3+da+elfn", "bbr3+dyn+elfn", "bbr3+tack+elfn", "bbr3+ack1+elfn", "bbr3+elfn+da", "bbr3+elfn+dyn", "bbr3+elfn+tack", "bbr3+elfn+ack1", "prague+da+elfn", "prague+da+ap", "prague+dyn+elfn", "prague+dyn+ap", "prague+tack+elfn", "prague+tack+ap", "prague+ack1+elfn", "prague+ack1+ap", "prague+elfn+da", "prague+elfn+dyn", "prague+elfn+tack", "prague+elfn+ack1", "prague+elfn+ap", "prague+ap+da", "prague+ap+dyn", "prague+ap+tack", "prague+ap+ack1", "prague+ap+elfn", "adtcp+da+ap", "adtcp+dyn+ap", "adtcp+tack+ap", "adtcp+ack1+ap", "adtcp+ap+da", "adtcp+ap+dyn", "adtcp+ap+tack", "adtcp+ap+ack1", "tcp-2+da+elfn", "tcp-2+da+ap", "tcp-2+dyn+elfn", "tcp-2+dyn+ap", "tcp-2+tack+elfn", "tcp-2+tack+ap", "tcp-2+ack1+elfn", "tcp-2+ack1+ap", "tcp-2+elfn+da", "tcp-2+elfn+dyn", "tcp-2+elfn+tack", "tcp-2+elfn+ack1", "tcp-2+elfn+ap", "tcp-2+ap+da", "tcp-2+ap+dyn", "tcp-2+ap+tack", "tcp-2+ap+ack1", "tcp-2+ap+elfn", "tcp-3+da+elfn", "tcp-3+da+ap", "tcp-3+dyn+elfn", "tcp-3+dyn+ap", "tcp-3+tack+elfn", "tcp-3+tack+ap", "tcp-3+ack1+elfn", "tcp-3+ack1+ap", "tcp-3+elfn+da", "tcp-3+elfn+dyn", "tcp-3+elfn+tack", "tcp-3+elfn+ack1", "tcp-3+elfn+ap", "tcp-3+ap+da", "tcp-3+ap+dyn", "tcp-3+ap+tack", "tcp-3+ap+ack1", "tcp-3+ap+elfn", "tcp-uc+da+elfn", "tcp-uc+da+ap", "tcp-uc+dyn+elfn", "tcp-uc+dyn+ap", "tcp-uc+tack+elfn", "tcp-uc+tack+ap", "tcp-uc+ack1+elfn", "tcp-uc+ack1+ap", "tcp-uc+elfn+da", "tcp-uc+elfn+dyn", "tcp-uc+elfn+tack", "tcp-uc+elfn+ack1", "tcp-uc+elfn+ap", "tcp-uc+ap+da", "tcp-uc+ap+dyn", "tcp-uc+ap+tack", "tcp-uc+ap+ack1", "tcp-uc+ap+elfn", "tcp-cwl+da+elfn", "tcp-cwl+da+ap", "tcp-cwl+dyn+elfn", "tcp-cwl+dyn+ap", "tcp-cwl+tack+elfn", "tcp-cwl+tack+ap", "tcp-cwl+ack1+elfn", "tcp-cwl+ack1+ap", "tcp-cwl+elfn+da", "tcp-cwl+elfn+dyn", "tcp-cwl+elfn+tack", "tcp-cwl+elfn+ack1", "tcp-cwl+elfn+ap", "tcp-cwl+ap+da", "tcp-cwl+ap+dyn", "tcp-cwl+ap+tack", "tcp-cwl+ap+ack1", "tcp-cwl+ap+elfn", "tcp-ap+da+elfn", "tcp-ap+dyn+elfn", "tcp-ap+tack+elfn", "tcp-ap+ack1+elfn", "tcp-ap+elfn+da", "tcp-ap+elfn+dyn", "tcp-ap+elfn+tack", "tcp-ap+elfn+ack1", "tcp-ap-sync+da+elfn", "tcp-ap-sync+dyn+elfn", "tcp-ap-sync+tack+elfn", "tcp-ap-sync+ack1+elfn", "tcp-ap-sync+elfn+da", "tcp-ap-sync+elfn+dyn", "tcp-ap-sync+elfn+tack", "tcp-ap-sync+elfn+ack1", "elfn+da+ap", "elfn+dyn+ap", "elfn+tack+ap", "elfn+ack1+ap", "elfn+ap+da", "elfn+ap+dyn", "elfn+ap+tack", "elfn+ap+ack1", "elfn-w+da+ap", "elfn-w+dyn+ap", "elfn-w+tack+ap", "elfn-w+ack1+ap", "elfn-w+ap+da", "elfn-w+ap+dyn", "elfn-w+ap+tack", "elfn-w+ap+ack1", "elfn-rto-w+da+ap", "elfn-rto-w+dyn+ap", "elfn-rto-w+tack+ap", "elfn-rto-w+ack1+ap", "elfn-rto-w+ap+da", "elfn-rto-w+ap+dyn", "elfn-rto-w+ap+tack", "elfn-rto-w+ap+ack1", "reno+da+elfn+ap", "reno+da+ap+elfn", "reno+dyn+elfn+ap", "reno+dyn+ap+elfn", "reno+tack+elfn+ap", "reno+tack+ap+elfn", "reno+ack1+elfn+ap", "reno+ack1+ap+elfn", "reno+elfn+da+ap", "reno+elfn+dyn+ap", "reno+elfn+tack+ap", "reno+elfn+ack1+ap", "reno+elfn+ap+da", "reno+elfn+ap+dyn", "reno+elfn+ap+tack", "reno+elfn+ap+ack1", "reno+ap+da+elfn", "reno+ap+dyn+elfn", "reno+ap+tack+elfn", "reno+ap+ack1+elfn", "reno+ap+elfn+da", "reno+ap+elfn+dyn", "reno+ap+elfn+tack", "reno+ap+elfn+ack1", "newreno+da+elfn+ap", "newreno+da+ap+elfn", "newreno+dyn+elfn+ap", "newreno+dyn+ap+elfn", "newreno+tack+elfn+ap", "newreno+tack+ap+elfn", "newreno+ack1+elfn+ap", "newreno+ack1+ap+elfn", "newreno+elfn+da+ap", "newreno+elfn+dyn+ap", "newreno+elfn+tack+ap", "newreno+elfn+ack1+ap", "newreno+elfn+ap+da", "newreno+elfn+ap+dyn", "newreno+elfn+ap+tack", "newreno+elfn+ap+ack1", "newreno+ap+da+elfn", "newreno+ap+dyn+elfn", "newreno+ap+tack+elfn", "newreno+ap+ack1+elfn", "newreno+ap+elfn+da", "newreno+ap+elfn+dyn", "newreno+ap+elfn+tack", "newreno+ap+elfn+ack1", "cubic+da+elfn+ap", "cubic+da+ap+elfn", "cubic+dyn+elfn+ap", "cubic+dyn+ap+elfn", "cubic+tack+elfn+ap", "cubic+tack+ap+elfn", "cubic+ack1+elfn+ap", "cubic+ack1+ap+elfn", "cubic+elfn+da+ap", "cubic+elfn+dyn+ap", "cubic+elfn+tack+ap", "cubic+elfn+ack1+ap", "cubic+elfn+ap+da", "cubic+elfn+ap+dyn", "cubic+elfn+ap+tack", "cubic+elfn+ap+ack1", "cubic+ap+da+elfn", "cubic+ap+dyn+elfn", "cubic+ap+tack+elfn", "cubic+ap+ack1+elfn", "cubic+ap+elfn+da", "cubic+ap+elfn+dyn", "cubic+ap+elfn+tack", "cubic+ap+elfn+ack1", "vegas+da+elfn+ap", "vegas+da+ap+elfn", "vegas+dyn+elfn+ap", "vegas+dyn+ap+elfn", "vegas+tack+elfn+ap", "vegas+tack+ap+elfn", "vegas+ack1+elfn+ap", "vegas+ack1+ap+elfn", "vegas+elfn+da+ap", "vegas+elfn+dyn+ap", "vegas+elfn+tack+ap", "vegas+elfn+ack1+ap", "vegas+elfn+ap+da", "vegas+elfn+ap+dyn", "vegas+elfn+ap+tack", "vegas+elfn+ap+ack1", "vegas+ap+da+elfn", "vegas+ap+dyn+elfn", "vegas+ap+tack+elfn", "vegas+ap+ack1+elfn", "vegas+ap+elfn+da", "vegas+ap+elfn+dyn", "vegas+ap+elfn+tack", "vegas+ap+elfn+ack1", "westwood+da+elfn+ap", "westwood+da+ap+elfn", "westwood+dyn+elfn+ap", "westwood+dyn+ap+elfn", "westwood+tack+elfn+ap", "westwood+tack+ap+elfn", "westwood+ack1+elfn+ap", "westwood+ack1+ap+elfn", "westwood+elfn+da+ap", "westwood+elfn+dyn+ap", "westwood+elfn+tack+ap", "westwood+elfn+ack1+ap", "westwood+elfn+ap+da", "westwood+elfn+ap+dyn", "westwood+elfn+ap+tack", "westwood+elfn+ap+ack1", "westwood+ap+da+elfn", "westwood+ap+dyn+elfn", "westwood+ap+tack+elfn", "westwood+ap+ack1+elfn", "westwood+ap+elfn+da", "westwood+ap+elfn+dyn", "westwood+ap+elfn+tack", "westwood+ap+elfn+ack1", "prague+da+elfn+ap", "prague+da+ap+elfn", "prague+dyn+elfn+ap", "prague+dyn+ap+elfn", "prague+tack+elfn+ap", "prague+tack+ap+elfn", "prague+ack1+elfn+ap", "prague+ack1+ap+elfn", "prague+elfn+da+ap", "prague+elfn+dyn+ap", "prague+elfn+tack+ap", "prague+elfn+ack1+ap", "prague+elfn+ap+da", "prague+elfn+ap+dyn", "prague+elfn+ap+tack", "prague+elfn+ap+ack1", "prague+ap+da+elfn", "prague+ap+dyn+elfn", "prague+ap+tack+elfn", "prague+ap+ack1+elfn", "prague+ap+elfn+da", "prague+ap+elfn+dyn", "prague+ap+elfn+tack", "prague+ap+elfn+ack1", "tcp-2+da+elfn+ap", "tcp-2+da+ap+elfn", "tcp-2+dyn+elfn+ap", "tcp-2+dyn+ap+elfn", "tcp-2+tack+elfn+ap", "tcp-2+tack+ap+elfn", "tcp-2+ack1+elfn+ap", "tcp-2+ack1+ap+elfn", "tcp-2+elfn+da+ap", "tcp-2+elfn+dyn+ap", "tcp-2+elfn+tack+ap", "tcp-2+elfn+ack1+ap", "tcp-2+elfn+ap+da", "tcp-2+elfn+ap+dyn", "tcp-2+elfn+ap+tack", "tcp-2+elfn+ap+ack1", "tcp-2+ap+da+elfn", "tcp-2+ap+dyn+elfn", "tcp-2+ap+tack+elfn", "tcp-2+ap+ack1+elfn", "tcp-2+ap+elfn+da", "tcp-2+ap+elfn+dyn", "tcp-2+ap+elfn+tack", "tcp-2+ap+elfn+ack1", "tcp-3+da+elfn+ap", "tcp-3+da+ap+elfn", "tcp-3+dyn+elfn+ap", "tcp-3+dyn+ap+elfn", "tcp-3+tack+elfn+ap", "tcp-3+tack+ap+elfn", "tcp-3+ack1+elfn+ap", "tcp-3+ack1+ap+elfn", "tcp-3+elfn+da+ap", "tcp-3+elfn+dyn+ap", "tcp-3+elfn+tack+ap", "tcp-3+elfn+ack1+ap", "tcp-3+elfn+ap+da", "tcp-3+elfn+ap+dyn", "tcp-3+elfn+ap+tack", "tcp-3+elfn+ap+ack1", "tcp-3+ap+da+elfn", "tcp-3+ap+dyn+elfn", "tcp-3+ap+tack+elfn", "tcp-3+ap+ack1+elfn", "tcp-3+ap+elfn+da", "tcp-3+ap+elfn+dyn", "tcp-3+ap+elfn+tack", "tcp-3+ap+elfn+ack1", "tcp-uc+da+elfn+ap", "tcp-uc+da+ap+elfn", "tcp-uc+dyn+elfn+ap", "tcp-uc+dyn+ap+elfn", "tcp-uc+tack+elfn+ap", "tcp-uc+tack+ap+elfn", "tcp-uc+ack1+elfn+ap", "tcp-uc+ack1+ap+elfn", "tcp-uc+elfn+da+ap", "tcp-uc+elfn+dyn+ap", "tcp-uc+elfn+tack+ap", "tcp-uc+elfn+ack1+ap", "tcp-uc+elfn+ap+da", "tcp-uc+elfn+ap+dyn", "tcp-uc+elfn+ap+tack", "tcp-uc+elfn+ap+ack1", "tcp-uc+ap+da+elfn", "tcp-uc+ap+dyn+elfn", "tcp-uc+ap+tack+elfn", "tcp-uc+ap+ack1+elfn", "tcp-uc+ap+elfn+da", "tcp-uc+ap+elfn+dyn", "tcp-uc+ap+elfn+tack", "tcp-uc+ap+elfn+ack1", "tcp-cwl+da+elfn+ap", "tcp-cwl+da+ap+elfn", "tcp-cwl+dyn+elfn+ap", "tcp-cwl+dyn+ap+elfn", "tcp-cwl+tack+elfn+ap", "tcp-cwl+tack+ap+elfn", "tcp-cwl+ack1+elfn+ap", "tcp-cwl+ack1+ap+elfn", "tcp-cwl+elfn+da+ap", "tcp-cwl+elfn+dyn+ap", "tcp-cwl+elfn+tack+ap", "tcp-cwl+elfn+ack1+ap", "tcp-cwl+elfn+ap+da", "tcp-cwl+elfn+ap+dyn", "tcp-cwl+elfn+ap+tack", "tcp-cwl+elfn+ap+ack1", "tcp-cwl+ap+da+elfn", "tcp-cwl+ap+dyn+elfn", "tcp-cwl+ap+tack+elfn", "tcp-cwl+ap+ack1+elfn", "tcp-cwl+ap+elfn+da", "tcp-cwl+ap+elfn+dyn", "tcp-cwl+ap+elfn+tack", "tcp-cwl+ap+elfn+ack1", "tpa", "tpa-2", "tpa-3", "tpa*-2", "tpa*-3", "tpa-ap-2", "tpa-ap-3", "tpa*-ap-3", "tpa+ap", "tpa-2+ap", "tpa-3+ap", "tpa*-2+ap", "tpa*-3+ap", "tpa-star-2", "tpa-star-3", "tpa-star-ap-3", "tpa-star-2+ap", "tpa-star-3+ap", "mesh"]
    """Short name."""

    ack_delay: float
    """Longest delay of an ACK, s."""

    ack_delay_max: Literal["off"] | float
    """Longest delay of an ACK where segments arrive seldom, s; ack_delay is then the shortest, and ACKs of
    duplicates and of what the sender pushes leave at once, as in Linux. off: always ack_delay.
    """

    all_rtt: bool
    """Whether what SACK reports is a sample of the round trip as well, and the handshake one of the
    shortest, as in Linux; only with rack.
    """

    alpha: float
    """Weight of earlier samples in the average time that data needs for reuse_hops hops. Default: 0.7."""

    ap_across_timeouts: bool
    """Whether round-trip times of segments that were outstanding at a retransmission timeout, but not
    retransmitted, are used for pacing as well. An outage then slows the sender down for as long as it
    is in the history. Default: False.
    """

    ap_rtt: Literal["net", "timed", "echo"]
    """Round-trip times that adaptive pacing uses: those of every ACK of new data without the time for
    which the receiver held it (net), those that the retransmission timer measures (timed), or those of
    every ACK from the departure of the segment that made it (echo).
    """

    backoff_limit: int
    """Largest backoff factor of the timeout."""

    bins: int
    """Number of bins of the histogram in which adtcp ranks a sample (N): a multiple of 4. Default: 8."""

    byte_counting: bool
    """Whether the window grows by the bytes that ACKs deliver, not by their number (RFC 3465 without its
    limit).
    """

    clock: Literal["own", "synchronised"]
    """Source of the one-way delay for pacing: half of the round-trip time (own), or the measurement of a
    receiver whose clock is synchronised; by default as the kind requires.
    """

    cov: Literal["std", "mad"]
    """Variation of round-trip times: their standard deviation (std), or their mean absolute deviation
    (mad).
    """

    delack: Literal["ns2", "linux"]
    """Implementation of delayed ACKs, if the kind delays them: ns2 acknowledges every second segment,
    linux every one if window_max is 2 or less.
    """

    ecn: bool
    """Whether packets may be marked in place of being dropped (ECN, RFC 3168); prague always allows it.
    Default: False.
    """

    exit: Literal["any", "new"]
    """ACK that ends stand-by: any, or one of new data (new). Default: any."""

    handshake: bool
    """Whether connections begin with SYN segments."""

    high: float
    """Share of the samples that adtcp counts as high. Default: 0.3."""

    history: int
    """Number of round-trip times from which the variation is computed (N). Default: 50."""

    hystart: bool
    """Whether slow start ends when round trips grow, before queues overflow (HyStart++, RFC 9406).
    Default: False.
    """

    identify: Literal["joint", "idd", "stt"]
    """Metrics that indicate congestion to adtcp: delay differences together with throughput (joint), or
    one of them alone (idd, stt). Default: joint.
    """

    initial_window: int
    """Initial window of the sender, segments."""

    limited_transmit: bool
    """Whether each of the first two duplicate ACKs releases a new segment (RFC 3042)."""

    low: float
    """Share of the samples that adtcp counts as low. Default: 0.3."""

    max_retries: Literal["off"] | int
    """Number of retransmissions in a row after which the connection is aborted; off: no limit."""

    mss: int
    """Payload of a full segment, bytes. Default: 1460."""

    nagle: bool
    """Whether small segments are delayed while data is outstanding (Nagle, RFC 9293 §3.7.4)."""

    option_kind: int
    """Kind of the TCP option with which adtcp's receiver reports the state; one of those for experiments.
    Default: 253.
    """

    pacing_k: int
    """Factor on each round-trip time in the deviation (K in Equation 3 of the TPA paper). Default: 1."""

    pacing_k_mean: Literal["raw", "scaled"]
    """Effect of pacing_k on the mean: none, as the equation is printed (raw), or the mean is scaled too,
    so that the variation is pacing_k times as large (scaled). Default: raw.
    """

    preset: Literal["rfc", "ns2-1999", "ns2-2002", "ns2-2005", "ns2-2.30", "linux", "linux-6"]
    """Set of constants, which other keys can change; by default ns2-2002 for adtcp, linux-6 for bbr, bbr3
    and prague, rfc for cubic, ns2-2005 for others.
    """

    probe: Literal["first", "lowest-lost"]
    """Segment that a probe carries: the first unacknowledged one (first), or the one with the lowest
    number among those that notices named (lowest-lost). Default: first.
    """

    probe_interval: Literal["rtt"] | float
    """Time between probes on stand-by, s, or "rtt": four smoothed round-trip times, from 0.2 to 2 s.
    Default: 2.0.
    """

    probe_max: Literal["off"] | int
    """Number of probes without an answer after which the connection is aborted; off: no limit."""

    prr: bool
    """Whether the window shrinks segment by segment during fast recovery (PRR, RFC 9937); only with rack,
    and not under bbr.
    """

    quick_acks: int
    """Number of segments that are acknowledged at once when a connection begins, whatever the rule."""

    rack: bool
    """Whether losses are found by time, with a probe for a lost tail (RACK-TLP, RFC 8985); needs sack."""

    recovery: Literal["impatient", "slow-but-steady"]
    """Partial ACKs that restart the timer during NewReno's fast recovery: the first (impatient), or all
    (slow-but-steady).
    """

    recv_buffer: int
    """Receive buffer, bytes; if not given, room for window_max segments."""

    restore: Literal["keep", "window", "rto-window"]
    """State that changes when stand-by ends: nothing (keep); the window, to one segment (window); or also
    the timeout, to rto_initial (rto-window).
    """

    reuse_hops: int
    """Number of hops that a segment should be away, or at its destination, before the next one leaves.
    Default: 4.
    """

    rto_initial: float
    """Retransmission timeout before the first sample, s."""

    rto_margin: float
    """Least time by which the timeout exceeds the smoothed round trip, s."""

    rto_max: float
    """Longest retransmission timeout, backoff included, s."""

    rto_min: float
    """Shortest retransmission timeout, s."""

    rules: Literal["paper", "authors"]
    """Rules of adaptive pacing where the paper's text and its authors' implementation differ; also sets
    cov and, for TCP, ap_rtt.
    """

    sack: bool
    """Whether selective acknowledgement is offered (RFC 2018, RFC 6675)."""

    samples: int
    """Number of earlier samples with which adtcp compares a new one; before that it identifies nothing.
    Default: 100.
    """

    tick: float
    """Tick of the clock that measures round-trip times, s."""

    timestamps: Literal["off"] | float
    """Tick of the clock of timestamps (RFC 7323), s; off: timestamps are not offered."""

    undo: bool
    """Whether reductions of the window that prove unnecessary are undone: by reports of duplicates (RFC
    3708), timestamps (RFC 4015), or what arrives after a timeout (RFC 5682); only with rack.
    """

    window_max: int
    """Largest window of the sender, segments."""

    ack_block_end: bool
    """Whether the segment that completes a block is acknowledged at once."""

    ack_gaps: bool
    """Whether segments are acknowledged at once while one before them is missing."""

    ack_interval: float
    """Longest delay of an ACK, s; without ack_interval_min at most half of rto_min. Default: 0.1."""

    ack_interval_min: Literal["off"] | float
    """Shortest time for which an ACK may wait where it waits for one round-trip time, at most for
    ack_interval and 255 ms, s; off: an ACK may always wait for ack_interval. Needs rto_covers_hold.
    """

    ack_policy: Literal["every-2", "every-cwnd"]
    """ACK rule that the sender asks of its peer: one ACK for every other segment (every-2, TPA), or for
    every window of cwnd_max (every-cwnd, TPA*).
    """

    block_fill: float
    """Time for which data waits for more to fill a segment or a block, s; 0 does not wait."""

    block_size: int
    """Number of segments in a block (K). Default: 12."""

    cwnd_max: int
    """Largest number of segments in flight in the normal state (cwnd_max), at most block_size."""

    fill: Literal["block", "segment"]
    """Rule for the data that fills a block: once there is enough for all of it (block), or segment by
    segment (segment).
    """

    freeze_rto_max: Literal["off"] | float
    """Longest retransmission timeout while frozen, s; off: rto_max."""

    g: float
    """Weight of a round-trip time in the mean. Default: 0.125."""

    g1: float
    """Value of g after a change of route. Default: 0.25."""

    h: float
    """Weight of a round-trip time's distance from the mean in the deviation. Default: 0.25."""

    h1: float
    """Value of h after a change of route. Default: 0.5."""

    hold_in: Literal["neither", "timeout", "both"]
    """Round-trip samples that contain the time for which the peer held the ACK: those of the timeout,
    those of the pacer too (both), or neither. Default: timeout.
    """

    keepalive: Literal["off"] | float
    """Silence of the peer after which a keepalive is sent, s; off: no keepalives. Default: off."""

    late_samples: bool
    """Whether an ACK that comes after the timeout of its segment is a round-trip sample, of at most twice
    that timeout.
    """

    linger: float
    """Time for which a closed connection answers late segments, s. Default: 120.0."""

    loss_by_txseq: Literal["off"] | int
    """Number of later transmissions whose ACKs show that a segment is lost; off: its timer alone does."""

    n_rc: int
    """Number of round-trip times that weigh more after a change of route (n_RC). Default: 3."""

    notices: bool
    """Whether notices of link failures reach the sender; timeouts alone then mean congestion. Default:
    False.
    """

    profile: Literal["paper", "net"]
    """Whose constants hold unless a key changes them: those of the paper's experiments, or those for real
    networks. Default: paper.
    """

    route_notices: bool
    """Whether notices of lost and restored routes reach the sender; a frozen sender is then silent in
    between. Default: False.
    """

    rto_covers_hold: bool
    """Whether the longest time for which the peer may hold an ACK is added to the timeout, and left out of
    its samples.
    """

    rto_short_samples: bool
    """Whether round trips of the handshake and of segments shorter than half of mss are samples as any
    other from the start; otherwise the timeout is nine times as long until the first of a longer one.
    """

    silence_max: float
    """Time after which a frozen sender that waits for a notice about its route sends a probe, s. Default:
    10.0.
    """

    syn_retries: Literal["off"] | int
    """Limit of retransmissions of a SYN before opening fails; off: no limit. Default: 4."""

    syn_wait: float
    """Time after which an unanswered SYN is retransmitted, s; it doubles with each retransmission, up to
    rto_max. Default: 1.0.
    """

    th_ack: int
    """Number of ACKs in a row that end congestion (th_ACK). Default: 1."""

    th_cong: int
    """Number of timeouts in a row that mean congestion, with notices (th_CONG). Default: 1."""

    th_rc: int
    """Number of round-trip times in a row, all longer or all shorter than usual, that mean a route change
    (th_RC). Default: 3.
    """

    th_route: int
    """Number of timeouts in a row that mean a broken route, without notices (th_ROUTE). Default: 1."""

    user_timeout: Literal["off"] | float
    """Time without an answer to data, FIN or keepalive after which the connection is aborted, s; off: no
    limit. Default: 300.0.
    """

    ack_every: int
    """Number of segments for which a receiver sends one ACK, on paths with few segments in a round trip.
    Default: 8.
    """

    ack_hold: float
    """Longest delay of an ACK, s. Default: 0.4."""

    backlog: float
    """Number of segments that a sender keeps in queues along the path. Default: 0.4."""

    copies: int
    """Largest number of copies of a message with a deadline, which travel in later segments where losses
    and the round trip require them; 0: none. Default: 8.
    """

    correction: float
    """Share of the distance to the backlog that the pace corrects at once, for as long as the distance
    lasts. Default: 0.5.
    """

    delay: float
    """Queueing delay that a sender allows in addition to the backlog, s. Default: 0.005."""

    gain: float
    """Share of its distance to the backlog by which the rate changes until the next ACK. Default: 0.05."""

_Flow = TypedDict("_Flow", {"from": "int | str"}, total=False)

class Flow(_Flow, total=False):
    """The table `flow`."""

    category: Literal["background", "best-effort", "video", "voice"]
    """Access category of the flow's packets, if mac.edca is on. Default: best-effort."""

    dscp: bool
    """Whether packets of an application "messages" over mesh have the DSCP of the priority of their
    channel: 0 EF, 1 and 2 AF41, 5 to 7 CS1. If mac.edca is on, the DSCP decides the access category of
    each packet, instead of category. Default: False.
    """

    start: float
    """Instant at which the application begins, s. Default: 0.0."""

    start_jitter: float
    """Largest delay of the application after start, s: a time drawn uniformly for each flow and seed. It
    keeps flows of constant rate from transmitting at the same instants for the whole run. Default: 0.0.
    """

    stop: float
    """Instant at which the application ends, s; by default the end of the run."""

    to: int | str
    """Receiver of the flow."""

    channel: Sequence[FlowChannel]
    """Messages of an application "messages"."""

    transport: TransportName | FlowTransport
    """How the data travels: a short name, or a table of parameters. Only cbr, poisson, paced, voice and
    spread have a default, which is udp.
    """

    app: Literal["ftp", "file", "pareto", "cbr", "poisson", "paced", "voice", "web", "video", "messages", "spread", "relay"]
    """Default: ftp."""

    bytes: int
    """Number of application bytes."""

    mean_bytes: float
    """Mean size of a file, bytes."""

    mean_pause: float
    """Mean pause between two files, s."""

    shape: float
    """Shape of the distribution; values near 1 give a heavy tail."""

    rate_kbps: float
    """Bit rate of the payload, kb/s."""

    size: int
    """Payload of each datagram, bytes. Default: 512."""

    codec: Literal["g711", "g729"]
    """Codec of the speech: G.711 with 64 kb/s, or G.729 with 8 kb/s. Default: g711."""

    packet: float
    """Length of the speech in each packet, s. Default: 0.02."""

    playout_delay: float
    """Time from the departure of a packet to the instant at which its speech is played, s. Packets that
    arrive later are lost. Default: 0.06.
    """

    speech: Literal["spurts", "continuous"]
    """Times at which the talker speaks: talk spurts and pauses of exponential length with the means of
    ITU-T P.59, 1.004 s and 1.587 s (spurts), or all the time (continuous). Default: spurts.
    """

    reading: float
    """Mean time from a complete page to the next one, s; times are exponential. Default: 30.0."""

    buffer_time: float
    """Longest video in the buffer, s. No segment is fetched that does not fit. Default: 30.0."""

    segment: float
    """Length of a segment, s. Default: 2.0."""

    startup: float
    """Length of the video in the buffer with which playing begins, and goes on after a stall, s. Default:
    4.0.
    """

    expect: int
    """Number of receivers for which the source waits before it begins. Default: 1."""

    buffer: int
    """Largest number of bytes that have been read from the other flow and are not yet acknowledged in this
    flow. At this limit nothing more is read from the other flow. Default: 65536.
    """

    of: int
    """Other flow, by its place in the file from 0 on. It ends where this one begins, and is no relay
    itself.
    """

class Host(TypedDict, total=False):
    """The table `host`."""

    delay: float
    """One-way delay to the host, s. Default: 0.01."""

    gateway: int | str
    """Node at the other end of the wire."""

    loss_from_host: float
    """Probability that a packet from the host is lost on the wire. Default: 0.0."""

    loss_to_host: float
    """Probability that a packet to the host is lost on the wire. Default: 0.0."""

    name: str
    """Name of the host, which flows can use instead of its number."""

    queue: int
    """Number of packets that may wait at each end of the wire; by default 50."""

    rate_kbps: float
    """Bit rate of the wire in each direction, kb/s; by default 10000."""

    trace_from_host: str
    """Trace of the rate from the host, in the format of mahimahi, which replaces rate_kbps. A path
    relative to the scenario's folder.
    """

    trace_to_host: str
    """Trace of the rate to the host, in the format of mahimahi, which replaces rate_kbps: in each line the
    millisecond at which 1500 bytes can be delivered; the file repeats. A path relative to the
    scenario's folder.
    """

    wire: int | str
    """Earlier host of the same gateway whose wire this host shares, with its rate_kbps and queue; by
    default the host has a wire of its own.
    """

class MacEdcaBackground(TypedDict, total=False):
    """Default: AIFSN 7, the windows of the profile, one packet."""

    aifsn: int
    """Number of slots of the interframe space after SIFS."""

    cw_max: int
    """Largest contention window of the category, slots."""

    cw_min: int
    """Smallest contention window of the category, slots."""

    txop: float
    """Limit of a transmission opportunity, s; 0: one packet."""

_MacEdca = TypedDict("_MacEdca", {"best-effort": "MacEdcaBackground"}, total=False)

class MacEdca(_MacEdca, total=False):
    """Four access categories (EDCA) instead of DCF, with the parameters of the standard or those given;
    flavour standard only. Flows have a category, urgent routing messages are voice. Default: false with
    the budget ns-2, otherwise true.
    """

    background: MacEdcaBackground
    """Default: AIFSN 7, the windows of the profile, one packet."""

    video: MacEdcaBackground
    """Default: AIFSN 2, half the smallest window, up to the smallest one of the profile, 3.008 ms
    (802.11b: 6.016 ms).
    """

    voice: MacEdcaBackground
    """Default: AIFSN 2, a quarter of the smallest window, up to half of it, 1.504 ms (802.11b: 3.264 ms)."""

class MacRateControl(TypedDict, total=False):
    """Choice of the rate of unicast data. All but fixed begin with radio.rate, Minstrel-HT with MCS 0.
    Default: fixed; with the budget of a device minstrel, unless radio.rate or data_rate is given.
    """

    kind: Literal["fixed", "arf", "aarf", "cara", "kernel", "minstrel"]

    failures: int
    """Number of consecutive failures after which the next lower rate is used. Default: 2."""

    successes: int
    """Number of consecutive successes after which the next higher rate is tried. Default: 10."""

    timer: int
    """Number of transmissions at one rate after which any success leads to a trial of the next higher one;
    under aarf it grows in proportion to successes. Default: 15.
    """

    most_successes: int
    """Largest number of successes, which a failed trial doubles. Default: 50."""

    rts_after: int
    """Number of consecutive failures after which an RTS precedes data of any length. Default: 1."""

    interval: float
    """Time between two evaluations of the statistics, s. Default: 0.1."""

    lookaround: float
    """Share of packets that try another rate; of 802.11n, fifty a second do. Default: 0.1."""

    weight: float
    """Weight of the earlier estimate of a probability against the last interval. Default: 0.75."""

class MacTurns(TypedDict, total=False):
    """Whether a station pauses for a starving station near it; a table sets the parameters. No part of
    IEEE 802.11. Default: False.
    """

    failures: int
    """Failed transmissions of a packet from which on its station starves. Default: 5."""

    hold: float
    """Time for which a station counts as starving after its latest transmission with a packet that failed
    failures times or was in service for patience, s. Default: 0.1.
    """

    longest: float
    """Longest pause of a station after one request, s. A pause is as long as the data that the station
    transmitted since its latest pause. Default: 0.02.
    """

    memory: float
    """Time constant with which the airtime of acknowledged data decays, s. Default: 0.5."""

    pass_on: float
    """Time for which responses pass a decoded request on, s. Default: 0.02."""

    patience: float
    """Time that a packet is in service from which on its station starves, s. Default: 0.05."""

    ratio: float
    """A station pauses if its data had at least this many times the airtime of the starving station's
    data. Default: 2.0.
    """

class Mac(TypedDict, total=False):
    """Medium access and the interface queue."""

    ampdu: Literal["off"] | int
    """Limit of MPDUs of a frame (A-MPDU), answered by a block ACK; off: one. With 802.11n or 802.11ac up
    to 64, with 802.11ax up to 256; flavour standard only. Default: off with the budget ns-2, otherwise
    the most of the physical layer.
    """

    amsdu: Literal["off"] | int
    """Limit of bytes of several packets in one MPDU (A-MSDU), 3839 or 7935 in the standard; off: one
    packet. With 802.11n, 802.11ac or 802.11ax and flavour standard. Default: off.
    """

    arp: Literal["ns2", "queueing", "oracle"]
    """Address resolution: ARP as in ns-2 (ns2), ARP with a queue (queueing), or all addresses known in
    advance (oracle). Default: ns2; with flavour standard queueing.
    """

    codel_interval: float
    """Time for which packets may wait longer than codel_target before CoDel drops or marks one, s.
    Default: 0.1.
    """

    codel_target: float
    """Wait of packets that CoDel allows, s. Default: 0.005."""

    cw_max: int
    """Largest contention window (CWmax), slots; by default that of the physical layer."""

    cw_min: int
    """Smallest contention window (CWmin), slots; by default that of the physical layer. The windows of
    edca that are not given follow from it.
    """

    discipline: Literal["drop-tail", "codel", "fq-codel"]
    """Discipline of the interface queue: packets leave in their order (drop-tail); CoDel (RFC 8289) drops
    or marks those that have waited too long; FQ-CoDel (RFC 8290) lets flows take turns as well.
    Default: drop-tail.
    """

    edca: bool | MacEdca
    """Four access categories (EDCA) instead of DCF, with the parameters of the standard or those given;
    flavour standard only. Flows have a category, urgent routing messages are voice. Default: false with
    the budget ns-2, otherwise true.
    """

    eifs: bool
    """Whether a station that heard an error waits longer (EIFS). Default: True."""

    flavour: Literal["ns2", "standard"]
    """Rules that hold where ns-2 departs from IEEE 802.11. Default: ns2 with the budget ns-2, otherwise
    standard.
    """

    link_delay: float
    """Time that a packet takes between IP and MAC, in each direction, s. Default: 2.5e-05."""

    llc: bool
    """Whether every data frame has 8 bytes of LLC/SNAP. Default: false with the budget ns-2, otherwise
    true.
    """

    long_retry: Literal["off"] | int
    """Limit of transmissions of a data frame after RTS; off: no limit. Default: 4."""

    mark_above: float
    """Wait from which on CoDel marks packets of prague, s. Default: 0.001."""

    protection: Literal["off", "cts-to-self"]
    """Protection of unicast data at a rate of OFDM without RTS, which stations of 802.11b do not hear:
    none, or a CTS that a station sends to itself. With 802.11g, a basic_rate of 802.11b and flavour
    standard. Default: off.
    """

    queue: int
    """Length of the interface queue, packets. Default: 50."""

    rate_control: Literal["fixed", "arf", "aarf", "cara", "kernel", "minstrel"] | MacRateControl
    """Choice of the rate of unicast data. All but fixed begin with radio.rate, Minstrel-HT with MCS 0.
    Default: fixed; with the budget of a device minstrel, unless radio.rate or data_rate is given.
    """

    rts_threshold: Literal["off"] | int
    """Length from which on frames are announced by RTS, bytes as the flavour counts them; off: no frame
    is. Default: 0 with the budget ns-2, otherwise off.
    """

    short_retry: Literal["off"] | int
    """Limit of transmissions of an RTS, or of a data frame without RTS; off: no limit. Default: 7."""

    timing: Literal["dsss", "ns2-1999"]
    """Frame sizes that count: those of the standard (dsss), or the accounting of the papers of 1999 to
    2001 (ns2-1999). Default: dsss.
    """

    turns: bool | MacTurns
    """Whether a station pauses for a starving station near it; a table sets the parameters. No part of
    IEEE 802.11. Default: False.
    """

    window_reset: Literal["cts", "ack"]
    """Answer that resets the contention window: the ACK, as in IEEE 802.11 and ns-2, or already the CTS.
    Default: ack; cts with 802.11b and flavour standard.
    """

class MobilityNode(TypedDict, total=False):
    """The table `node`."""

    node: int | str | Sequence[int | str]
    """Node, or array of nodes, each by its number or name."""

    kind: Literal["path", "waypoints", "static", "random-waypoint", "random-walk", "gauss-markov", "manhattan", "group"]

    path: Sequence[Sequence[float]]
    """Places to which the node goes: a list of [x, y], m; y grows downwards. It stays at the last place."""

    pause: float
    """Pause at each place, s. Default: 0.0."""

    repeat: bool
    """Whether the node goes to the first place of the path again after the last one, and so on. Default:
    False.
    """

    speed: float | Sequence[float]
    """Speed along the path, m/s."""

    start: Literal["stationary", "classic"] | float
    """Instant at which the node leaves its place in the topology, s. Default: 0.0."""

    waypoints: Sequence[Sequence[float]]
    """Waypoints of the node: a list of [time, x, y], s and m. The node waits at the first, goes straight
    to each in turn and stays at the last.
    """

    area: Sequence[float]
    """Width and height of the area, m; by default those of the topology random."""

    pattern: int
    """Number from which, with one number as speed, the movement is drawn instead of the seed, so that runs
    with different seeds have the same movement.
    """

    leg_mean: float
    """Mean time in one direction, s; times are exponential."""

    speed_max: float
    """Largest speed, m/s; speeds are uniform from 0 to this."""

    alpha: float
    """Memory: the autocorrelation of speed and direction from one interval to the next. 0 forgets them, 1
    keeps them for ever. Default: 0.75.
    """

    direction: float
    """Mean direction, degrees from the x axis to the y axis, which grows downwards. Without it each node
    has a mean direction of its own, drawn uniformly. It is mirrored where the node meets a border.
    """

    direction_deviation: float
    """Standard deviation of the direction, degrees. Default: 30.0."""

    interval: float
    """Time between two changes of speed and direction, s. Default: 1.0."""

    speed_deviation: float
    """Standard deviation of the speed, m/s. Speeds are never below 0 or more than four standard deviations
    above the mean. Default: 1.0.
    """

    blocks: Sequence[int]
    """Number of blocks in a row and in a column. Streets run between them and along the borders of the
    area.
    """

    turn: float
    """Probability of turning at a crossing, half of it to each side. Default: 0.5."""

    radius: float
    """Largest distance of a node from its reference point, m. Reference points stay this far away from the
    borders of the area.
    """

class Mobility(TypedDict, total=False):
    """How the nodes move; without this table they do not. The initial positions of moving nodes come from
    this table; the topology gives only their number and names.
    """

    node: Sequence[MobilityNode]
    """Nodes that move otherwise than the kind of this table says."""

    kind: Literal["static", "random-waypoint", "random-walk", "waypoints", "ns2", "bonnmotion", "sumo", "gpx", "gauss-markov", "manhattan", "group"]
    """Default: static."""

    area: Sequence[float]
    """Width and height of the area, m; by default those of the topology random."""

    pattern: int
    """Number from which, with one number as speed, the movement is drawn instead of the seed, so that runs
    with different seeds have the same movement.
    """

    pause: float
    """Pause after each trip, s; 0 by default."""

    speed: float | Sequence[float]
    """Slowest and fastest speed, m/s; or one number v, for speeds from 0.9 v to 1.1 v without pauses, so
    that another v is the same movement with the time scaled.
    """

    start: Literal["stationary", "classic"]
    """Beginning of the movement: stationary starts in the steady state, classic as setdest does, with
    uniform places and a pause. Default: stationary.
    """

    leg_mean: float
    """Mean time in one direction, s; times are exponential."""

    speed_max: float
    """Largest speed, m/s; speeds are uniform from 0 to this."""

    waypoints: Sequence[Sequence[Sequence[float]]]
    """Path of each node: a list of [time, x, y], s and m. A node waits at the first, goes straight to each
    in turn and stays at the last; one with an empty list stays where the topology has it.
    """

    file: str | PathLike[str]
    """The file, relative to the scenario's folder."""

    degrees: bool
    """Whether x and y are longitude and latitude, as with --fcd-output.geo; needs origin. Default: False."""

    alpha: float
    """Memory: the autocorrelation of speed and direction from one interval to the next. 0 forgets them, 1
    keeps them for ever. Default: 0.75.
    """

    direction: float
    """Mean direction, degrees from the x axis to the y axis, which grows downwards. Without it each node
    has a mean direction of its own, drawn uniformly. It is mirrored where the node meets a border.
    """

    direction_deviation: float
    """Standard deviation of the direction, degrees. Default: 30.0."""

    interval: float
    """Time between two changes of speed and direction, s. Default: 1.0."""

    speed_deviation: float
    """Standard deviation of the speed, m/s. Speeds are never below 0 or more than four standard deviations
    above the mean. Default: 1.0.
    """

    blocks: Sequence[int]
    """Number of blocks in a row and in a column. Streets run between them and along the borders of the
    area.
    """

    turn: float
    """Probability of turning at a crossing, half of it to each side. Default: 0.5."""

    radius: float
    """Largest distance of a node from its reference point, m. Reference points stay this far away from the
    borders of the area.
    """

    size: int
    """Number of nodes in each group, by successive numbers; the last group may have fewer."""

class Obstacles(TypedDict, total=False):
    """Houses and other obstacles, which weaken radio signals that pass through them; with radio.model
    sinr.
    """

    file: str | PathLike[str]
    """GeoJSON file of polygons, in degrees if the scenario has an origin and otherwise in metres; relative
    to the scenario's folder. A polygon's properties wall_db and metre_db take the place of those below.
    """

    metre_db: float
    """Loss inside of an obstacle, dB per metre. Default: 0.4."""

    polygons: Sequence[Sequence[Sequence[float]]]
    """Further polygons, each a list of corners [x, y], m."""

    wall_db: float
    """Loss where a signal crosses an outline, dB. Default: 9.0."""

class Program(TypedDict, total=False):
    """The table `program`."""

    command: str
    """Command line for sh; $ADDRESS_N is the address of node or host N."""

    environment: Sequence[str]
    """Further environment variables, each as "NAME=value"."""

    node: int | str
    """Node or host whose network the program has."""

    start: float
    """Instant at which the program starts, s. Default: 0.0."""

    stop: float
    """Instant at which the program gets the signal SIGTERM, s; by default the end of the run."""

class RadioBurst(TypedDict, total=False):
    """Bursts of frame errors on each link (Gilbert-Elliott): a link is good or bad, and each frame may
    change its state.
    """

    bad: float
    """Frame error rate of a bad link. Default: 1.0."""

    good: float
    """Frame error rate of a good link. Default: 0.0."""

    p: float
    """Probability, for each frame, that a good link turns bad."""

    r: float
    """Probability, for each frame, that a bad link turns good."""

_RadioRange = TypedDict("_RadioRange", {"11M": "float", "12M": "float", "18M": "float", "1M": "float", "24M": "float", "27M": "float", "2M": "float", "36M": "float", "3M": "float", "4.5M": "float", "48M": "float", "5.5M": "float", "54M": "float", "6M": "float", "9M": "float"}, total=False)

class RadioRange(_RadioRange, total=False):
    """Metres at which a frame can be decoded: one number, or a table with one for each rate in use.
    Default: 250.0.
    """

    MCS0: float

    MCS0x2: float

    MCS0x3: float

    MCS0x4: float

    MCS1: float

    MCS10: float

    MCS10x2: float

    MCS10x3: float

    MCS10x4: float

    MCS11: float

    MCS11x2: float

    MCS11x3: float

    MCS11x4: float

    MCS12: float

    MCS13: float

    MCS14: float

    MCS15: float

    MCS16: float

    MCS17: float

    MCS18: float

    MCS19: float

    MCS1x2: float

    MCS1x3: float

    MCS1x4: float

    MCS2: float

    MCS20: float

    MCS21: float

    MCS22: float

    MCS23: float

    MCS24: float

    MCS25: float

    MCS26: float

    MCS27: float

    MCS28: float

    MCS29: float

    MCS2x2: float

    MCS2x3: float

    MCS2x4: float

    MCS3: float

    MCS30: float

    MCS31: float

    MCS3x2: float

    MCS3x3: float

    MCS3x4: float

    MCS4: float

    MCS4x2: float

    MCS4x3: float

    MCS4x4: float

    MCS5: float

    MCS5x2: float

    MCS5x3: float

    MCS5x4: float

    MCS6: float

    MCS6x2: float

    MCS6x3: float

    MCS6x4: float

    MCS7: float

    MCS7x2: float

    MCS7x3: float

    MCS7x4: float

    MCS8: float

    MCS8x2: float

    MCS8x3: float

    MCS8x4: float

    MCS9: float

    MCS9x2: float

    MCS9x3: float

    MCS9x4: float

class RadioAntenna(TypedDict, total=False):
    """Antennas; without this table they are omnidirectional, with a gain of 0 dBi with the budget ns-2 and
    with 802.11p, 3.4 dBi with 802.11ah, otherwise 2 dBi at 2.4 GHz and 3 dBi at 5 GHz.
    """

    azimuth: float | Sequence[float]
    """Direction of the antenna, degrees clockwise from north (up, to lower y): one for all, or a list with
    one for each node, or for each of nodes. Default: 0.0.
    """

    nodes: Sequence[int]
    """The nodes that have the antenna, by number in ascending order; all others have an omnidirectional
    one without gain. Default: all nodes.
    """

    gain_dbi: float
    """Gain ahead, dBi. Default: 0.0."""

    kind: Literal["omni", "sector", "cosine", "table"]

    front_back_db: float
    """Front-to-back ratio, dB. Default: 20.0."""

    width: float
    """Width of the beam, between the directions in which half the power is left, degrees. Default: 65.0."""

    gains_dbi: Sequence[float]
    """Gains in dBi at equal steps clockwise from ahead, such as four for every 90 degrees; between them
    interpolated.
    """

class RadioFading(TypedDict, total=False):
    """Fading: a random factor on the power of each pair of nodes."""

    kind: Literal["none", "rayleigh", "rician", "nakagami"]

    coherence: float
    """Time for which an independent draw holds, s. Default: 0.1."""

    speed: float
    """Instead of coherence: fading changes continuously, as for nodes that pass each other and their
    surroundings at this speed, m/s (Clarke's model at the channel's frequency).
    """

    k: float
    """Power of the line of sight relative to that of the scattered waves, linear. Default: 4.0."""

    m: float
    """Parameter m of the distribution, a multiple of 0.5. Default: 1.0."""

class RadioMeasured(TypedDict, total=False):
    """Links that were measured: their SNR or losses over time take the place of path loss, antennas,
    obstacles, shadowing and fading. Pairs of nodes without a trace do not hear each other.
    """

    file: str | PathLike[str]
    """CSV file with the columns time (s), from, to, and snr_db or loss, in any order; relative to the
    scenario's folder.
    """

    interpolation: Literal["hold", "linear"]
    """Values between two samples of a link: that of the earlier one (hold), or on a straight line
    (linear). Default: hold.
    """

class RadioPathLoss(TypedDict, total=False):
    """Attenuation over distance. Default: two-ray at 914 MHz with the budget ns-2; indoor: log-distance,
    exponent 3.83 (3GPP TR 38.901); street: p1411; open: two-ray at the channel's frequency.
    """

    environment: Literal["street", "city-out-of-sight", "residential-out-of-sight", "office", "office-out-of-sight", "corridor", "corridor-out-of-sight", "industrial", "industrial-out-of-sight"]
    """Measured losses that take the place of both defaults: of ITU-R P.1411-12 (street, city, residential)
    or P.1238-11 (office, corridor, industrial), at the frequency of the channel.
    """

    exponent: float
    """Exponent n of the loss over distance. Default: 3.0."""

    kind: Literal["log-distance", "two-ray", "p1238", "p1411"]

    reference_db: float
    """Loss at 1 m, dB; the default is free space in the channel's band. Default: 40.05."""

    frequency: float
    """Carrier frequency, Hz. Default: the channel's; for two-ray that of ns-2's card, 914 MHz. Default:
    914000000.0.
    """

    height: float | Sequence[float]
    """Height of all antennas, m; or a list with one for each node. Default: 1.5."""

    building: Literal["residential", "office", "commercial"]
    """Use of the building. Default: residential."""

    storey: float
    """Height of a storey, from one floor to the next, m. The heights of the antennas decide how many
    floors are between two nodes. Default: 3.0.
    """

class Radio(TypedDict, total=False):
    """The table `radio`."""

    basic_rate: Literal["1M", "2M", "5.5M", "11M", "6M", "9M", "12M", "18M", "24M", "36M", "48M", "54M", "3M", "4.5M", "27M", "MCS10", "MCS0", "MCS1", "MCS2", "MCS3", "MCS4", "MCS5", "MCS6", "MCS7", "MCS8", "MCS9"]
    """Bit rate of RTS and broadcasts. Default: 1M with 802.11b and with the budget ns-2 with 802.11g; 6M
    with all others of 20 MHz and more, 3M with 802.11p, MCS0 with 802.11ah. CTS and ACK have it as well
    in 802.11b; in OFDM they have the highest mandatory rate up to that of the frame that they answer,
    and in 802.11ah they are preambles.
    """

    budget: Literal["ns-2", "indoor", "street", "open"]
    """Source of the defaults of [radio] and [mac]: ns-2's radio, on which the papers' networks ran, or a
    device sold today indoors, in a street or over open ground. Default: ns-2 with 802.11b, street with
    all others.
    """

    burst: RadioBurst
    """Bursts of frame errors on each link (Gilbert-Elliott): a link is good or bad, and each frame may
    change its state.
    """

    channel: int
    """Number of the channel's centre in IEEE 802.11: 1 to 14 at 2.4 GHz, 36 for 5180 MHz, 42 for 80 MHz
    around 5210 MHz. Required if there are several radios; radios on overlapping channels interfere.
    """

    frame_loss: float
    """Probability that a frame is received in error; the MAC retries. Default: 0.0."""

    loss: float
    """Probability that a data packet is lost on one hop after the MAC has delivered it. Default: 0.0."""

    mac: Mac
    """Medium access of this radio, instead of [mac]."""

    nodes: Sequence[int | str]
    """Nodes that have this radio; by default all."""

    phy: Literal["802.11b", "802.11a", "802.11g", "802.11g-short-slots", "802.11p", "802.11n-20", "802.11n-20-short-guard", "802.11n-40", "802.11n-40-short-guard", "802.11ac-20", "802.11ac-20-short-guard", "802.11ac-40", "802.11ac-40-short-guard", "802.11ac-80", "802.11ac-80-short-guard", "802.11ac-160", "802.11ac-160-short-guard", "802.11ax-20", "802.11ax-20-medium-guard", "802.11ax-20-long-guard", "802.11ax-40", "802.11ax-40-medium-guard", "802.11ax-40-long-guard", "802.11ax-80", "802.11ax-80-medium-guard", "802.11ax-80-long-guard", "802.11ax-160", "802.11ax-160-medium-guard", "802.11ax-160-long-guard", "802.11ah-1", "802.11ah-1-short-guard", "802.11ah-2", "802.11ah-2-short-guard"]
    """Physical layer of the radio: rates, airtimes and channel width. Default: 802.11b."""

    preamble: Literal["long", "short", "ofdm", "s1g-1m", "s1g-short"]
    """Preamble of a frame: for 802.11b, long takes 192 us, short 96 us; OFDM has one of its own."""

    rate: Literal["1M", "2M", "5.5M", "11M", "6M", "9M", "12M", "18M", "24M", "36M", "48M", "54M", "3M", "4.5M", "27M", "MCS0", "MCS1", "MCS2", "MCS3", "MCS4", "MCS5", "MCS6", "MCS7", "MCS8", "MCS9", "MCS10", "MCS11", "MCS12", "MCS13", "MCS14", "MCS15", "MCS16", "MCS17", "MCS18", "MCS19", "MCS20", "MCS21", "MCS22", "MCS23", "MCS24", "MCS25", "MCS26", "MCS27", "MCS28", "MCS29", "MCS30", "MCS31", "MCS0x2", "MCS1x2", "MCS2x2", "MCS3x2", "MCS4x2", "MCS5x2", "MCS6x2", "MCS7x2", "MCS8x2", "MCS0x3", "MCS1x3", "MCS2x3", "MCS3x3", "MCS4x3", "MCS5x3", "MCS6x3", "MCS7x3", "MCS8x3", "MCS9x3", "MCS0x4", "MCS1x4", "MCS2x4", "MCS3x4", "MCS4x4", "MCS5x4", "MCS6x4", "MCS7x4", "MCS8x4", "MCS9x2", "MCS9x4", "MCS10x2", "MCS11x2", "MCS10x3", "MCS11x3", "MCS10x4", "MCS11x4"]
    """Bit rate of unicast data; in OFDM the lowest by default, or MCS0 where there is one."""

    streams: int
    """Limit of spatial streams of data, with 802.11n and later. Rate control uses no rate with more.
    Default: those of radio.rate, one if it is not given; with the budget ns-2 the most that the
    physical layer has.
    """

    capture_db: float
    """Ratio of powers with which the first frame survives a second, dB. Default: 10.0."""

    model: Literal["threshold", "sinr"]

    range: float | RadioRange
    """Metres at which a frame can be decoded: one number, or a table with one for each rate in use.
    Default: 250.0.
    """

    sense_range: float
    """Distance up to which a frame is sensed, m. Default: 550.0."""

    antenna: RadioAntenna
    """Antennas; without this table they are omnidirectional, with a gain of 0 dBi with the budget ns-2 and
    with 802.11p, 3.4 dBi with 802.11ah, otherwise 2 dBi at 2.4 GHz and 3 dBi at 5 GHz.
    """

    cca_dbm: float
    """Received power at which the medium counts as busy, dBm. Default: -78.071 with the budget ns-2;
    otherwise -62 for a 20 MHz channel, and the same power per hertz for other channel widths.
    """

    detection_db: float
    """Smallest ratio of signal to noise and interference at which a receiver locks to a frame, dB; if not
    given, any. ns-3 has 4.
    """

    error_model: Literal["nist", "yans"]
    """Model of the errors of OFDM frames: that of NIST, or that of the simulator YANS. Default: nist."""

    fading: RadioFading
    """Fading: a random factor on the power of each pair of nodes."""

    measured: RadioMeasured
    """Links that were measured: their SNR or losses over time take the place of path loss, antennas,
    obstacles, shadowing and fading. Pairs of nodes without a trace do not hear each other.
    """

    noise_floor_dbm: float
    """Thermal noise over the channel width and the noise figure together, dBm. The noise figure is 7 dB
    with the budget ns-2 (-93.55 dBm for 802.11b, -93.96 for 802.11a), otherwise 5 dB (802.11a: -95.96).
    """

    path_loss: RadioPathLoss
    """Attenuation over distance. Default: two-ray at 914 MHz with the budget ns-2; indoor: log-distance,
    exponent 3.83 (3GPP TR 38.901); street: p1411; open: two-ray at the channel's frequency.
    """

    sensitivity_dbm: float
    """Power of the weakest frame that a receiver locks to, dBm. Default: -64.375 with the budget ns-2;
    otherwise what it can decode at rate or basic_rate, whichever is slower.
    """

    shadowing_db: float
    """Standard deviation of log-normal shadowing, dB; one draw for each pair of nodes. Default: 8.03 with
    the budget indoor, otherwise 0.
    """

    tx_power_dbm: float
    """Transmit power of every station, dBm. Default: 24.5 with the budget ns-2; otherwise 18, with 802.11p
    20, with 802.11ah 21.
    """

class Record(TypedDict, total=False):
    """Time series to write."""

    every: float
    """Time between two values, s; 0 writes each change. Default: 0.5."""

    what: Sequence[Literal["cwnd", "rtt", "state", "rate", "cov", "fast_retransmits", "standbys", "probes", "undone", "duplicates", "idd", "iad", "stt", "por", "plr", "network", "congested_joint", "congested_idd", "congested_stt", "reported", "congested", "freezes", "notices", "route_changes", "lost_by_txseq", "acks", "unwanted", "hops", "shortest", "queue", "goodput"]]
    """Names of the series."""

class RoutingHysteresis(TypedDict, total=False):
    """Whether links are used only while most packets arrive, judged by a moving average of packets that
    arrive (1) and do not (0); or a table of its parameters. Default: False.
    """

    high: float
    """Quality above which a link is used again. Default: 0.8."""

    low: float
    """Quality below which a link is no longer used. Default: 0.3."""

    scaling: float
    """Weight of the latest packet. Default: 0.5."""

class RoutingTriggered(TypedDict, total=False):
    """Whether HELLOs and TCs also leave early, after changes; or a table that bounds their rate. Default:
    False.
    """

    burst: int
    """Number of early messages of one kind that may follow each other at min_interval; after that, one
    more may leave in each regular interval. Default: 8.
    """

    min_interval: float
    """Shortest time between an early message and the previous one of its kind, s; if not given, a tenth of
    hello_interval. Default: 0.2.
    """

class RoutingDiversity(TypedDict, total=False):
    """Whether a link of a node with several interfaces costs less if the next hops are on other channels
    (draft-chroboczek-babel-diversity-routing); or a table of its parameters. Default: True.
    """

    factor: float
    """Cost of a link that interferes with none of the next hops, as a share of its cost before a hop on
    the same channel. Default: 0.5.
    """

class RoutingRtt(TypedDict, total=False):
    """Whether the cost of a link grows with its round-trip time (RFC 9616); or a table of its parameters.
    Default: False.
    """

    max: float
    """Round-trip time from which on the full penalty is added, s. Default: 0.12."""

    min: float
    """Round-trip time up to which nothing is added to the cost of a link, s. Default: 0.01."""

    penalty: int
    """Largest cost that a round-trip time adds to a link. Default: 150."""

    smoothing: float
    """Weight of the average round-trip time in the next average; 0: only the latest counts. Default:
    0.836.
    """

class Routing(TypedDict, total=False):
    """Who forwards to whom."""

    ip_extra: int
    """Length of a second IP header in every routed packet, bytes: 20 in ns-2 under AODV-UU, DSR and UM-
    OLSR. Default: 0.
    """

    protocol: Literal["static", "aodv", "dsr", "olsr", "apdr", "apdr-pr", "babel", "batman", "hwmp", "olsrv2"]
    """Default: static."""

    next_hops: Sequence[Sequence[int | str]]
    """Routes that differ from the shortest, each as [node, destination, via]: at node, packets for
    destination go to via.
    """

    active_route_timeout: float
    """Lifetime of a route after its last use, s. 10; uu with hello: 3."""

    buffer_life: float
    """Longest wait of a packet for a route, s. ns2: 30, uu: 10."""

    buffer_packets: int
    """Number of packets that may wait for routes. ns2: 64, uu: 512."""

    delete_period: Literal["off"] | float
    """Time for which the hop count of an invalid route is remembered, s; off: for ever. ns2: off, uu: 10,
    with hello 15.
    """

    destination_only: bool
    """Whether only destinations may reply to requests (flag D). Both presets: false. Default: False."""

    expanding_ring: bool
    """Whether route requests use an expanding ring search; otherwise each reaches the whole network. Both
    presets: true. Default: True.
    """

    gratuitous_replies: bool
    """Whether the destination is informed when another node replies (flag G of requests). Both presets:
    false. Default: False.
    """

    hello_interval: float
    """Mean interval between HELLO messages, s. Both presets: 1. Default: 1.0."""

    hello_jitter: float
    """HELLO jitter, s: each interval is drawn uniformly from hello_interval plus or minus this. ns2: 0.25,
    uu: 0.
    """

    jitter: float
    """Largest random delay of a broadcast, s: under ns2 of forwarded ones, under uu of all. ns2: 0.01, uu:
    0.02.
    """

    link_failure: Literal["mac", "hello"]
    """Detection of link failures: the MAC gives up on a packet (mac), or HELLOs are missing (hello).
    Default: mac.
    """

    local_repair: Literal["off", "rfc", "ns2"]
    """Repair by a node on the path when its link fails: off only reports the failure; rfc searches for a
    new route once (RFC 3561); ns2 searches if the packet has crossed more than half of its path, and
    never reports. Not with link_failure = hello. ns2: ns2, uu: off.
    """

    max_repair_ttl: int
    """Longest distance of a destination for the local repair of RFC 3561, hops. ns2: 9, uu: 10."""

    max_wait: float
    """Longest wait for a reply, and the pause after a search without success, s; under ns2 only. 10."""

    my_route_timeout: float
    """Lifetime that a destination puts into its replies, s. ns2: 10, uu: 20, with hello 6."""

    neighbour_life: float
    """Time after the last message of a neighbour at which its link counts as lost, s. ns2: 4.5, uu: 2.05."""

    net_diameter: int
    """TTL of a request for the whole network. ns2: 30, uu: 35."""

    network_wide_requests: int
    """Number of requests for the whole network after which a search ends without success. ns2: 4, uu: 2."""

    node_traversal: float
    """Expected time to cross one hop, s. ns2: 0.03, uu: 0.04."""

    preset: Literal["ns2", "uu", "um-olsr", "rfc"]
    """Implementation whose values and rules hold: ns2 is the agent of ns-2.35, uu is AODV-UU 0.9. Default:
    ns2.
    """

    rate_limit: Literal["off"] | int
    """Limit of requests, and of errors, in any second; one less than this is sent. ns2: off, uu: 10."""

    release_spacing: float
    """Interval between buffered packets that leave after a route was found, s. ns2: 0.01, uu: 0.005."""

    reply_ttl: int
    """TTL of the IP packets of route replies. ns2: 30, uu: 255."""

    request_id_life: float
    """Time for which a request is recognised as a duplicate, s. ns2: 6, uu: 5.6."""

    reverse_life_per_hop: float
    """Time by which each hop shortens the lifetime of a route to the originator, s. ns2: 0, uu: 0.08."""

    reverse_route_life: float
    """Lifetime of a route to the originator of a request, s. ns2: 6, uu: 5.6."""

    tick: Literal["off"] | float
    """Resolution of timers, s: routes expire, packets time out and requests are repeated at multiples of
    this; off: exactly on time. ns2: 0.5, uu: off.
    """

    timeout_buffer: int
    """Hops added to the TTL when uu computes the wait for a reply. uu: 2."""

    ttl_increment: int
    """Number added to the TTL of each further request. Both presets: 2. Default: 2."""

    ttl_start: int
    """TTL of the first request for an unknown destination. ns2: 5, uu: 1, with hello 2."""

    ttl_threshold: int
    """TTL of a request from which on the next request reaches the whole network. Both presets: 7. Default:
    7.
    """

    broadcast_jitter: float
    """Largest random delay of requests, and of the target's replies, s. Default: 0.01."""

    buffer_time: float
    """Longest wait of a packet for a path, s. Default: 30.0."""

    cache_replies: bool
    """Whether requests for others are answered from the cache. Default: True."""

    cache_timeout: Literal["off"] | float
    """Time after which a path is forgotten that was not learnt again, s; off: never. Default: off."""

    gratuitous: bool
    """Whether the source of an overheard packet is informed when the path could be shorter (gratuitous
    reply). Default: True.
    """

    negative_cache: Literal["off"] | float
    """Time for which a link is ignored after it was reported broken, s; off: links are not ignored.
    Default: off.
    """

    primary_cache: int
    """Capacity of the cache for paths that were requested or used, in paths. Default: 30."""

    release_gap: float
    """Interval between buffered packets that leave after a path was found, s. Default: 0.03."""

    request_period: float
    """Unit of the back-off between searches for one target, s; the back-off is 4, 16, ... units. Default:
    0.5.
    """

    ring0: bool
    """Whether the first request of a search goes to the neighbours only (non-propagating request); if not
    given, as cache_replies, because without replies from caches it finds only neighbours. Default:
    True.
    """

    ring0_timeout: float
    """Wait for replies from the neighbours, s. Default: 0.03."""

    rreq_backoff_max: float
    """Longest back-off between searches, s. Default: 10.0."""

    salvage: bool
    """Whether packets of other nodes are salvaged after a link failure. Default: True."""

    salvage_limit: int
    """Limit of salvages of one packet. Default: 15."""

    secondary_cache: int
    """Capacity of the cache for overheard paths, in paths. Default: 64."""

    snoop: bool
    """Whether nodes learn from packets that they overhear or forward. Default: True."""

    count_changes: bool
    """Whether changes of routes in use are counted. Default: False."""

    duplicate_hold: float
    """Time for which a flooded message is recognised as a duplicate, s. Default: 30.0."""

    empty_tcs: bool
    """Whether empty TCs follow after the last advertised neighbour is lost. um-olsr: false, rfc: true."""

    hysteresis: bool | float | RoutingHysteresis
    """Whether links are used only while most packets arrive, judged by a moving average of packets that
    arrive (1) and do not (0); or a table of its parameters. Default: False.
    """

    max_jitter: float
    """Largest random shortening of an interval, and longest wait of messages for others that share their
    packet, s. An interval is shortened by half at most. If not given, a quarter of hello_interval.
    Default: 0.5.
    """

    messages_per_packet: int
    """Largest number of messages in a packet. Default: 4."""

    mpr_coverage: int
    """Number of relays that cover each two-hop neighbour, as far as there are enough. Default: 1."""

    neighbour_hold: float
    """Time for which the information of a HELLO is valid, s; if not given, three times hello_interval.
    Default: 6.0.
    """

    own_messages_wait: bool
    """Whether a node's own messages wait before they leave, as forwarded ones do. um-olsr: true, rfc:
    false.
    """

    tc_interval: float
    """Mean interval between TC messages, s. Default: 5.0."""

    tc_redundancy: int
    """Neighbours that TCs list: 0 those that chose the node as relay, 1 also the node's relays, 2 all.
    Default: 0.
    """

    tell_source: bool
    """Whether an ICMP error informs the source of a packet without a route, if its transport handles such
    errors. Default: True.
    """

    topology_hold: float
    """Time for which the information of a TC is valid, s; if not given, three times tc_interval. Default:
    15.0.
    """

    triggered: bool | RoutingTriggered
    """Whether HELLOs and TCs also leave early, after changes; or a table that bounds their rate. Default:
    False.
    """

    willingness: int
    """Willingness of nodes to forward packets of others: 0 never, 3 default, 7 always. Default: 3."""

    clocks: Literal["synchronised", "echoed"]
    """Clocks that measure delays: by the stamps of HELLOs, which needs clocks that agree (synchronised),
    or by stamps that neighbours echo (echoed). Default: synchronised.
    """

    hellos_wait: bool
    """Whether HELLOs wait in the interface queue behind data, so that they measure its delay, or go first
    like all other routing messages. Default: True.
    """

    hold: float
    """Time after its choice for which a path in use that exists is not replaced, s. Default: 0.0."""

    link_hysteresis: bool | RoutingHysteresis
    """Whether links are used only while most packets arrive, judged by a moving average of packets that
    arrive (1) and do not (0); or a table of its parameters. Default: False.
    """

    metric: Literal["delay", "etx", "airtime", "hops"]
    """Cost of a link: the average delay of HELLOs, or the expected number of transmissions (ETX). Default:
    delay.
    """

    own_load: bool
    """Whether a node subtracts the delay that its own packets add to the links of their path. Default:
    False.
    """

    weight: float
    """Weight of the latest delay in the moving average. Default: 0.2."""

    max_delay: Literal["off"] | float
    """Delay above which a path is replaced by the best path, s. Default: off."""

    on_break: Literal["hold", "reselect"]
    """Reaction of a flow to a failed link of its path: it keeps the path (hold), or its next packet fixes
    another path (reselect). Default: hold.
    """

    diversity: bool | RoutingDiversity
    """Whether a link of a node with several interfaces costs less if the next hops are on other channels
    (draft-chroboczek-babel-diversity-routing); or a table of its parameters. Default: True.
    """

    link_cost: Literal["etx", "hops"]
    """Cost of a link: etx is 256 for each expected transmission, by the share of Hellos that arrive; hops
    is 96 for every link on which two of the last three Hellos arrived. Default: etx.
    """

    rtt: bool | RoutingRtt
    """Whether the cost of a link grows with its round-trip time (RFC 9616); or a table of its parameters.
    Default: False.
    """

    update_interval: float
    """Time between updates of all routes, s; if not given, four times hello_interval. Default: 16.0."""

    hop_penalty: int
    """Part that each link subtracts from the quality of a path, of 255. Default: 30."""

    interval: float
    """Time between a node's own originator messages, s. Default: 1.0."""

    timeout: float
    """Time after which a node is forgotten of which nothing was heard, s. Default: 200.0."""

    active_path_timeout: float
    """Time for which a path is valid after the request or reply that set it, s. Default: 5.12."""

    element_ttl: int
    """Number of links that a message may cross. Default: 31."""

    max_preq_retries: int
    """Number of further requests for a target that does not reply. Default: 3."""

    net_diameter_traversal_time: float
    """Time that a message needs to cross the network, s; a request is repeated after twice as long.
    Default: 0.512.
    """

    overhead: float
    """Time that a frame takes in addition to its bits, for the airtime metric, s. Default: 0.00018."""

    path_refresh_time: float
    """Time before the end of a path from which on a source that uses it looks for a path again, s.
    Default: 1.0.
    """

    perr_min_interval: float
    """Least time between two path errors of a node, s. Default: 0.1024."""

    preq_min_interval: float
    """Least time between two path requests of a node's own, s. Default: 0.1024."""

    target_only: bool
    """Whether only targets may reply to requests, or all nodes that have a path. Default: True."""

    flooding_willingness: int
    """Willingness of nodes to forward flooded messages: 0 never, 7 default, 15 always. Default: 7."""

    routing_willingness: int
    """Willingness of nodes to forward data of others: 0 never, 7 default, 15 always. Default: 7."""

_Sleep = TypedDict("_Sleep", {"from": "float"}, total=False)

class Sleep(_Sleep, total=False):
    """The table `sleep`."""

    node: int | str
    """Node whose radio sleeps."""

    until: float
    """Instant at which the radio wakes, s; by default the end of the run."""

class Topology(TypedDict, total=False):
    """Where the nodes are."""

    hops: int
    """Number of links; there is one node more."""

    kind: Literal["chain", "cross", "cross-testbed", "parallel", "asymmetric-parallel", "grid", "grid-symmetric", "diamond", "roaming", "random", "list", "file", "mobility"]

    spacing: float
    """Distance between neighbours, m. Default: 200.0."""

    gap: float
    """Distance between the chains, m. Default: 400.0."""

    columns: int
    """Number of columns. Without from and to, the flows after those on rows run along the columns from
    bottom to top, one on each column from left to right. The first and the last column have no flow
    unless there are only one or two columns. Default: 5.
    """

    rows: int
    """Number of rows. Without from and to, the first flows run along the rows from left to right, one on
    each row from the top down. The first and the last row have no flow unless there are only one or two
    rows. Default: 5.
    """

    area: Sequence[float]
    """Width and height, m."""

    connected: bool
    """Whether to draw again until every node can reach every other at the decode range; true if not given
    and the nodes stand still, never if they move.
    """

    nodes: int
    """Number of nodes."""

    degrees: bool
    """Whether each position is a latitude and a longitude in degrees; needs origin. Default: False."""

    positions: Sequence[Sequence[float]]
    """Position of each node as [x, y], m; y grows downwards."""

    file: str | PathLike[str]
    """A CSV file with columns x and y, or latitude and longitude with an origin (and name), or a GraphML
    file (ending .graphml or .xml) whose nodes have data x and y; relative to the scenario's folder.
    """

class TrafficBytesPareto(TypedDict, total=False):
    """Pareto distribution of the sizes."""

    mean: float
    """Mean size of a transfer, bytes."""

    shape: float
    """Shape of the distribution; values near 1 give a heavy tail."""

class TrafficBytes(TypedDict, total=False):
    """Application bytes of each transfer: a number, or { pareto = { mean = ..., shape = ... } }."""

    pareto: TrafficBytesPareto
    """Pareto distribution of the sizes."""

class Traffic(TypedDict, total=False):
    """Transfers between nodes drawn at random: a fixed number at a time; each is followed by another."""

    app: Literal["file"]
    """Application of each transfer. Default: file."""

    bytes: int | TrafficBytes
    """Application bytes of each transfer: a number, or { pareto = { mean = ..., shape = ... } }."""

    count: int
    """Number of concurrent transfers."""

    first: float
    """Start of the first transfers, s. Default: 0.0."""

    gap: Sequence[float]
    """Time from the beginning of one of the first transfers to that of the next, s: uniform between these."""

    restart: float
    """Time from the end of a transfer to the start of the next, s; by default 2 MSL. Default: 240.0."""

    transport: TransportName | FlowTransport
    """How the data travels: a short name, or a table of parameters."""

class Settings(TypedDict, total=False):
    """The keys of a scenario."""

    data_rate: Sequence[DataRate]
    """Bit rates of unicast data that differ from radio.rate, by sender and receiver; with mac.rate_control
    fixed.
    """

    duration: float
    """Simulated time of the run, s."""

    emulation: Emulation
    """How `multihop emulate` connects real programs to the network."""

    energy: Energy
    """Electrical powers of a radio, W, and batteries; without this table no energy is reported."""

    expected: Expected
    """Measured goodput of chains, from which the expected goodput is computed."""

    flow: Sequence[Flow]
    """Flows of data between two nodes, each with an application and a transport."""

    host: Sequence[Host]
    """Computers without a radio, each on a wire to a node. Hosts are numbered after the nodes. The mesh
    carries the packets of a host from and to its gateway.
    """

    mac: Mac
    """Medium access and the interface queue."""

    mobility: Mobility
    """How the nodes move; without this table they do not. The initial positions of moving nodes come from
    this table; the topology gives only their number and names.
    """

    name: str
    """Name of the scenario in results; by default the file's name without its ending."""

    obstacles: Obstacles
    """Houses and other obstacles, which weaken radio signals that pass through them; with radio.model
    sinr.
    """

    origin: Sequence[float]
    """Latitude and longitude of the point (0, 0), degrees: x then points east and y south, and files may
    have places in degrees.
    """

    program: Sequence[Program]
    """Real programs that `multihop emulate` runs; a simulation leaves them out."""

    radio: Sequence[Radio] | Radio
    """Physical layer and channel. Several tables [[radio]] are several radios of each node: the stations
    of one radio exchange frames, and those of different radios interfere with each other if their
    channels overlap.
    """

    record: Record
    """Time series to write."""

    routing: Routing
    """Who forwards to whom."""

    seed: int
    """Root of every random stream. Default: 1."""

    sleep: Sequence[Sleep]
    """When radios are asleep: they neither transmit nor receive."""

    sweep: Mapping[str, Any]
    """Keys that `multihop sweep` varies, with their values."""

    topology: Topology
    """Where the nodes are."""

    traffic: Traffic
    """Transfers between nodes drawn at random: a fixed number at a time; each is followed by another."""

    warmup: float
    """Start of the run that no metric counts, s. Default: 0.0."""
