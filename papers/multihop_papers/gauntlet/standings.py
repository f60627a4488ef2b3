"""Verdicts of the gauntlet about each transport, over all networks together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, geometric_mean

import polars as pl

from multihop import report, theme
from multihop.stats import Interval, interval
from multihop_papers.declare import Document
from multihop_papers.gauntlet.networks import CBR, FILES, NEWRENO, OWN, SHARED
from multihop_papers.measures import ratio
from multihop_papers.sentences import extremes
from multihop_papers.study import Study

BOUND = "paced"
"""The name of the best constant rate among the transports."""
YARDSTICK = "newreno"
"""Transport with which delays and energies are compared."""
CURVES = 5
"""The transports that are best over the chains, which are drawn."""

Cell = tuple[str, str, str]
Combined = Callable[[Sequence[float]], float]


def standings(study: Study) -> None:
    """Add what is not a table of means."""
    _draw_chains(study)
    _overall(study)
    _chains(study)
    _shares(study)
    _completion(study)


def _overall(study: Study) -> None:
    """Each transport over all networks without a rival."""
    shares = {name: _share_of_best(study, name) for name in _transports(study)}
    order = sorted(shares, key=lambda name: shares[name][0].mean, reverse=True)
    rows = [
        {
            "transport": name,
            "goodput, % of the best": str(shares[name][0]),
            "the least of all networks": f"{shares[name][1]:.0f}",
            "the best in": str(shares[name][2]),
            "Jain's index over 2 s, %": _over_networks(study, name, "instant", fmean, _has_several(study)),
            "retransmission index, %": _over_networks(study, name, "rtx", fmean, _networks(study)),
            "p95 of delay, times NewReno's": _beside_newreno(study, name, "delay"),
            "energy per MB, times NewReno's": _beside_newreno(study, name, "energy"),
        }
        for name in order
    ]
    count = len(_networks(study))
    study.table(
        pl.DataFrame(rows),
        f"All {count} networks of greedy flows of one kind. Goodput: the aggregate goodput as a share of the "
        "best transport's mean in the same network, mean over networks. Jain's index: mean over networks of "
        "several flows. Delay and energy: geometric mean over networks. Intervals are over seeds.",
    )
    figure, axes = report.new_figure("", "goodput, % of the best")
    for place, name in enumerate(order):
        report.bar(axes, place, shares[name][0].mean, shares[name][0].half, theme.style(name), width=0.8)
    axes.set_xticks(range(len(order)), order)
    axes.tick_params(axis="x", rotation=90)
    axes.set_ylim(bottom=0)
    finding = extremes("aggregate goodput, %", {name: shares[name][0] for name in order})
    caption = "Aggregate goodput as a share of the best transport's, mean over all networks."
    study.figure(figure, caption, finding)


def _share_of_best(study: Study, name: str) -> tuple[Interval, float, int]:
    """The mean share over networks by seed, the least mean share, and in how many networks it is the best."""
    by_network = {}
    first = 0
    for network in _networks(study):
        means = {one: _mean(study, "goodput", (network, one, OWN)) for one in _transports(study)}
        best = max(means.values())
        if best > 0:
            first += means[name] == best
            samples = study.samples("goodput", (network, name, OWN))
            by_network[network] = {seed: 100 * value / best for seed, value in samples.items()}
    seeds = sorted(set.intersection(*(set(one) for one in by_network.values())))
    found = interval([fmean(one[seed] for one in by_network.values()) for seed in seeds], _level(study))
    return found, min(fmean(one.values()) for one in by_network.values()), first


def _over_networks(study: Study, name: str, metric: str, combined: Combined, networks: Sequence[str]) -> str:
    """A metric, combined over networks for each seed."""
    columns = [study.samples(metric, (network, name, OWN)) for network in networks]
    by_seed = [[column[seed] for column in columns if seed in column] for seed in _seeds(study)]
    values = [combined(values) for values in by_seed if values]
    return str(interval(values, _level(study))) if values else "-"


def _beside_newreno(study: Study, name: str, metric: str) -> str:
    """The geometric mean over networks of a metric as a multiple of NewReno's."""
    values = []
    for seed in _seeds(study):
        found = []
        for network in _networks(study):
            ours = study.samples(metric, (network, name, OWN)).get(seed)
            theirs = study.samples(metric, (network, YARDSTICK, OWN)).get(seed)
            if ours and theirs:
                found.append(ours / theirs)
        if found:
            values.append(geometric_mean(found))
    return str(interval(values, _level(study))) if values else "-"


def _chains(study: Study) -> None:
    """Goodput over chains as a share of the best constant rate."""
    rows = []
    for name in _transports(study):
        row = {"transport": name}
        for chain in _bounded(study):
            row[chain] = str(_of_bound(study, chain, name))
        rows.append(row)
    study.table(pl.DataFrame(rows), "Goodput over chains, % of the best constant rate with the same seed.")


def _of_bound(study: Study, chain: str, name: str) -> Interval:
    """Goodput as a share of the best constant rate, %."""
    found = ratio(study, "goodput", (chain, name, OWN), (chain, BOUND, OWN))
    return Interval(100 * found.mean, 100 * found.half, found.n, found.level)


