"""Searches of what the papers do not state, for claims that do not hold: ranges, their reasons, and what is run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from multihop.journal import Journal
from multihop_papers.comparison import allowed
from multihop_papers.declare import Claim, Settings, versus
from multihop_papers.papers import (
    adtcp,
    apdr,
    apdr_settings,
    elfn,
    tcp_ap,
    tcp_ap_flows,
    tcp_ap_random,
    tpa,
    tpa_cross,
    tpa_simulation,
)
from multihop_papers.searches import Change, Range, Target, of_tcp, of_tpa, over, search
from multihop_papers.study import Experiment, Study, Values


def of(experiment: Experiment, *parts: str) -> list[Target]:
    """The claims of an experiment whose texts contain one of these parts; all without parts."""
    return [Target(one) for one in experiment.claims if not parts or any(part in one.text for part in parts)]


def both_radios(experiment: Experiment, *parts: str) -> list[Target]:
    """Claims without frame errors; each stands for its reading with 3% of frame errors, which is another value of a searched key."""
    found = [one.claim for one in of(experiment, *parts) if one.claim.text.endswith(", threshold")]
    return [Target(one, ((experiment.id, one.text.removesuffix("threshold") + "errors"),)) for one in found]


def by_means(targets: Sequence[Target]) -> list[Target]:
    """Targets that means decide: the paper has one run, or percentages without intervals."""
    return [replace(one, claim=replace(one.claim, by_mean=True)) for one in targets]


def within_intervals(experiment: Experiment, targets: Sequence[Target]) -> list[Target]:
    """Targets whose bounds are the ends of the interval that the paper's own intervals give the gain."""
    found = []
    for target in targets:
        ((low, high),) = allowed(Study(experiment, experiment.full, Journal()), target.claim)
        found.append(replace(target, claim=replace(target.claim, at_least=1 + low, at_most=1 + high)))
    return found


