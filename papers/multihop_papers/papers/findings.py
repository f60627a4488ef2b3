"""Why claims of the papers do not hold here: what differs, what traces show, what their set-up may have had.

Claims that share a cause share a text. A function makes a text of the numbers of its page. Other numbers are those of
the seed that is named, or of seed 1, with `--quick`; they come from packet traces and counters of single runs.
"""

from __future__ import annotations

from statistics import fmean

from multihop_papers.declare import Document
from multihop_papers.measures import beside, change, drops, mean, per_run, total
from multihop_papers.study import Study, Values


# TPA, section 4: the testbed.
def span(study: Study, metric: str, **at: object) -> str:
    """The least and the greatest mean over some cells."""
    means = [found.mean for cell in study.select(at) if (found := study.mean(metric, cell))]
    return f"{min(means):.2g} to {max(means):.2g}" if means else "nothing"


def given_up(study: Study, *cells: Values) -> list[float]:
    """Packets that the MAC gives up in a run, in each of these cells."""
    return [per_run(study, cell, lambda one: float(one["mac"]["drops"])) for cell in cells]


TCPS, TPAS = ["tcp-2", "tcp-3", "tcp-uc"], ["tpa-2", "tpa-3", "tpa*-3"]


def errors_gain(study: Study) -> str:
    """Throughput where frames are lost independently."""
    pairs = [
        change(study, "goodput", tpa, tcp)
        for window in ("2", "3")
        for tpa, tcp in zip(
            study.select({"radio": "errors", "transport": f"tpa-{window}"}),
            study.select({"radio": "errors", "transport": f"tcp-{window}"}),
            strict=False,
        )
    ]
    more = f"TPA delivers more than TCP with the same window in {sum(one > 0 for one in pairs)} of {len(pairs)} cells, " if pairs else ""
    size = f"by {min(pairs):+.1%} to {max(pairs):+.1%}. " if pairs else ""
    return (
        "Independent errors of 3% of the frames cost every transport the same airtime, since the MAC repairs nearly all of them. "
        f"{more}{size}The lead over the best TCP depends on how often HELLOs are lost one after another, "
        "which breaks a route that stands. The paper does not say how often its routes broke."
        " "
        "Links that fade do not bring the paper's gain. A fade of 0.1 s outlasts the MAC's retries, so that single packets are "
        "lost. TCP"
        " with its whole window, which repairs them by fast retransmit, is ahead (tpa-losses)."
    )


TWO_COUNTERS = (
    "The paper's text does not prove that TPA retransmits less by four fifths or more. Section 4.1 has TCP's retransmissions counted by tcpdump and tcptrace, "
    "those of TPA by TPA's own program, and does not say what that program counts. In its own simulations one counter serves both, over "
    "AODV with HELLOs: "
    "there TPA retransmits slightly more than TCP over the cross (Table 4). It retransmits a sixth less over parallel "
    "chains (Table 7) and a fifth more on the grid (Table 9), each in its best configuration."
)


def errors_rtx(study: Study) -> str:
    """Retransmissions where frames are lost independently."""
    tcp, tpa = (span(study, "rtx", radio="errors", transport=names) for names in (TCPS, TPAS))
    return (
        f"{TWO_COUNTERS} TCP retransmits {tcp}% here, in Table 3 up to 2%; TPA {tpa}%, in Table 3 up to 0.16%. A protocol that delivers everything cannot "
        "retransmit less than is lost, and a break of a route loses all segments under way in both protocols. So hardly any data was lost in the "
        "testbed, and most of what its TCP retransmitted had arrived. "
        "Losses of ACKs alone make TCP retransmit segments that have arrived (tpa-one-way). When only"
        " the path of "
        "the ACKs breaks, TPA transmits new segments, which arrive, and TCP with a window of two or three retransmits one that has arrived. "
        "So breaks in one direction, as in Appendix B, are enough to explain the difference of Table 3; how often they occurred its text does "
        "not say. TCP-uc alone remains unexplained: here it loses segments to hidden stations of its own chain, with and without errors."
    )


