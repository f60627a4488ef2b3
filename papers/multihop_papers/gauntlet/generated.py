"""A generator of networks: each seed is a network with its radio, layout, routing and traffic.

`network(seed)` is a scenario without the transport of its flows. The distribution is fixed before a
transport is tuned. `TRAINING`, `VALIDATION`, `EXPLAINED` and `judging_seeds` are the sets of seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

Point = tuple[float, float]
Table = dict[str, Any]

START = 10.0
"""When flows begin and the warm-up ends, s: proactive routing knows its routes by then."""
SECONDS: Mapping[str, float] = {"b": 40.0, "g": 30.0, "n": 20.0, "ac": 20.0, "ax": 20.0}
"""Measured time by radio, s."""
RADIOS = ("b", "b", "g", "n", "n", "n", "ac", "ax")
"""Each is drawn with the same probability."""
WIDTHS: Mapping[str, Sequence[int]] = {"n": (20, 20, 40), "ac": (20, 40, 80), "ax": (20, 40, 80)}
SCHEMES: Mapping[str, Sequence[int]] = {
    "n": (1, 3, 4, 5, 7),
    "ac": (1, 3, 5, 7, 8),
    "ax": (1, 3, 5, 7, 9, 11),
}
"""Numbers of modulation and coding schemes."""
CAPACITY: Mapping[str, float] = {"b": 1000.0, "g": 8000.0, "n": 20000.0, "ac": 30000.0, "ax": 30000.0}
"""About what one hop carries, kb/s, as a measure for background traffic."""
SHAPES = (
    "chain",
    "chain",
    "chain",
    "crossing",
    "crossing",
    "rows",
    "tree",
    "tree",
    "grid",
    "field",
    "field",
    "walking",
)
ROUTING = ("static", "static", "static", "aodv", "olsr")
MOBILE_ROUTING = ("aodv", "olsr")
PRESETS: Mapping[str, Sequence[str]] = {"aodv": ("ns2", "uu"), "olsr": ("rfc", "um-olsr")}
TWO_RADIOS = 0.15
"""Probability of a second radio where the physical layer is of 5 GHz."""

RANGES: Mapping[tuple[str, str], Mapping[str, float]] = {
    ("802.11b", "street"): {"1M": 929.0, "2M": 717.0, "5.5M": 677.0, "11M": 562.0},
    ("802.11b", "open"): {"1M": 1645.0, "2M": 1269.0, "5.5M": 1198.0, "11M": 995.0},
    ("802.11g", "street"): {"6M": 608.0, "12M": 512.0, "24M": 353.0, "36M": 295.0, "54M": 209.0},
    ("802.11g", "open"): {"6M": 1077.0, "12M": 906.0, "24M": 624.0, "36M": 522.0, "54M": 370.0},
    ("802.11n-20", "street"): {"MCS1": 588.0, "MCS3": 405.0, "MCS4": 339.0, "MCS5": 258.0, "MCS7": 225.0},
    ("802.11n-20", "open"): {"MCS1": 1040.0, "MCS3": 717.0, "MCS4": 600.0, "MCS5": 427.0, "MCS7": 324.0},
    ("802.11n-40", "street"): {"MCS1": 494.0, "MCS3": 341.0, "MCS4": 285.0, "MCS5": 217.0, "MCS7": 189.0},
    ("802.11n-40", "open"): {"MCS1": 875.0, "MCS3": 603.0, "MCS4": 505.0, "MCS5": 302.0, "MCS7": 229.0},
    ("802.11ac-20", "street"): {
        "MCS1": 588.0,
        "MCS3": 405.0,
        "MCS4": 339.0,
        "MCS5": 258.0,
        "MCS7": 225.0,
        "MCS8": 172.0,
    },
    ("802.11ac-20", "open"): {
        "MCS1": 1040.0,
        "MCS3": 717.0,
        "MCS4": 600.0,
        "MCS5": 427.0,
        "MCS7": 324.0,
        "MCS8": 189.0,
    },
    ("802.11ax-20", "street"): {
        "MCS1": 588.0,
        "MCS3": 405.0,
        "MCS4": 339.0,
        "MCS5": 258.0,
        "MCS7": 225.0,
        "MCS9": 160.0,
        "MCS11": 84.0,
    },
    ("802.11ax-20", "open"): {
        "MCS1": 1040.0,
        "MCS3": 717.0,
        "MCS4": 600.0,
        "MCS5": 427.0,
        "MCS7": 324.0,
        "MCS9": 165.0,
        "MCS11": 84.0,
    },
    ("802.11ac-40", "street"): {
        "MCS1": 494.0,
        "MCS3": 341.0,
        "MCS4": 285.0,
        "MCS5": 217.0,
        "MCS7": 189.0,
        "MCS8": 134.0,
    },
    ("802.11ac-40", "open"): {
        "MCS1": 875.0,
        "MCS3": 603.0,
        "MCS4": 505.0,
        "MCS5": 302.0,
        "MCS7": 229.0,
        "MCS8": 134.0,
    },
    ("802.11ax-40", "street"): {
        "MCS1": 494.0,
        "MCS3": 341.0,
        "MCS4": 285.0,
        "MCS5": 217.0,
        "MCS7": 189.0,
        "MCS9": 117.0,
        "MCS11": 59.0,
    },
    ("802.11ax-40", "open"): {
        "MCS1": 875.0,
        "MCS3": 603.0,
        "MCS4": 505.0,
        "MCS5": 302.0,
        "MCS7": 229.0,
        "MCS9": 116.0,
        "MCS11": 59.0,
    },
    ("802.11ac-80", "street"): {
        "MCS1": 416.0,
        "MCS3": 286.0,
        "MCS4": 240.0,
        "MCS5": 182.0,
        "MCS7": 159.0,
        "MCS8": 95.0,
    },
    ("802.11ac-80", "open"): {
        "MCS1": 736.0,
        "MCS3": 507.0,
        "MCS4": 369.0,
        "MCS5": 214.0,
        "MCS7": 162.0,
        "MCS8": 95.0,
    },
    ("802.11ax-80", "street"): {
        "MCS1": 416.0,
        "MCS3": 286.0,
        "MCS4": 240.0,
        "MCS5": 182.0,
        "MCS7": 159.0,
        "MCS9": 83.0,
        "MCS11": 42.0,
    },
    ("802.11ax-80", "open"): {
        "MCS1": 736.0,
        "MCS3": 507.0,
        "MCS4": 369.0,
        "MCS5": 214.0,
        "MCS7": 162.0,
        "MCS9": 82.0,
        "MCS11": 42.0,
    },
    ("802.11b", "ns-2"): {"1M": 250.0, "2M": 250.0, "5.5M": 250.0, "11M": 250.0},
}
"""Metres at which half of the frames of 1000 bytes arrive, by physical layer, budget and scheme.