# TPA, section 4: links, cards, routing and transports of the testbed.
LOSS = over(
    "the share of frames that a link loses",
    "neighbours stood at the limit of their range (4.1), where 802.11b allows 8% of frames of 1024 bytes; above 20% a MAC with seven retries loses packets",
    "radio.frame_loss",
    [0.01, 0.02, 0.05, 0.08, 0.12, 0.16, 0.20],
)
BURSTS = Range(
    "how frame errors follow each other",
    "a room with people and appliances (4.3): from errors that a retry repairs to seconds of bad reception, one frame in twenty to one in seven",
    {
        f"bursts of {length} frames, {share:.0%} of frames, {retries} retries": Change(
            {
                "radio.burst": {"p": share / (1 - share) / length, "r": 1 / length},
                "mac.short_retry": retries,
                "mac.long_retry": retries,
            }
        )
        for length in (5, 20, 100)
        for share in (0.05, 0.15)
        for retries in (7, 255)
    },
)
FADING = Range(
    "how the signal fades, and how often a card retries",
    "indoors: Rician fading with k of 6 and 2 (office), one draw for 0.1 s (walking) or 1 s (standing). Retry limits from the standard's 7 to the most that a card can be set to, 255",
    {
        f"Rician k = {k}, {coherence} s, {retries} retries": Change(
            {
                "radio.model": "sinr",
                "radio.fading": {"kind": "rician", "k": float(k), "coherence": coherence},
                "mac.short_retry": retries,
                "mac.long_retry": retries,
            }
        )
        for k in (6, 2)
        for coherence in (0.1, 1.0)
        for retries in (7, 255)
    }
    | {"SINR without fading": Change({"radio.model": "sinr"})},
)
CARD = Range(
    "the card's receiver and its control rate",
    "carrier sense 'about twice' the range (4.3.1): two to three hops. Capture ratios of 802.11b receivers from 5 to 15 dB; control frames at 1 or 2 Mb/s, either preamble",
    {
        "radio.capture_db = 5": Change({"radio.capture_db": 5.0}),
        "radio.capture_db = 15": Change({"radio.capture_db": 15.0}),
        "radio.sense_range = 450": Change({"radio.sense_range": 450.0}),
        "radio.sense_range = 610": Change({"radio.sense_range": 610.0}),
        "radio.basic_rate = 2M": Change({"radio.basic_rate": "2M"}),
        "radio.preamble = short": Change({"radio.preamble": "short"}),
    },
)
PROTOTYPE = (
    of_tpa(
        "the minimum timeout of TPA",
        "Table 1 has none; from a fifth of the round trips over four hops to RFC 6298's 1 s",
        "rto_min",
        [0.1, 0.4, 1.0],
    ),
    of_tpa("whether the end of a block is acknowledged at once", "the text has no rule", "ack_block_end", [True]),
    of_tpa("whether the timeout covers the time for which an ACK is held", "the text has no rule", "rto_covers_hold", [True]),
    of_tpa("whether a late ACK is a sample", "the text has no rule", "late_samples", [True]),
)
TCP_OPTIONS = (
    of_tcp("whether TCP has timestamps", "Linux 2.6.12 has them unless they are switched off", "timestamps", [0.001]),
    of_tcp("whose delayed ACKs", "the text describes Linux's (4.3.1)", "delack", ["ns2"]),
)
LINKS = (LOSS, BURSTS, FADING)
TESTBED = (*LINKS, CARD, *PROTOTYPE, *TCP_OPTIONS)
CHAINS = {"chain": ["2 hops", "3 hops", "4 hops", "3 hops, CBR"], "radio": ["threshold"]}
SHORT_CHAINS = {**CHAINS, "chain": ["2 hops", "3 hops"]}
OLSR_GAINS = both_radios(tpa.CHAIN_OLSR, "2 hops: TPA delivers", "3 hops: TPA delivers")
AODV_CHAIN = search(
    tpa.CHAIN_AODV, TESTBED, both_radios(tpa.CHAIN_AODV), keep=CHAINS, seeds=4, confirm=20, flows="0", settings={"duration": 120.0}
)
OLSR_CHAIN = search(
    tpa.CHAIN_OLSR,
    (LOSS, FADING, CARD, *TCP_OPTIONS),
    (*OLSR_GAINS, *within_intervals(tpa.CHAIN_OLSR, OLSR_GAINS)),
    keep=SHORT_CHAINS,
    seeds=2,
    confirm=20,
    flows="0",
    settings={"duration": 120.0},
)
RATES = search(tpa.RATES, LINKS, of(tpa.RATES), keep={"radio": ["threshold"]}, seeds=1, confirm=10, flows="0", settings={"duration": 120.0})


CROSS_TESTBED = search(
    tpa.CROSS_TESTBED,
    (*LINKS, CARD),
    both_radios(tpa.CROSS_TESTBED, "OLSR: TPA*-3 has 18%"),
    keep={"routing": ["OLSR"], "radio": ["threshold"]},
    seeds=2,
    confirm=10,
)
ROAMING = search(
    tpa.ROAMING,
    LINKS,
    [one for one in of(tpa.ROAMING) if one.claim.of.get("links", "sharp") == "sharp"],
    keep={"links": ["sharp"]},
    seeds=2,
    confirm=12,
)