def false_breaks(study: Study) -> str:
    """Retransmissions over fixed ranges."""
    tcp, tpa = (span(study, "rtx", radio="threshold", transport=names) for names in (TCPS, TPAS))
    return (
        f"{TWO_COUNTERS} Over fixed ranges TCP retransmits {tcp}% and TPA {tpa}%; "
        "nothing is lost but to routing. HELLOs"
        " lost one after another to other frames break a "
        "link that stands. In such an outage TPA goes on to the next segment of its block "
        "at each expiry. All segments that it transmits in the outage come again in the next round. TCP transmits one segment several times instead."
        " By its sections 3.2 and 3.5 a frozen sender sends a segment at each expiry, too. "
        "If instead the path of the ACKs breaks, TPA retransmits less than a third of what TCP does (tpa-one-way)."
    )


def clear_gain(study: Study) -> str:
    """Throughput over fixed ranges."""
    leads = []
    for length in dict.fromkeys(cell[0] for cell in study.select({"radio": "threshold"})):
        cells = study.select({study.axes[0].name: length, "radio": "threshold"})
        best = [max(mean(study, "goodput", cell).mean for cell in cells if cell[-1].startswith(kind)) for kind in ("tcp", "tpa")]
        leads.append(f"{length} {best[1] / best[0] - 1:+.1%}")
    return (
        f"Over fixed ranges the best TPA delivers beside the best TCP: {', '.join(leads)}. Clamped TCP keeps as many segments in the chain as it can "
        "carry at once, as TPA does; what is left is what a break costs each. The paper gives the handling of breaks as the main reason for TPA's "
        "lead, and does not say how often its routes broke. Breaks of 3 s every 20 s, of the data or of the ACKs, make TPA lead by more than 5% (tpa-one-way)."
    )


def roaming(study: Study) -> str:
    """A walk through sharp ranges, and through links that come and go."""
    leads = {
        links: [change(study, metric, (routing, links, "tpa*-3"), (routing, links, "tcp-3")) for routing in ("OLSR", "AODV")]
        for links, metric in (("sharp", "goodput"), ("fading", "goodput"))
    }
    again = change(study, "rtx", ("OLSR", "fading", "tpa*-3"), ("OLSR", "fading", "tcp-3"))
    sharp, fading = (f"{found[0]:+.1%} and {found[1]:+.1%}" for found in leads.values())
    return (
        f"Where the walk crosses sharp ranges a link is there, or it is gone: TPA*-3 delivers {sharp} beside TCP-3 over OLSR and AODV. Where links fade "
        f"(Rayleigh, for 0.1 s), so that they come and go as the text describes, it delivers {fading}, and over OLSR it retransmits {again:+.0%}. "
        "The paper gives no measure of its links."
    )


def roaming_aodv(study: Study) -> str:
    """Compare AODV and OLSR where stations move."""
    names = ("tcp-3", "tpa*-3")
    found = {
        links: [f"{change(study, 'goodput', ('AODV', links, name), ('OLSR', links, name)):+.0%}" for name in names]
        for links in ("sharp", "fading")
    }
    return (
        "AODV takes a link for lost after 2 s without a HELLO and asks for another route at once, OLSR after 6 s. So TCP-3 and TPA*-3 deliver "
        f"{' and '.join(found['sharp'])} over AODV, beside OLSR, and {' and '.join(found['fading'])} where links fade. The paper's reason for the opposite are "
        "links that carry HELLOs in one direction alone, which AODV takes for good."
    )


# TPA, section 5: the simulations.
def errors(study: Study, metric: str) -> str:
    """How far both kinds are from the paper."""
    tcp, tpa = (beside(study, metric, [(name,) for name in names]) for names in (TCPS, TPAS))
    return f"TCP differs from the paper by {tcp[0]:+.1%} to {tcp[1]:+.1%} and TPA by {tpa[0]:+.1%} to {tpa[1]:+.1%}"