`multihop check` prints them.
"""


@dataclass
class Network:
    """A network without the transport of its flows."""

    seed: int
    radio: str
    """`b`, `g`, `n`, `ac` or `ax`."""
    shape: str
    title: str
    scenario: Table
    judged: list[int] = field(default_factory=list)
    """The flows whose transport is compared. The others are voice and background."""
    is_fixed: bool = False
    """Whether nodes stand still, with static routes and one rate: the optimum is computable."""


@dataclass
class Layout:
    """Places of nodes, and the paths of flows over them."""

    places: list[Point] = field(default_factory=list)
    paths: list[list[int]] = field(default_factory=list)
    """Nodes of each path in their order, or both ends alone where routing decides."""
    gateway: int | None = None


def network(seed: int) -> Network:
    """The network of this seed."""
    rng = Random(f"multihop/networks/{seed}")
    radio, shape = rng.choice(RADIOS), rng.choice(SHAPES)
    protocol = rng.choice(MOBILE_ROUTING if shape == "walking" else ROUTING)
    words, table, mac, reach, is_fixed = _radio(rng, radio, protocol)
    layout, topology, mobility = _layout(rng, shape, reach)
    routing = _routing(rng, protocol, layout)
    scenario: Table = {
        "warmup": START,
        "duration": START + SECONDS[radio],
        "radio": table,
        "topology": topology,
        "routing": routing,
    }
    if mobility:
        scenario["mobility"] = mobility
    _second_radio(rng, scenario)
    if rng.random() < 0.25:
        mac["discipline"] = "fq-codel"
        words.append("FQ-CoDel")
    if mac:
        scenario["mac"] = mac
    ends = _ends(rng, scenario, layout, words)
    flows, judged = _flows(rng, ends, CAPACITY[radio])
    scenario["flow"] = flows
    title = f"{shape}, {', '.join(words)}, {routing['protocol']}, {len(judged)} flows"
    is_fixed = is_fixed and protocol == "static"
    return Network(seed, radio, shape, title, scenario, judged, is_fixed)


def _radio(rng: Random, radio: str, protocol: str) -> tuple[list[str], Table, Table, float, bool]:
    """Words for the title, `[radio]`, `[mac]`, the range of a scheme, and whether the rate is fixed.

    Hops are short enough for the scheme. Messages of routing protocols reach farther than data at a fixed
    rate. Fixed rates therefore have static routes, except with the budget ns-2, in which every rate reaches
    equally far.
    """
    budget = rng.choice(("street", "street", "open"))
    is_fixed = rng.random() < 0.6 and protocol == "static"
    mac: Table = {}
    if radio == "b":
        phy, schemes = "802.11b", ["1M", "2M", "5.5M", "11M"]
        if rng.random() < 0.5:
            budget, is_fixed, mac = "ns-2", True, {"arp": "queueing"}
    elif radio == "g":
        phy, schemes = "802.11g", ["6M", "12M", "24M", "36M", "54M"]
    else:
        phy = f"802.11{radio}-{rng.choice(WIDTHS[radio])}"
        schemes = [f"MCS{number}" for number in SCHEMES[radio]]
    streams = 1 if radio in "bg" else rng.choice((1, 1, 2))
    scheme = rng.choice(schemes)
    table: Table = {"phy": phy, "budget": budget}
    words = [phy, budget]
    if is_fixed:
        table["rate"] = _with_streams(radio, scheme, streams)
        words.append(table["rate"])
    elif radio not in "bg":
        table["streams"] = streams
    if budget != "ns-2" and rng.random() < 0.15:
        mac["rts_threshold"] = 0
        words.append("RTS")
    return words, table, mac, RANGES[phy, budget][scheme], is_fixed


def _with_streams(radio: str, scheme: str, streams: int) -> str:
    if streams == 1:
        return scheme
    if radio == "n":
        return f"MCS{int(scheme[3:]) + 8 * (streams - 1)}"
    return f"{scheme}x{streams}"


def _layout(rng: Random, shape: str, reach: float) -> tuple[Layout, Table, Table]:
    """The layout, `[topology]` and `[mobility]`."""
    if shape in ("field", "walking"):
        nodes, neighbours = rng.randint(12, 40), rng.uniform(8.0, 14.0)
        side = round(math.sqrt(nodes * math.pi * reach**2 / neighbours), 1)
        topology: Table = {"kind": "random", "nodes": nodes, "area": [side, side]}
        flows = rng.randint(1, min(10, nodes // 2))
        layout = Layout(paths=[[2 * i, 2 * i + 1] for i in range(flows)])
        mobility: Table = {}
        if shape == "walking":
            fastest = round(rng.uniform(1.0, 10.0), 1)
            mobility = {
                "kind": "random-waypoint",
                "speed": [0.5, fastest],
                "pause": float(rng.randint(0, 20)),
            }
        return layout, topology, mobility
    spacing = reach * rng.uniform(0.55, 0.95)
    layout = STRUCTURED[shape](rng)
    positions = [[round(x * spacing, 1), round(y * spacing, 1)] for x, y in layout.places]
    return layout, {"kind": "list", "positions": positions}, {}


def _chain(rng: Random) -> Layout:
    hops = rng.choice((1, 2, 3, 4, 4, 5, 6, 7, 8, 10, 12))
    nodes = list(range(hops + 1))
    paths = [nodes]
    while rng.random() < 0.4 and len(paths) < 4:
        first = rng.randrange(hops)
        last = rng.randint(first + 1, hops)
        paths.append(nodes[first : last + 1])
    bend = rng.randint(1, hops) if rng.random() < 0.3 else hops
    places = [(float(min(i, bend)), float(max(0, i - bend))) for i in nodes]
    return Layout(places, paths, gateway=hops)


def _crossing(rng: Random) -> Layout:
    long, short = rng.randint(2, 7), rng.randint(2, 7)
    at, below = rng.randint(0, long), rng.randint(0, short)
    places = [(float(x), 0.0) for x in range(long + 1)]
    upright = []
    for y in range(short + 1):
        if y == below:
            upright.append(at)
        else:
            upright.append(len(places))
            places.append((float(at), float(y - below)))
    return Layout(places, [list(range(long + 1)), upright], gateway=long)


def _rows(rng: Random) -> Layout:
    rows, hops, apart = rng.randint(2, 4), rng.randint(1, 6), rng.uniform(0.9, 3.0)
    places = [(float(x), apart * y) for y in range(rows) for x in range(hops + 1)]
    paths = [[y * (hops + 1) + x for x in range(hops + 1)] for y in range(rows)]
    return Layout(places, [path[:: rng.choice((1, -1))] for path in paths])


def _tree(rng: Random) -> Layout:
    arms, turn = rng.randint(2, 6), rng.uniform(0.0, math.tau)
    places: list[Point] = [(0.0, 0.0)]
    paths = []
    downwards = rng.random() < 0.4
    for arm in range(arms):
        angle = turn + math.tau * arm / arms
        path = [0]
        for step in range(1, rng.randint(1, 4) + 1):
            path.append(len(places))
            places.append((step * math.cos(angle), step * math.sin(angle)))
        paths.append(path if downwards else path[::-1])
    return Layout(places, paths, gateway=0)


def _grid(rng: Random) -> Layout:
    columns, rows = rng.randint(3, 6), rng.randint(2, 5)
    places = [(float(x), float(y)) for y in range(rows) for x in range(columns)]
    lines = [[y * columns + x for x in range(columns)] for y in range(rows)]
    lines += [[y * columns + x for y in range(rows)] for x in range(columns)]
    rng.shuffle(lines)
    chosen = lines[: rng.randint(1, min(6, len(lines)))]
    return Layout(places, [line[:: rng.choice((1, -1))] for line in chosen])


STRUCTURED = {"chain": _chain, "crossing": _crossing, "rows": _rows, "tree": _tree, "grid": _grid}


def _routing(rng: Random, protocol: str, layout: Layout) -> Table:
    """Table `[routing]` of a generated network. Static routes of a layout follow its paths."""
    table: Table = {"protocol": protocol}
    if protocol != "static":
        table["preset"] = rng.choice(PRESETS[protocol])
    elif layout.places:
        table["next_hops"] = _next_hops(layout.paths)
    return table


def _next_hops(paths: Sequence[Sequence[int]]) -> list[list[int]]:
    """Routes to every node of a path along the path, in both directions."""
    routes: dict[tuple[int, int], int] = {}
    for path in paths:
        for way in (list(path), list(path)[::-1]):
            for place, node in enumerate(way[:-1]):
                for target in way[place + 1 :]:
                    routes.setdefault((node, target), way[place + 1])
    return [[node, target, via] for (node, target), via in sorted(routes.items())]


def _second_radio(rng: Random, scenario: Table) -> None:
    """Two radios, with a fixed probability, where the physical layer is of 5 GHz."""
    if rng.random() < TWO_RADIOS and scenario["radio"]["phy"] not in ("802.11b", "802.11g"):
        scenario.update(with_second_radio(scenario))


def with_second_radio(scenario: Mapping[str, Any]) -> Table:
    """The scenario with a second radio of the same kind on another channel.

    Static routes over several radios choose links by their airtime, in place of the layout's paths.
    """
    radio, routing = scenario["radio"], dict(scenario["routing"])
    routing.pop("next_hops", None)
    radios = [{**radio, "channel": channel} for channel in CHANNELS[radio["phy"].rpartition("-")[2]]]
    return {**scenario, "radio": radios, "routing": routing}


CHANNELS: Mapping[str, tuple[int, int]] = {"20": (36, 149), "40": (38, 151), "80": (42, 155)}
"""Two channels of each width that do not overlap."""


def _ends(
    rng: Random, scenario: Table, layout: Layout, words: list[str]
) -> list[tuple[int | str, int | str]]:
    """The ends of the flows. A host on a wire behind the gateway may take the gateway's place."""
    ends: list[tuple[int | str, int | str]] = [(path[0], path[-1]) for path in layout.paths]
    if isinstance(scenario["radio"], list):
        words.append("two radios")
    if layout.gateway is None or rng.random() >= 0.3:
        return ends
    delay = rng.randint(5, 80)
    scenario["host"] = [{"gateway": layout.gateway, "name": "server", "delay": delay / 1000}]
    words.append(f"wire of {delay} ms")
    server: dict[int | str, int | str] = {layout.gateway: "server"}
    return [(server.get(a, a), server.get(b, b)) for a, b in ends]


