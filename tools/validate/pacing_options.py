"""What each option of adaptive pacing changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multihop import Result
from pacing import drops, gain, goodput, network, of_totals
from study import Study, repeat

SEEDS = range(1, 6)
SECONDS = 220.0
PAPER: dict[str, Any] = {"kind": "tcp-ap"}
OPTIONS: dict[str, dict[str, Any]] = {
    "`alpha = 0`": {"alpha": 0.0},
    "`alpha = 0.9`": {"alpha": 0.9},
    "`history = 1`: no variation": {"history": 1},
    "`history = 10`": {"history": 10},
    "`history = 200`": {"history": 200},
    "`reuse_hops = 2`": {"reuse_hops": 2},
    "`reuse_hops = 3`": {"reuse_hops": 3},
    "`reuse_hops = 5`": {"reuse_hops": 5},
    '`cov = "mad"`': {"cov": "mad"},
    '`clock = "synchronised"` (`tcp-ap-sync`)': {"clock": "synchronised"},
    '`ap_rtt = "timed"`': {"ap_rtt": "timed"},
    "`ap_across_timeouts = true`": {"ap_across_timeouts": True},
    "`pacing_k = 2`": {"pacing_k": 2},
    '`pacing_k = 2`, `pacing_k_mean = "scaled"`': {"pacing_k": 2, "pacing_k_mean": "scaled"},
    "delayed ACKs (`+da`)": {"kind": "tcp-ap+da"},
    '`+da`, `ap_rtt = "timed"`': {"kind": "tcp-ap+da", "ap_rtt": "timed"},
    "dynamic ACKs (`+dyn`)": {"kind": "tcp-ap+dyn"},
    "`+dyn`, `ack_delay = 0.3`": {"kind": "tcp-ap+dyn", "ack_delay": 0.3},
    "`window_max = 4`": {"window_max": 4},
    '`preset = "rfc"`': {"preset": "rfc"},
}
HOPS = (4, 6, 8, 10, 12)
WITHOUT: dict[str, dict[str, Any]] = {
    "window h/4": {"kind": "tcp-cwl"},
    "TCP-AP, same clock": {"kind": "tcp-ap-sync"},
    "TCP-AP": PAPER,
    "TCP-AP, no variation": PAPER | {"history": 1},
}
NETWORKS: dict[str, tuple[dict[str, Any], int]] = {
    "4 hops": ({"kind": "chain", "hops": 4}, 1),
    "8 hops": ({"kind": "chain", "hops": 8}, 1),
    "cross": ({"kind": "cross"}, 2),
}


def study() -> Study:
    """Run every option in every network."""
    page = Study("Options of adaptive pacing", QUESTION, SETTING)
    transports = {"the paper's": PAPER, **{name: PAPER | option for name, option in OPTIONS.items()}}
    found = repeat({(t, n): scenario(transports[t], n) for t in transports for n in NETWORKS}, SEEDS)
    kept = {name: gain(found['`cov = "mad"`', name], found["the paper's", name]) for name in NETWORKS}
    worst = min(kept, key=lambda name: kept[name].mean)
    claim = f"The mean absolute deviation stands in for the standard deviation (least goodput {kept[worst]} %"
    page.verdict(f"{claim} more, {worst})", kept[worst].high > -5)
    page.text("Goodput, and by how many % an option changes it:")
    page.table(
        ["option", *[f"{name}, kb/s" for name in NETWORKS], *[f"{name}, %" for name in NETWORKS]],
        [
            [
                name,
                *[str(goodput(found[name, network])) for network in NETWORKS],
                *[change(found, name, network) for network in NETWORKS],
            ]
            for name in transports
        ],
    )
    page.text("Losses, and how two flows share the cross:")
    page.table(
        ["option", *[f"drops / 1000, {name}" for name in NETWORKS], "Jain", "Jain over 2 s"],
        [
            [
                name,
                *[str(drops(found[name, network])) for network in NETWORKS],
                *[str(of_totals(found[name, "cross"], key)) for key in ("jain", "jain_instant")],
            ]
            for name in transports
        ],
    )
    explain(page)
    return page


def explain(page: Study) -> None:
    """What keeps a paced flow that is alone below a clamped one."""
    cases = {
        (t, h): network({"kind": "chain", "hops": h}, SECONDS, [{"transport": WITHOUT[t]}])
        for t in WITHOUT
        for h in HOPS
    }
    found = repeat(cases, SEEDS)
    page.text(
        "One flow alone over chains: goodput in kb/s, and packets dropped for each 1000 segments. A history "
        "of one round trip has no variation, so that the gap is the delay of four hops and nothing more:"
    )
    page.table(
        ["hops", *WITHOUT, *[f"drops, {name}" for name in WITHOUT]],
        [
            [
                str(hops),
                *[str(goodput(found[name, hops])) for name in WITHOUT],
                *[str(drops(found[name, hops])) for name in WITHOUT],
            ]
            for hops in HOPS
        ],
    )
    page.text(
        "So one factor keeps TCP-AP from passing the clamped window on a chain of its own, with one clock or "
        "two: 1 + 2 cov. Round trips vary by 0.22 to 0.25 there though nothing competes (series `cov`), "
        "because some ACKs meet data of their own flow, and the gap is half as long again as "
        "the delay asks for. Without "
        "that factor it passes the window from six hops on, and loses 8 to 14 packets in "
        "1000; over four, data and ACK "
        "meet all the more."
    )


def scenario(transport: Mapping[str, Any], name: str) -> dict[str, Any]:
    """One transport in one network."""
    topology, flows = NETWORKS[name]
    return network(topology, SECONDS, [{"transport": transport}] * flows)


def change(found: Mapping[Any, Sequence[Result]], name: str, where: str) -> str:
    """Of the goodput, seed by seed."""
    if name == "the paper's":
        return ""
    more = gain(found[name, where], found["the paper's", where])
    return f"{more.mean:+.1f} ± {more.half:.1f}"


QUESTION = "What does each option change, and by how much? One at a time, against the paper's settings."
SETTING = (
    "The chains and the cross of [the study of pacing](pacing.md), "
    f"{SECONDS:g} s each, the first 20 s not counted; seeds {SEEDS[0]} to {SEEDS[-1]}, the same for every "
    "option; 95% Student-t intervals. `pacing_k` stands for what it does to TCP here; it was made for TPA."
)