def cross(study: Study) -> str:
    """Table 4, and Table 7, which has the same rows."""
    leads = [change(study, "goodput", (f"tpa-{window}",), (f"tcp-{window}",)) for window in (2, 3)]
    return (
        f"{errors(study, 'goodput')}, so TPA's lead at the same "
        f"window is {leads[0]:.1%} and {leads[1]:.1%}, not 3 to 5%. What a break costs decides about all rows: HELLOs collide with other frames, "
        "a neighbour counts as lost, and packets wait for another route. HELLO intervals, their jitter, the time until a neighbour is lost, RTS "
        "before ACKs and nine rules of AODV-UU "
        "were tried one by one (tpa-cross-hellos). Each moves TCP and TPA alike."
        " With the last segment of a "
        "block acknowledged at once and the wait for an ACK inside the timeout (ack_block_end, rto_covers_hold) "
        "the rows of Table 4 are met (tpa-cross-both). Only then K matters little, as section 3.2 says (tpa-block-size)."
        " The text has neither rule."
    )


def parallel_fairness(study: Study) -> str:
    """Fairness over 2 s with two flows side by side."""
    return (
        f"Over 2 s {errors(study, 'instant')}. Minimum timeouts of 0.1 and 0.4 s, "
        "th_route = 2, th_ack = 3, ends of blocks acknowledged at once with a timeout that covers the hold, and link failures from the MAC were tried one "
        "by one: none brings TPA to the paper's lead."
    )


TCP_AP, TPA_AP = ("tcp-ap+da",), ("tpa-ap-2",)


def paced_cells(study: Study) -> list[Values]:
    """Cells of TCP-AP and TPA-AP-2; of several sense ranges, at the widest."""
    layout = [list(axis.values)[-1] for axis in study.axes if axis.name != "transport"]
    return [(*layout, *transport) for transport in (TCP_AP, TPA_AP)]


def losses(study: Study) -> str:
    """Segments lost and retransmitted in a run with adaptive pacing."""
    cells = paced_cells(study)
    given = given_up(study, *cells)
    dropped = [per_run(study, cell, lambda one: drops(one) * total(one, "segments_delivered") / 1000) for cell in cells]
    again = [per_run(study, cell, lambda one: total(one, "segments_retransmitted")) for cell in cells]
    return (
        f"In a run (means of {study.seeds}) the MAC gives up {given[0]:.0f} packets of TCP-AP and {given[1]:.0f} of TPA-AP-2, "
        f"{dropped[0]:.0f} and {dropped[1]:.0f} are dropped for all reasons, and {again[0]:.0f} and {again[1]:.0f} segments are retransmitted."
    )


def paced_losses(study: Study) -> str:
    """Pacing with two flows."""
    tcp, tpa = paced_cells(study)
    return (
        f"{losses(study)} TPA-AP-2 delivers {change(study, 'goodput', tpa, tcp):+.0%} beside TCP-AP. "
        "In the paper TCP-AP retransmits 24% more than TCP does, at half its rate; ours retransmits less than TCP does. Its breaks came with "
        "time rather than with load, or cost TCP more; the text has no counts."
    )


def grid_losses(study: Study) -> str:
    """Pacing on the grid."""
    return (
        f"{losses(study)} Without pacing the paper, too, has TPA retransmit more (Table 9: TPA 15 to 19%, TCP 12 to 16%); with pacing it has "
        "three quarters less than TCP-AP. Pacing by the delay of four hops does not keep hidden stations apart on routes that are longer than "
        "four hops. AODV keeps the first route that a request finds around a busy node. The paper gives neither path lengths nor losses."
    )