# TPA, section 5: ns-2.30.
NS2_MAC = Range(
    "details of ns-2's MAC and radio",
    "options of the MAC and physical layer that ns-2's scripts set or that differ between its versions; the papers state range, sense range, rate and RTS",
    {
        "mac.eifs = false": Change({"mac.eifs": False}),
        "mac.window_reset = cts": Change({"mac.window_reset": "cts"}),
        "radio.basic_rate = 2M": Change({"radio.basic_rate": "2M"}),
        "radio.preamble = short": Change({"radio.preamble": "short"}),
        "mac.arp = oracle": Change({"mac.arp": "oracle"}),
        "mac.arp = queueing": Change({"mac.arp": "queueing"}),
        "radio.capture_db = 5": Change({"radio.capture_db": 5.0}),
        "radio.capture_db = 15": Change({"radio.capture_db": 15.0}),
    },
)
UU = Range(
    "constants of AODV-UU",
    "options of its command line and constants of its source; the text says that settings are those of section 4",
    {
        "routing.hello_jitter = 0.1": Change({"routing.hello_jitter": 0.1}),
        "routing.neighbour_life = 3.05": Change({"routing.neighbour_life": 3.05}),
        "routing.link_failure = mac": Change({"routing.link_failure": "mac"}),
    },
)
RULES = (
    *PROTOTYPE,
    of_tpa("whether later ACKs mark a segment as lost", "the text has timeouts alone", "loss_by_txseq", [1]),
    Range(
        "both rules of the end of a block",
        "the text has neither",
        {"TPA's ack_block_end and rto_covers_hold": Change(tpa={"ack_block_end": True, "rto_covers_hold": True})},
    ),
)
NS2_TCP = (
    of_tcp("ns-2's minimum timeout of TCP", "1 s before ns-2.28, 0.2 s after it", "rto_min", [0.2, 1.0]),
    of_tcp("ns-2's first window", "windowInit_ of 1 and 2 in scripts of the time", "initial_window", [1, 2]),
)
ORDER = tpa_cross.ordered(tpa_cross.printed_goodput())
PAIRS = [versus(f"{more} delivers more than {less}", "goodput", more, less) for more, less in pairwise(ORDER)]
IN_ORDER = Target(
    replace(PAIRS[0], text=tpa_cross.in_order_text(tpa_cross.ORDER)),
    ((tpa_cross.BOTH.id, tpa_cross.in_order_text(tpa_cross.ORDER_WITH_BOTH)),),
    tuple(PAIRS[1:]),
)
BOTH_RULES = {"ack_block_end": True, "rto_covers_hold": True}


def with_both_rules(*ranges: Range) -> Range:
    """The values of some ranges, each together with both rules of the end of a block."""
    values = {name: change for one in ranges for name, change in one.values.items()}
    named = {f"both rules, {name}": replace(change, tpa={**change.tpa, **BOTH_RULES}) for name, change in values.items()}
    return Range("both rules together with another setting", "as for each of them", named)


CROSS = search(
    tpa_cross.CROSS,
    (*RULES, NS2_MAC, *NS2_TCP, with_both_rules(NS2_MAC, UU, *NS2_TCP)),
    [IN_ORDER],
    keep={"transport": [*tpa.TCPS, *tpa.TPAS]},
    seeds=1,
    confirm=24,
)
PARALLEL = search(
    tpa_simulation.PARALLEL,
    (*RULES, NS2_MAC, UU, *NS2_TCP),
    of(tpa_simulation.PARALLEL, "fairer over 2 s"),
    keep={"transport": [*tpa.TCPS, *tpa.TPAS]},
    seeds=1,
    confirm=16,
    settings={"duration": 270.0},
)
PACERS = (
    of_tpa(
        "which round trips the pacer of TPA sees",
        "the text says that TPA's are more accurate, not what they contain",
        "hold_in",
        ["both", "neither"],
    ),
    of_tpa("K of Equation 3 in Tables 5 to 14", "the text has K = 1 to 3", "pacing_k", [2, 3]),
    of_tpa("whether K scales the mean", "the equation has it unscaled, its sentence scaled", "pacing_k_mean", ["scaled"]),
    of_tpa("the variation that paces", "TCP-AP's text has the standard deviation, and names the mean absolute deviation", "cov", ["std"]),
    Range(
        "both: held ACKs in the pacer's round trips, and K",
        "as above",
        {"TPA's hold_in = both, pacing_k = 2 of scaled mean": Change(tpa={"hold_in": "both", "pacing_k": 2, "pacing_k_mean": "scaled"})},
    ),
)
GRID_AP = search(
    tpa_simulation.GRID_AP,
    PACERS,
    of(tpa_simulation.GRID_AP, "fair over 2 s", "retransmits"),
    keep={"sense": [550.0], "transport": tpa_simulation.PACED},
    seeds=1,
    confirm=4,
    settings={"duration": 220.0},
)