def _flows(
    rng: Random, ends: Sequence[tuple[int | str, int | str]], capacity: float
) -> tuple[list[Table], list[int]]:
    """The flows, and which of them are judged."""
    flows: list[Table] = []
    judged: list[int] = []

    def add(one: tuple[int | str, int | str], is_judged: bool, **more: Any) -> None:
        if is_judged:
            judged.append(len(flows))
        flows.append({"from": one[0], "to": one[1], "start": START, **more})

    for number, pair in enumerate(ends):
        kind = "long" if number == 0 else rng.choice(("long", "long", "long", "files", "two-way", "voice"))
        if kind == "voice":
            add(pair, False, app="voice")
            add(pair[::-1], False, app="voice")
            continue
        if kind == "files":
            mean = rng.choice((20_000, 100_000, 500_000))
            add(
                pair,
                True,
                app="pareto",
                mean_bytes=mean,
                shape=1.5,
                mean_pause=round(rng.uniform(0.2, 2.0), 1),
            )
            continue
        add(pair, True, app="ftp")
        if kind == "two-way":
            add(pair[::-1], True, app="ftp")
    if rng.random() < 0.25:
        share = rng.uniform(0.02, 0.1)
        add(rng.choice(ends), False, app="cbr", rate_kbps=round(share * capacity, 1), size=1000)
    return flows, judged


TRAINING = range(1001, 2001)
"""Seeds of networks on which constants are chosen."""
VALIDATION = range(2001, 3001)
"""Seeds of networks that confirm a choice, or reject it."""
EXPLAINED = range(3001, 4001)
"""Seeds of networks whose losses are explained: no constant is chosen on them, and none is judged."""


def judging_seeds(commit: str, count: int) -> range:
    """Seeds of the networks that judge: they follow from the commit that froze the rule."""
    first = TEST_BASE + int(commit[:8], 16)
    return range(first, first + count)


TEST_BASE = 1_000_000
"""No seed of the other sets is as large."""