def paced_fairness(study: Study) -> str:
    """Fairness and delay that TPA-AP gives up for its throughput."""
    tcp, tpa = paced_cells(study)
    trips = [
        per_run(study, cell, lambda one: fmean(flow["rtt_ms"]["mean"] for flow in one["flows"] if flow["rtt_ms"])) for cell in (tpa, tcp)
    ]
    return (
        f"TPA-AP paces less than TCP-AP: its round trips are those of segments ({trips[0]:.0f} ms in the mean), those that TCP's timer measures "
        f"contain held ACKs ({trips[1]:.0f} ms). So TPA-AP delivers {change(study, 'goodput', tpa, tcp):.0%} more and leaves the other "
        "flows less. It is another point of the trade-off that section 5.3 describes, and K = 2 moves it to the other end (tpa-pacing-k)."
    )


def pacing_k(study: Study) -> str:
    """The two readings of Equation 3."""
    printed, scaled = ((2,), ("2, mean too",))
    return (
        "As printed, Equation 3 scales the samples by K and leaves the mean. Round trips that do not vary at all then have a coefficient of "
        f"K - 1, and K = 2 divides the rate by three ({mean(study, 'goodput', printed)} kb/s). With the mean scaled as well (the rows 'mean too') "
        f"K = 2 delivers {change(study, 'goodput', scaled, TCP_AP):+.0%} beside TCP-AP, in the paper 36%. Its fairness over 2 s is "
        f"{change(study, 'instant', scaled, TCP_AP):+.0%}, in the paper 1.5%. The text fits the second reading in throughput and the first in "
        "fairness."
    )


def retransmits_walking(study: Study) -> str:
    """Retransmissions among moving nodes."""
    tpa, tcp = mean(study, "rtx", ("tpa*-3",)), mean(study, "rtx", ("tcp-2",))
    return (
        f"TPA*-3 retransmits {tpa}% and TCP-2 {tcp}% ({study.seeds} patterns; paper: 3.6 and 4.8%). When a route breaks TPA continues with the "
        "next segment of its block at each expiry, and each that leaves without success is retransmitted in the next round; TCP-2 has two "
        "segments under way and repeats one of them. Why the paper has it the other way round is not known; its means of 50 patterns have no "
        "intervals."
    )


# TCP-AP.
def extremes(study: Study, metric: str, cell: Values) -> str:
    """The least and the greatest value of the runs, or of the batches of one run."""
    found = study.samples(metric, cell).values()
    return f"{min(found):.0f} to {max(found):.0f}"


def changes(study: Study, of: str, against: str) -> str:
    """How much more goodput one transport has than another at each value of the first axis."""
    cells = [(cell, (*cell[:-1], against)) for cell in study.select({"transport": of})]
    return ", ".join(f"{change(study, 'goodput', *pair):+.0%} ({pair[0][-2]})" for pair in cells)


def false_route_failures(study: Study) -> str:
    """Goodput that false route failures cost NewReno on a chain."""
    longest = max(cell[0] for cell in study.accepted())
    newreno, paced = (longest, "newreno"), (longest, "tcp-ap")
    given = given_up(study, newreno, paced)
    return (
        f"Over {longest} hops TCP-AP delivers {change(study, 'goodput', paced, newreno):+.0%} beside NewReno. In a run the MAC gives up "
        f"{given[0]:.0f} packets of NewReno and {given[1]:.0f} of TCP-AP. AODV takes each for a broken link and searches, so that the gain is "
        "the cost of a break, and the paper does not say how its AODV repairs routes."
    )


def dynamic_acks(study: Study) -> str:
    """Gain of acknowledging four segments at once."""
    return (
        f"With the receiver's timer of 0.1 s dynamic ACKs change TCP-AP's goodput by {changes(study, 'tcp-ap+dyn', 'tcp-ap')} hops. Four "
        "segments take longer to arrive than that, so that the timer makes the ACKs, round trips vary, and the pacer slows down. With a timer "
        f"of 0.3 s the changes are {changes(study, 'tcp-ap+dyn, 0.3 s', 'tcp-ap')} hops. The paper's timer is not in its text."
    )