# TCP-AP: ns-2 of 2005.
WINDOWS = of_tcp("the largest window of TCP", "ns-2's default is 20; scripts of the time have 8 to 64", "window_max", [8, 16, 20, 32])
TCP_OF_2005 = Range(
    "constants of ns-2's TCP",
    "the minimum timeout became 0.2 s in ns-2.28, ticks 0.01 s; versions of 2002 to 2007",
    {
        "TCP's rto_min = 0.2": Change(tcp={"rto_min": 0.2}),
        "TCP's tick = 0.1": Change(tcp={"tick": 0.1}),
        "TCP's limited_transmit = false": Change(tcp={"limited_transmit": False}),
        "TCP's initial_window = 1": Change(tcp={"initial_window": 1}),
    },
)
AODV_OF_2005 = Range(
    "which AODV, and how it finds broken links",
    "ns-2's own agent or AODV-UU; its text is RFC 3561 (reference 16), which leaves link sensing and repair open",
    {
        "AODV's local_repair = off": Change({"routing.local_repair": "off"}),
        "AODV's local_repair = rfc": Change({"routing.local_repair": "rfc"}),
        "AODV's link_failure = hello": Change({"routing.link_failure": "hello"}),
        "AODV-UU, MAC": Change({"routing.preset": "uu"}),
        "AODV-UU, HELLO": Change({"routing.preset": "uu", "routing.link_failure": "hello"}),
    },
)
OF_2005 = (WINDOWS, TCP_OF_2005, AODV_OF_2005, NS2_MAC)
AP_PARALLEL = search(
    tcp_ap_flows.PARALLEL,
    (AODV_OF_2005, NS2_MAC),
    by_means(of(tcp_ap_flows.PARALLEL, "by a quarter")),
    keep={"transport": ["newreno", "tcp-ap"]},
    seeds=1,
    confirm=4,
    settings={"duration": 660.0},
)
AP_ASYMMETRIC = search(
    tcp_ap_flows.ASYMMETRIC,
    OF_2005,
    of(tcp_ap_flows.ASYMMETRIC, "NewReno delivers more"),
    keep={"transport": ["newreno", "tcp-ap"]},
    seeds=1,
    confirm=1,
)
AP_GRID = search(
    tcp_ap_flows.GRID,
    (AODV_OF_2005, NS2_MAC),
    by_means(of(tcp_ap_flows.GRID, "by half")),
    keep={"sense": [550.0], "layout": ["grid"], "transport": ["newreno", "tcp-ap"]},
    seeds=1,
    confirm=4,
    settings={"duration": 440.0},
)
AP_RESPONSE = search(
    tcp_ap.RESPONSE, OF_2005, of(tcp_ap.RESPONSE, "as with NewReno"), keep={"transport": ["newreno", "tcp-ap"]}, seeds=10, confirm=60
)


def endless(cell: Values) -> Settings:
    """Files without end instead of files that follow each other at once."""
    pause, transport = cell
    return {} if pause else {"flow": [{"transport": {"kind": transport}}] * 2}


ENDLESS = Range(
    "what zero pause times are",
    "section 5.2.1: the goodput 'corresponds to the results for continuous FTP flows'; on the page files follow each other at once",
    {"app = ftp where the pause is 0": Change(endless)},
)
AP_ONOFF = search(
    tcp_ap_flows.ONOFF,
    (ENDLESS, WINDOWS, TCP_OF_2005, AODV_OF_2005),
    of(tcp_ap_flows.ONOFF, "NewReno's goodput stays"),
    keep={"pause": [0.0, 1.0], "transport": ["newreno"]},
    seeds=2,
    confirm=30,
)


def placed(number: int, _: Values) -> Settings:
    """One placement with its pairs, whatever the seed."""
    return tcp_ap_random.placement(number)