def _draw_chains(study: Study) -> None:
    """Draw goodput over the chains that differ in their hops alone, if there are several."""
    chains = [name for name in _bounded(study) if "," not in name]
    hops = [int(name.split()[1]) for name in chains]
    if len(hops) < 3:
        return

    def mean(name: str) -> float:
        return fmean(_of_bound(study, chain, name).mean for chain in chains)

    best = sorted(_transports(study), key=mean, reverse=True)[:CURVES]
    figure, axes = report.new_figure("hops", "goodput, % of the best constant rate")
    for name in dict.fromkeys([*best, YARDSTICK]):
        report.curve(axes, hops, [_of_bound(study, chain, name) for chain in chains], name)
    axes.set_ylim(bottom=0)
    axes.set_xticks(hops)
    axes.legend(fontsize=8)
    caption = f"Goodput over chains: the {CURVES} best transports, and NewReno."
    means = {name: _of_bound(study, chains[-1], name) for name in dict.fromkeys([*best, YARDSTICK])}
    finding = extremes(
        "goodput, % of the best constant rate", means, f"Over {hops[-1]} hops, among the {len(means)} drawn"
    )
    study.figure(figure, caption, finding)


def _shares(study: Study) -> None:
    """Table of the shares that two flows of different kinds leave each other."""
    alone = _flow(study, (SHARED, YARDSTICK, OWN), 1)
    rows = []
    for name in _transports(study):
        rival = _flow(study, (SHARED, name, NEWRENO), 1)
        rows.append(
            {
                "transport": name,
                "beside its own kind": str(_flow(study, (SHARED, name, OWN), 0)),
                "beside NewReno": str(_flow(study, (SHARED, name, NEWRENO), 0)),
                "NewReno's": str(rival),
                "times what it gets beside NewReno": f"{rival.mean / alone.mean:.2f}" if alone.mean else "-",
                "beside CBR": str(_flow(study, (SHARED, name, CBR), 0)),
                "CBR's": str(_flow(study, (SHARED, name, CBR), 1)),
            }
        )
    study.table(pl.DataFrame(rows), "Two flows from end to end of one chain: goodput of each, kb/s.")


def _completion(study: Study) -> None:
    """How long files take, by their size."""
    sizes = _sizes(study)
    rows = []
    for name in _transports(study):
        results = study.results((FILES, name, OWN))
        row = {"transport": name}
        for size in sorted(set(sizes)):
            times = [_mean_time(result.data, sizes, size) for result in results]
            row[f"{size / 1000:g} kB, s"] = str(interval(times, _level(study)))
        unfinished = fmean(_unfinished(result.data) for result in results)
        rows.append(row | {"not finished, % of files": f"{100 * unfinished:.0f}"})
    study.table(
        pl.DataFrame(rows),
        "Time that files take. One that is not finished counts until the end of the run.",
    )


def _sizes(study: Study) -> list[int]:
    """The bytes of each flow of the network of files."""
    network = next(axis for axis in study.experiment.axes if axis.name == "network").settings(FILES, 0)
    return [flow["bytes"] for flow in network["flow"]]


def _mean_time(document: Document, sizes: Sequence[int], size: int) -> float:
    flows = zip(document["flows"], sizes, strict=True)
    return fmean(flow["stop"] - flow["start"] for flow, own in flows if own == size)


def _unfinished(document: Document) -> float:
    """The share of files that were still on their way at the end of the run."""
    flows = document["flows"]
    return fmean(flow["stop"] >= document["sim_seconds"] for flow in flows)


def _flow(study: Study, cell: Cell, number: int) -> Interval:
    """The goodput of one flow."""
    return interval(
        [result.data["flows"][number]["goodput_kbps"] for result in study.results(cell)], _level(study)
    )


def _transports(study: Study) -> list[str]:
    """The transports that were run, without the best constant rate."""
    found = next(axis for axis in study.axes if axis.name == "transport")
    return [name for name in found.values if name != BOUND]


def _networks(study: Study) -> list[str]:
    """The networks of greedy flows that were run."""
    found = next(axis for axis in study.axes if axis.name == "network")
    return [name for name in found.values if name != FILES]


def _bounded(study: Study) -> list[str]:
    """The networks for which the best constant rate is known."""
    return [cell[0] for cell in study.select({"transport": BOUND})]


def _has_several(study: Study) -> list[str]:
    """The networks with several flows."""
    axis = next(axis for axis in study.axes if axis.name == "network")
    return [name for name in _networks(study) if len(axis.settings(name, 0)["flow"]) > 1]


def _mean(study: Study, metric: str, cell: Cell) -> float:
    found = study.mean(metric, cell)
    return found.mean if found else 0.0


def _seeds(study: Study) -> list[tuple[int, int]]:
    """The seeds as samples are named: batches are not used here."""
    return [(seed, 0) for seed in study.each_seed()]


def _level(study: Study) -> float:
    return study.experiment.level