def bound_of_udp(study: Study) -> str:
    """How near to a source of constant rate delayed ACKs come."""
    return (
        f"Beside paced UDP, TCP-AP with synchronised clocks delivers {changes(study, 'tcp-ap-sync+dyn', 'udp')} hops with the receiver's timer "
        f"of 0.1 s, {changes(study, 'tcp-ap-sync+dyn, 0.3 s', 'udp')} hops with 0.3 s, and {changes(study, 'tcp-ap-sync+da', 'udp')} hops "
        "with one ACK for two segments. The paper's timer is not in its text."
    )


def alternating(study: Study) -> str:
    """Two NewReno flows side by side."""
    return (
        f"Two NewReno flows take turns: one has nearly all for seconds, and loses its route to a false failure; the other takes over. So the "
        f"lesser flow gets {mean(study, 'lesser', ('newreno',))}% of both ({extremes(study, 'lesser', ('newreno',))}%), in the paper's run "
        f"10%. Jain's index leaves TCP-AP ({mean(study, 'fairness', ('tcp-ap',))}%) little to gain over NewReno "
        f"({mean(study, 'fairness', ('newreno',))}%). The paper shows one run of 55,000 packets. In ns-2.35 the lesser flow gets 25%, and Jain's index is "
        "79% (12 runs of the same layout, AODV)."
    )


def one_run(study: Study) -> str:
    """Which of two flows has the air."""
    paired = [study.samples(name, ("newreno",)) for name in ("first", "second")]
    ahead = sum(paired[1][key] > value for key, value in paired[0].items())
    twice = sum(value >= 2 * paired[1][key] for key, value in study.samples("second", ("tcp-ap",)).items() if key in paired[1])
    return (
        "Figures 10 to 12 plot one run each, to illustrate the transient behaviour (section 4.5). The text gives no number, so that the size "
        f"of the gain cannot be known. Which flow has the air differs from run to run: with NewReno the second flow gets {extremes(study, 'second', ('newreno',))} kb/s, more "
        f"than the first in {ahead} of {study.seeds} runs. The paper shows one run, in which the first flow kept the air. TCP-AP shares in "
        f"every run: {extremes(study, 'second', ('tcp-ap',))} kb/s. The claim holds in {twice} runs. In ns-2.35, too, two NewReno flows share the "
        "cross: 112 and 147 kb/s (6 runs, AODV)."
    )


def newreno_alone(study: Study) -> str:
    """The sum of a short flow and a long one."""
    return (
        f"Here NewReno delivers {mean(study, 'goodput', ('newreno',))} kb/s in all, its short flow nearly alone, and TCP-AP "
        f"{mean(study, 'goodput', ('tcp-ap',))}. The paper says that NewReno's sum is slightly larger and gives no number. With dynamic "
        f"ACKs in both it is so here, too: {mean(study, 'goodput', ('newreno+dyn',))} and {mean(study, 'goodput', ('tcp-ap+dyn',))} kb/s."
    )


def grid_starves_less(study: Study) -> str:
    """NewReno on the grid."""
    cell = study.select({"layout": "grid", "transport": "newreno"})[-1]
    flows = [f"{mean(study, f'ftp{n}', cell).mean:.0f}" for n in range(1, 7)]
    return (
        f"With NewReno the six flows get {', '.join(flows)} kb/s. The paper has FTP 2 to 5 starve; here flows that have the air lose it to false "
        f"route failures, and others begin, as in ap-parallel. So Jain's index of NewReno is {mean(study, 'fairness', cell)}%, and there is less "
        "to gain. In ns-2.35 it is 66% (12 runs, AODV: 61, 16, 25, 68, 16, 94 kb/s); only with static routes FTP 1 and 6 are nearly alone (46%)."
    )