PLACEMENTS = 24
ONE_PLACEMENT = Range(
    "the one placement that the paper has, with its pairs",
    "uniform in the area; pairs as the text describes them: FTP 4 over two hops, the others over more; 24 draws",
    {f"placement {n}": Change(partial(placed, n)) for n in range(1001, 1001 + PLACEMENTS)},
)
DESCRIBED = {"pairs": [tcp_ap_random.DESCRIBED]}
AP_RANDOM = search(
    tcp_ap_random.RANDOM,
    (ONE_PLACEMENT, WINDOWS),
    of(tcp_ap_random.RANDOM),
    keep={**DESCRIBED, "transport": ["newreno", "tcp-ap"]},
    seeds=1,
    confirm=5,
    settings={"duration": 100.0},
)
AP_ONOFF_RANDOM = search(
    tcp_ap_random.ONOFF_RANDOM,
    (ONE_PLACEMENT, WINDOWS),
    of(tcp_ap_random.ONOFF_RANDOM, "91%", "58%"),
    keep=DESCRIBED,
    seeds=1,
    confirm=5,
    settings={"duration": 100.0},
)

TIMER = "RFC 1122 allows up to 0.5 s; ns-2's receivers have 0.1 s"
AP_CHAIN = search(
    tcp_ap.CHAIN,
    (of_tcp("the receiver's timer for dynamic ACKs", TIMER, "ack_delay", [0.05, 0.2, 0.3, 0.5]),),
    of(tcp_ap.CHAIN, tcp_ap.DELAYED_GAIN),
    keep={"hops": [4, 8, 14, 20], "transport": ["tcp-ap", "tcp-ap+dyn"]},
    seeds=1,
    confirm=1,
    settings={"duration": 660.0},
)


def limited(rounded: Callable[[float], int], cell: Values) -> Settings:
    """NewReno with a quarter of the hops as its window, rounded otherwise."""
    hops, transport = cell
    return {"flow.0.transport": {"kind": "newreno", "window_max": max(1, rounded(hops / 4))}} if transport == "tcp-cwl" else {}


def by_authors(cell: Values) -> Settings:
    """The pacing of the authors' implementation instead of the text's."""
    return {"flow.0.transport.rules": "authors"} if cell[-1].startswith("tcp-ap") else {}


ORACLE_RULES = (
    Range(
        "how a quarter of the hops becomes a window",
        "the text has h/4, a window of one at four hops and less than four up to ten; it is rounded up at halves on the page",
        {"window = floor(h/4)": Change(partial(limited, math.floor)), "window = ceil(h/4)": Change(partial(limited, math.ceil))},
    ),
    Range(
        "which rules of pacing TCP-AP follows with synchronised clocks",
        "those of the text, or of its authors' program; the text does not say what else the program changed",
        {"rules = authors": Change(by_authors)},
    ),
)
AP_ORACLE = search(
    tcp_ap.ORACLE,
    (of_tcp("the receiver's timer for dynamic ACKs", TIMER, "ack_delay", [0.2, 0.3, 0.5]),),
    of(tcp_ap.ORACLE, tcp_ap.NEAR_UDP),
    keep={"hops": [4, 8, 14, 20], "transport": ["udp", "tcp-ap-sync+dyn"]},
    seeds=1,
    confirm=1,
    settings={"duration": 110.0},
)
AP_LIMIT = replace(
    search(
        tcp_ap.ORACLE,
        (*ORACLE_RULES, AODV_OF_2005, NS2_MAC),
        of(tcp_ap.ORACLE, "optimal limit"),
        keep={"hops": [8, 14, 20], "transport": ["tcp-cwl", "tcp-ap-sync"]},
        seeds=1,
        confirm=20,
        settings={"duration": 110.0},
    ),
    id="search-ap-chain-limit",
)

