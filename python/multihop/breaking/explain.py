"""Says in which numbers a protocol and its best rival differ in a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from multihop.breaking.measures import Measure, Results
from multihop.breaking.network import Network
from multihop.results import Result

NOTABLE = 1.25
"""Ratio from which on two numbers count as different."""
Number = Callable[[Result], float | None]


def explain(protocol: str, measure: Measure, network: Network, by_seed: Sequence[Results]) -> list[str]:
    """Lines of text: the compared numbers, or for a routing protocol its messages and dropped packets."""
    if not measure.has_rivals:
        return [
            f"{name}: {_mean(by_seed, protocol, number):.6g}" for name, number in _routing(by_seed, protocol)
        ]
    best = _best_rival(protocol, by_seed)
    lines = [f"{'':34}{protocol:>12}{best:>12}"]
    for name, number in {**NUMBERS, **_drops(by_seed, (protocol, best))}.items():
        own, other = (_mean(by_seed, who, number) for who in (protocol, best))
        if max(own, other) > NOTABLE * min(own, other):
            lines.append(f"{name:34}{own:12.4g}{other:12.4g}")
    for flow in range(len(network.flows)) if len(network.flows) > 1 else ():
        own, other = (
            _mean(by_seed, who, lambda result, flow=flow: result.data["flows"][flow]["goodput_kbps"])  # type: ignore[misc]
            for who in (protocol, best)
        )
        ends = f"{network.flows[flow].source} to {network.flows[flow].target}"
        lines.append(f"{f'goodput of flow {flow} ({ends}), kb/s':34}{own:12.4g}{other:12.4g}")
    return lines


def _sum(key: str) -> Number:
    return lambda result: sum(flow[key] or 0 for flow in result.data["flows"])


def _delay(part: str) -> Number:
    return lambda result: result.delay_ms[part] if result.delay_ms else None


NUMBERS: Mapping[str, Number] = {
    "goodput, kb/s": lambda result: result.goodput_kbps,
    "mean delay, ms": _delay("mean"),
    "95% quantile of delay, ms": _delay("p95"),
    "Jain's index": lambda result: result.totals["jain"],
    "segments sent": _sum("segments_sent"),
    "segments retransmitted": _sum("segments_retransmitted"),
    "timeouts": _sum("timeouts"),
    "collisions": lambda result: result.mac["collisions"],
    "packets given up by the MAC": lambda result: result.mac["drops"],
    "messages of routing": lambda result: sum(result.routing.get("packets", {}).values()),
}


def _drops(by_seed: Sequence[Results], protocols: Sequence[str]) -> Mapping[str, Number]:
    """Packets dropped by reason, for the reasons that occur."""
    reasons = {reason for results in by_seed for who in protocols for reason in results[who].drops}

    def dropped(reason: str) -> Number:
        return lambda result: result.drops.get(reason, 0)

    return {f"dropped, {reason}": dropped(reason) for reason in sorted(reasons - {"end", "retry-limit"})}


def _routing(by_seed: Sequence[Results], protocol: str) -> list[tuple[str, Number]]:
    numbers: dict[str, Number] = {
        "share of datagrams delivered": lambda result: result.delivery_ratio,
        "packets given up by the MAC": NUMBERS["packets given up by the MAC"],
        "messages of routing": NUMBERS["messages of routing"],
        **_drops(by_seed, [protocol]),
    }
    return list(numbers.items())


def _best_rival(protocol: str, by_seed: Sequence[Results]) -> str:
    rivals = [name for name in by_seed[0] if name != protocol]
    return max(rivals, key=lambda name: _mean(by_seed, name, NUMBERS["goodput, kb/s"]))


def _mean(by_seed: Sequence[Results], protocol: str, number: Number) -> float:
    return fmean(number(results[protocol]) or 0.0 for results in by_seed)