def short_routes(study: Study) -> str:
    """Which pairs a random placement connects."""
    each = "; ".join(f"{change(study, 'goodput', (pairs, 'tcp-ap'), (pairs, 'newreno')):+.0%}: {pairs}" for pairs in study.axes[0].values)
    return (
        f"TCP-AP's goodput beside NewReno's depends on which pairs send: {each}. Short routes carry most of the sum. A pacer that sees its "
        "round trips vary transmits at a fraction of the rate even where the next node is the destination. On long routes TCP-AP is ahead. "
        "The paper has one placement with its pairs (sections 5.1.5 and 5.2.2), which it does not print. The change of goodput differs between "
        "single placements by more than its size (search-ap-random), so that it cannot be known."
    )


ENDLESS = 257.9  # kb/s, 5 seeds of 330 s


def pauses_free_the_air(study: Study) -> str:
    """Gain of a flow while the other one pauses."""
    gains = [change(study, "goodput", (1.0, name), (0.0, name)) for name in ("newreno", "tcp-ap")]
    return (
        f"Goodput counts the time of transfers alone. While one flow pauses the other has the chain to itself: NewReno delivers {gains[0]:+.0%} "
        f"with pauses of 1 s, TCP-AP {gains[1]:+.0%}. The paper equates no pause with a file without end, with which NewReno delivers {ENDLESS:.0f} "
        f"kb/s (ap-parallel); beside that it gains {mean(study, 'goodput', (1.0, 'newreno')).mean / ENDLESS - 1:+.0%}, which the claim allows."
    )


def no_optimum(study: Study) -> str:
    """Synchronised clocks against the best window."""
    longest = max(cell[0] for cell in study.accepted())
    lost = [per_run(study, (longest, name), drops) for name in ("tcp-ap-sync", "tcp-cwl")]
    return (
        f"TCP-AP with synchronised clocks delivers {changes(study, 'tcp-ap-sync', 'tcp-cwl')} hops beside NewReno with a window of h/4. Over "
        f"{longest} hops it loses {lost[0]:.1f} of 1000 packets, the window {lost[1]:.1f}. Over how many hops TCP-AP is 27% ahead the paper does "
        "not say, nor how its AODV finds broken links. With HELLOs instead of retries of the MAC TCP-AP is ahead over 8, 14 and 20 hops "
        "(search-ap-chain-limit). docs/validation/pacing.md has the search for the best window."
    )


# ADTCP.
def seen_as_congestion(study: Study, cells: list[Values], cause: str) -> float:
    """The share of the losses with this cause that the receiver took for congestion."""
    lost, seen = 0, 0
    for cell in cells:
        for result in study.results(cell):
            found = result.data["flows"][0]["identification"]
            lost += found["losses"][cause]
            seen += found["states"][cause].get("congestion", 0)
    return seen / lost if lost else 0.0


def more_route_changes(study: Study) -> str:
    """Losses that are taken for congestion, next to streams."""
    cells = study.select({"streams": "three"})
    routes, damage = (seen_as_congestion(study, cells, cause) for cause in ("route-change", "channel-error"))
    return (
        f"Losses on routes that change are taken for congestion: {routes:.0%} of them, of damaged packets {damage:.0%}. After a change the first "
        "packets come late and after a silence, so that IDD is high and STT low together; the faster the nodes, the larger their share. High "
        "and low are the top and bottom 30% of the samples, so that two metrics that tell nothing are wrong at 9% of the losses. What counts "
        "as the top 30% depends on the range R of the bins, which the paper does not give. With bins of twice the width fewer samples lie "
        "above 70% of the others."
    )