# ELFN: ns of 1998.
FIGURE_1 = [
    Claim(f"{hops} hops: throughput within 5% of Figure 1", "acked", {"hops": hops, "EIFS": "on"}, near=0.05) for hops in range(3, 7)
]
NS_OF_1998 = (
    over(
        "the distance of the chain's nodes",
        "only adjacent nodes hear each other (3): more than half of the range of 250 m, at most all of it",
        "topology.spacing",
        [130.0, 150.0, 165.0, 180.0, 190.0, 210.0, 230.0, 245.0],
    ),
    over(
        "the sense range of the radio of 1998",
        "ns-2's threshold is 550 m; the text has three links of a chain idle beside an active one, which needs two to three hops of 200 m",
        "radio.sense_range",
        [410.0, 450.0, 500.0, 610.0],
    ),
    over("the capture ratio", "802.11 receivers, 5 to 15 dB", "radio.capture_db", [5.0, 15.0]),
    over("the control rate", "ns-2 has 1 or 2 Mb/s", "radio.basic_rate", ["1M"]),
    over("frame sizes that count", "those of the standard, or of the MAC of 1999", "mac.timing", ["dsss"]),
    over("the second IP header of DSR", "the text has none", "routing.ip_extra", [0]),
    over("retries of a data frame after RTS", "4 in the standard, 7 in some versions", "mac.long_retry", [7]),
    of_tcp("the receiver's timer", "RFC 1122 allows up to 0.5 s; ns has 0.1 s", "ack_delay", [0.2, 0.5]),
)
ELFN_CHAIN = search(
    elfn.CHAIN,
    NS_OF_1998,
    [Target(one) for one in FIGURE_1],
    keep={"hops": [3, 4, 5, 6], "EIFS": ["on"]},
    seeds=4,
    confirm=10,
    flows="0",
    numbers=("acked",),
)

# ADTCP: ns-2 of 2002.
BINS = (
    of_tcp(
        "the bins of the histogram of samples",
        "section 3.2 has ranks in [0, R] without R or the number of bins; multiples of four, from quartiles up",
        "bins",
        [4, 12, 16, 24, 32],
    ),
    of_tcp(
        "how many samples are ranked",
        "section 3.2 has a history without its length; seconds to minutes",
        "samples",
        [20, 50, 200, 500, 1000],
    ),
)
ACCURACY = search(
    adtcp.ACCURACY_RUNS,
    BINS,
    by_means(of(adtcp.ACCURACY_RUNS, "at most 5% are wrong")),
    keep={"streams": ["three"], "speed": [0, 5, 20]},
    seeds=1,
    confirm=6,
    flows="0",
)
NS_OF_2002 = Range(
    "constants of ns-2's DSR, ARP and TCP of 2002",
    "options of the DSR agent and of ARP in ns-2; clocks and timeouts of its TCP; the text states none",
    {
        "mac.arp = queueing": Change({"mac.arp": "queueing"}),
        "DSR's cache_replies = false": Change({"routing.cache_replies": False}),
        "DSR's salvage = false": Change({"routing.salvage": False}),
        "DSR's snoop = false": Change({"routing.snoop": False}),
        "radio.frame_loss instead of radio.loss": Change({"radio.loss": 0.0, "radio.frame_loss": 0.05}),
        "TCP's tick = 0.5": Change(tcp={"tick": 0.5}),
        "TCP's rto_initial = 6": Change(tcp={"rto_initial": 6.0}),
        "preset = ns2-1999": Change(tcp={"preset": "ns2-1999"}),
    },
)

ONE_PATTERN = over(
    "the mobility pattern of Figure 5",
    "the text has one TCP flow and no number of repetitions; 12 draws of its random waypoints",
    "mobility.pattern",
    list(range(1001, 1013)),
)
THROUGHPUT = search(
    adtcp.THROUGHPUT,
    (ONE_PATTERN, NS_OF_2002),
    of(adtcp.THROUGHPUT, "100% more"),
    keep={"speed": [5, 20], "transport": ["newreno", "adtcp"]},
    seeds=1,
    confirm=4,
    flows="0",
    settings={"duration": 150.0},
)

