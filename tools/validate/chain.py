"""Chain capacity: what 1 to 10 hops carry.

J. Li, C. Blake, D. De Couto, H. Lee, R. Morris, Capacity of Ad Hoc Wireless Networks, MobiCom 2001.
"""

from __future__ import annotations

from typing import Any

from multihop import report
from multihop.airtime import Radio
from study import Study, greedy, measure, percent

HOPS = range(1, 11)
SEEDS = range(1, 6)
SECONDS = 150.0
WARMUP = 30.0
PAYLOAD = 1460
LIMIT = 0.03

FLOWS = {
    "udp": greedy(2000.0, PAYLOAD),
    "paced": {"app": "paced", "transport": "udp"},
    "newreno": {"app": "ftp", "transport": "newreno"},
    "newreno+da": {"app": "ftp", "transport": "newreno+da"},
}
LABELS = {
    "udp": "greedy UDP",
    "paced": "UDP at the best rate",
    "newreno": "NewReno",
    "newreno+da": "NewReno, delayed ACKs",
}

# kb/s at 1 to 10 hops, by an independent prototype of the same rules.
PROTOTYPE = {
    "udp": (1537, 767, 518, 367, 232, 238, 235, 229, 238, 235),
    "paced": (1537, 768, 520, 380, 380, 378, 365, 365, 365, 365),
}


DIFFERENCE = (
    "### Why greedy UDP lies below the prototype\n\n"
    "At 3 and 5 hops the difference lies in what happens at equal instants. The station that sent "
    "an ACK begins its DIFS at the end of its ACK, the others when they have heard it, a time of "
    "flight later. If two of them then wait the same number of slots, the frame of the first "
    "arrives at the second exactly when its back-off ends. Here the timer comes first, so both "
    "send and both frames are lost, as in one slot of 802.11. Two time lines to the nanosecond "
    "are tests: `two_back_offs_of_one_length_after_an_ack_end_in_two_lost_frames` and "
    "`after_the_last_hop_the_source_may_send_314_us_before_the_relay` (`cargo test -p "
    "multihop-sim --test it chain`).\n\n"
    "From 6 hops on this explains only a part; the rest is open."
)


def study() -> Study:
    """Run every sender over every chain."""
    page = Study(
        "Capacity of a chain",
        "How much do several hops carry? Stations that hear each other share the air: h hops carry C/h "
        "up to three, a source that does not press too hard C/4 from four on, and greedy sources sink "
        "towards C/7.",
        f"Chain of h hops, 200 m each; 2 Mb/s data, 1 Mb/s basic rate, long preamble, ns2 flavour, "
        f"RTS/CTS before every data frame; static routes and known addresses; {PAYLOAD} bytes of payload; "
        f"{SECONDS:g} s simulated, the first {WARMUP:g} s not counted; seeds {SEEDS[0]} to {SEEDS[-1]}; 95% "
        "Student-t intervals.",
    )
    cases = {(name, hops): scenario(name, hops) for name in FLOWS for hops in HOPS}
    found = measure(cases, SEEDS)
    capacity = Radio().udp_kbps(PAYLOAD, rts=True)
    for name, theirs in PROTOTYPE.items():
        errors = {f"{h} hops": found[name, h].mean / theirs[h - 1] - 1 for h in HOPS}
        page.worst(f"{LABELS[name]} agrees with an independent prototype of the same rules", errors, LIMIT)
    shared = {f"{h} hops": found["udp", h].mean / (capacity / h) - 1 for h in (1, 2, 3)}
    page.worst("Up to three hops a greedy source carries C/h", shared, LIMIT)
    paced = {h: found["paced", h].mean / capacity for h in HOPS if h >= 4}
    low, high = min(paced.values()), max(paced.values())
    claim = (
        f"From four hops the best rate lies between C/5 and C/4 (found C/{1 / low:.2f} to C/{1 / high:.2f})"
    )
    page.verdict(claim, low >= 1 / 5 and high <= 1 / 4 * (1 + LIMIT))
    greedy = {h: found["udp", h].mean / capacity for h in HOPS if h >= 5}
    low, high = min(greedy.values()), max(greedy.values())
    claim = f"From five hops a greedy source carries about C/7 (found C/{1 / low:.2f} to C/{1 / high:.2f})"
    page.verdict(claim, low >= 1 / 8 and high <= 1 / 6)
    draw(page, found, capacity)
    page.table(
        ["hops", *LABELS.values(), "C/h", "C/4", "C/7"],
        [
            [str(h), *[str(found[name, h]) for name in FLOWS], *[f"{capacity / n:.0f}" for n in (h, 4, 7)]]
            for h in HOPS
        ],
    )
    page.text("All in kb/s; C is the arithmetic of one hop. Against the prototype:")
    page.table(
        ["hops", *[f"{LABELS[n]}: {what}" for n in PROTOTYPE for what in ("prototype, kb/s", "difference")]],
        [
            [
                str(h),
                *[
                    cell
                    for n, t in PROTOTYPE.items()
                    for cell in (str(t[h - 1]), percent(found[n, h].mean, t[h - 1]))
                ],
            ]
            for h in HOPS
        ],
    )
    page.text(DIFFERENCE)
    return page


def scenario(name: str, hops: int) -> dict[str, Any]:
    """One sender over one chain."""
    return {
        "name": f"chain-{hops}-{name}",
        "duration": SECONDS,
        "warmup": WARMUP,
        "mac": {"rts_threshold": 0, "arp": "oracle"},
        "topology": {"kind": "chain", "hops": hops, "spacing": 200.0},
        "routing": {"protocol": "static"},
        "flow": [FLOWS[name]],
    }


def draw(page: Study, found: dict[Any, Any], capacity: float) -> None:
    """Goodput over the hops, with the theory and the prototype."""
    figure, axes = report.new_figure("hops", "goodput, kb/s")
    for limit, line in ((4, "--"), (7, ":")):
        label = f"C / min(h, {limit})"
        report.reference(axes, HOPS, [capacity / min(h, limit) for h in HOPS], label, line)
    for name in FLOWS:
        report.curve(axes, HOPS, [found[name, h] for h in HOPS], name, LABELS[name])
    for (name, values), marker in zip(PROTOTYPE.items(), "+x", strict=True):
        label = f"prototype, {LABELS[name]}"
        axes.plot(HOPS, values, linestyle="", marker=marker, color="0.45", zorder=3, label=label)
    axes.set_ylim(bottom=0)
    axes.set_xticks(list(HOPS))
    axes.legend(fontsize=8)
    page.figure("chain", figure, "Goodput of one flow over a chain, with 95% intervals")