def little_to_gain(study: Study) -> str:
    """Gain of ADTCP, and the largest possible gain."""
    alone, damaged = (
        [change(study, "goodput", (case, speed, "adtcp"), (case, speed, "newreno")) for speed in (5, 20)]
        for case in ("mobility", "5% error")
    )
    return (
        f"Without channel error ADTCP delivers {alone[0]:+.0%} and {alone[1]:+.0%} at 5 and 20 m/s, with 5% {damaged[0]:+.0%} and "
        f"{damaged[1]:+.0%}. In an area of 400 m by 800 m two random nodes are seldom apart for long. What NewReno loses there it loses to ARP on "
        "stale routes: with known addresses all transports are alike (validation-adtcp-addresses). The paper does not say which nodes its "
        "flow connects, nor how many patterns there were; its footnote 7 has nodes that are drawn at random mostly one or two hops apart. So the gain "
        "cannot be known. Between ends that stay at the short edges, four hops or more apart, ADTCP delivers several times as much as NewReno at 20 "
        "m/s (adtcp-far-20)."
    )


# APDR.
def delay_cost(study: Study) -> str:
    """Cost of routes by delay relative to OLSR, where nodes are dense."""
    routings = list(study.axes[-1].values)
    olsr, other = routings[0], routings[-1]
    parts = []
    for nodes in (one for one in study.axes[0].values if one >= DENSE):
        of, against = (nodes, other), (nodes, olsr)
        times = per_run(study, of, tc_bytes) / per_run(study, against, tc_bytes)
        longer = mean(study, "hops", of).mean - mean(study, "hops", against).mean
        air = [100 * per_run(study, cell, lambda one: float(one["mac"]["airtime_share"])) for cell in (of, against)]
        lost = given_up(study, of, against)
        parts.append(
            f"among {nodes} nodes {times:.1f} times the bytes of OLSR's TCs, frames in the air for {air[0]:.0f}% of the time instead of "
            f"{air[1]:.0f}%, paths {longer:+.1f} hops, and {lost[0]:.0f} packets in a run that the MAC gives up instead of {lost[1]:.0f}"
        )
    return (
        "Costs are learnt from TCs. So that every path can be weighed, all nodes send them, with all neighbours, at the basic rate of 1 Mb/s. "
        f"A path of least delay has more hops: {'; '.join(parts)}. What is lost is also what comes out of order behind it. In the report's "
        "network the MAC drops nothing (section 5), and at most 0.26% of the frames collide (Table 3); it does not count the bytes of its TCs."
    )


def kept_links(study: Study) -> str:
    """Cost of keeping a path whose links lose frames."""
    against, of = study.cells()
    found = {
        name: (mean(study, name, of).mean, mean(study, name, against).mean) for name in ("collided", "reordered", "rtt", "total", "invalid")
    }
    return (
        "OLSR leaves links whose HELLOs collide, a reserved path keeps them: packets without a route fall from "
        f"{found['invalid'][1]:.2g}% to {found['invalid'][0]:.2g}%, but {found['collided'][0]:.0f}% of the data frames collide instead of "
        f"{found['collided'][1]:.0f}%. Retries take time, and a packet that the MAC drops puts all behind it out of order "
        f"({found['reordered'][0]:.1f} and {found['reordered'][1]:.1f}%). More is under way, so that round trips take {found['rtt'][0]:.0f} ms "
        f"instead of {found['rtt'][1]:.0f} ms. In the report at most 0.26% of the frames collide (Table 3), and the MAC drops none (section 5). "
        "Neither a MAC that does not give up nor ten transfers at any time reverses these differences (apdr-static-choices), nor does any other "
        "value that was searched (search-apdr-static-gain). Paths of two to four hops (Table 2) without RTS have hidden stations. That hardly any "
        "frame collides, and none is dropped, is a property of the model of reference 13, which the report does not describe. Without it "
        "these numbers cannot be known."
    )


DENSE = 30  # nodes


def tc_bytes(document: Document) -> float:
    """Bytes of all TCs."""
    return float(document["routing"]["bytes"]["tc"])