# APDR: OPNET.
OPNET_RADIO = Range(
    "the radio and MAC of OPNET's model",
    "the model is that of reference 13, which the report does not describe; sense ranges from the decode range to the whole area, control rates of 802.11b, "
    "and the readings of 10% of errors",
    {
        "radio.sense_range = 250": Change({"radio.sense_range": 250.0}),
        "radio.sense_range = 800": Change({"radio.sense_range": 800.0}),
        "radio.sense_range = 1500": Change({"radio.sense_range": 1500.0}),
        "radio.basic_rate = 11M": Change({"radio.basic_rate": "11M"}),
        "radio.basic_rate = 11M, sense_range = 1500": Change({"radio.basic_rate": "11M", "radio.sense_range": 1500.0}),
        "radio.loss = 0.1 instead of frame_loss": Change({"radio.loss": 0.1, "radio.frame_loss": 0.0}),
        "radio.loss = 0.1, sense_range = 1500": Change({"radio.loss": 0.1, "radio.frame_loss": 0.0, "radio.sense_range": 1500.0}),
        "mac.short_retry = 100": Change({"mac.short_retry": 100}),
        "mac.short_retry = 100, sense_range = 1500": Change({"mac.short_retry": 100, "radio.sense_range": 1500.0}),
    },
)
TRANSFERS = Range(
    "TCP's window and the pause between transfers",
    "a buffer of 50 segments; 'concurrently there always exist 10' transfers against pauses of two MSL",
    {
        "traffic.transport.window_max = 8": Change({"traffic.transport.window_max": 8}),
        "traffic.transport.window_max = 22": Change({"traffic.transport.window_max": 22}),
        "traffic.restart = 0.1": Change({"traffic.restart": 0.1}),
    },
)
STATIC = search(
    apdr.STATIC,
    (OPNET_RADIO, TRANSFERS),
    of(apdr.STATIC),
    keep={"nodes": [30, 50]},
    seeds=1,
    confirm=8,
    settings={"duration": 150.0},
)
RESERVED_GAIN = search(
    apdr_settings.RESERVED,
    (OPNET_RADIO, TRANSFERS),
    of(apdr_settings.RESERVED, "round trips", "reorder less", "frames collide"),
    keep=apdr_settings.ALONE,
    seeds=2,
    confirm=8,
    settings={"duration": 200.0},
)
TABLE_1 = [
    Claim(
        f"weight {weight}: segments out of order within 30% of Table 1", "reordered", {"window": apdr.WINDOW, "weight": weight}, near=0.30
    )
    for weight in (0.2, 0.8)
]
OSCILLATION = search(
    apdr.OSCILLATION,
    (
        OPNET_RADIO,
        Range(
            "what HELLOs measure, and how often",
            "the report estimates delays by HELLOs with the default interval, in a queue or before it",
            {
                "APDR's hellos_wait = false": Change({"routing.hellos_wait": False}),
                "APDR's clocks = echoed": Change({"routing.clocks": "echoed"}),
                "OLSR's max_jitter = 0": Change({"routing.max_jitter": 0.0}),
            },
        ),
        of_tcp("TCP's window", "a buffer of 50 segments, of a node or of TCP; 8 is a usual one of OPNET's", "window_max", [8, 22, 50, 100]),
        over(
            "packets in the interface queue", "the buffer of 50 segments may be TCP's; cards have up to 1000", "mac.queue", [25, 200, 1000]
        ),
        of_tcp("ACKs of OPNET's TCP", "delayed ACKs of every second segment are its default", "kind", ["newreno+da"]),
    ),
    [Target(one) for one in TABLE_1],
    keep={"window": [apdr.WINDOW], "weight": [0.2, 0.8]},
    seeds=1,
    confirm=1,
    flows="0",
    numbers=("reordered",),
)

EXPERIMENTS: tuple[Experiment, ...] = (
    AODV_CHAIN,
    OLSR_CHAIN,
    RATES,
    CROSS_TESTBED,
    ROAMING,
    CROSS,
    PARALLEL,
    GRID_AP,
    AP_RESPONSE,
    AP_CHAIN,
    AP_ORACLE,
    AP_LIMIT,
    AP_PARALLEL,
    AP_ASYMMETRIC,
    AP_GRID,
    AP_ONOFF,
    AP_RANDOM,
    AP_ONOFF_RANDOM,
    ELFN_CHAIN,
    ACCURACY,
    THROUGHPUT,
    OSCILLATION,
    STATIC,
    RESERVED_GAIN,
)
