"""Chain capacity: what 1 to 10 hops carry."""

from __future__ import annotations

from multihop import report
from multihop_papers.airtime import Radio
from multihop_papers.declare import GOODPUT, Axis, Claim, Effort, axis
from multihop_papers.reasons import not_in_ns2
from multihop_papers.sentences import extremes
from multihop_papers.study import Study
from multihop_papers.validation.part import Page
from multihop_papers.verdicts import worst

HOPS = range(1, 11)
PAYLOAD = 1460
LIMIT = 0.03
CAPACITY = Radio().udp_kbps(PAYLOAD, rts=True)
SENDERS = {
    "greedy UDP": {"app": "cbr", "rate_kbps": 2000.0, "size": PAYLOAD},
    "UDP at the best rate": {"app": "paced", "transport": "udp"},
    "NewReno": {"app": "ftp", "transport": "newreno"},
    "NewReno, delayed ACKs": {"app": "ftp", "transport": "newreno+da"},
}
LOOKS = dict(zip(SENDERS, ("udp", "paced", "newreno", "newreno+da"), strict=True))
# kb/s at 1 to 10 hops, by an independent prototype of the same rules.
PROTOTYPE = {
    "greedy UDP": (1537, 767, 518, 367, 232, 238, 235, 229, 238, 235),
    "UDP at the best rate": (1537, 768, 520, 380, 380, 378, 365, 365, 365, 365),
}
DIFFERENCE = (
    "At 3 and 5 hops the difference lies in what happens at equal instants. The station that sent an ACK begins its DIFS at the end of "
    "its ACK; the others begin when they have heard it, a propagation delay later. If two of them then wait the same number of slots, "
    "the frame of the first arrives at the second exactly when its backoff ends. Here the timer comes first, so both send and both "
    "frames are lost, as in one slot of 802.11. Two time lines to the nanosecond are tests: "
    "`equal_backoffs_after_an_ack_lose_both_frames` and "
    "`after_the_last_hop_the_source_may_send_314_us_before_the_relay` (`cargo test -p multihop-sim --test it chain`). From 6 hops on "
    "this explains only a part. ns-2 itself agrees with the flavour at all lengths, see validation-ns2-chain."
)


def theory(study: Study) -> None:
    """Compare with what hops that share the air can carry."""
    means = {cell: found.mean / CAPACITY for cell in study.accepted() if (found := study.mean("goodput", cell))}
    shared = {f"{h} hops": means["greedy UDP", h] * h - 1 for h in (1, 2, 3)}
    study.found.append(worst("Up to three hops a greedy source carries C/h", shared, LIMIT))
    for sender, text, first, low, high in (
        ("UDP at the best rate", "From four hops the best rate lies between C/5 and C/4", 4, 1 / 5, 1 / 4 * (1 + LIMIT)),
        ("greedy UDP", "From five hops a greedy source carries about C/7: between C/8 and C/6", 5, 1 / 8, 1 / 6),
    ):
        shares = [means[sender, h] for h in HOPS if h >= first]
        why = f"found C/{1 / min(shares):.2f} to C/{1 / max(shares):.2f}"
        study.verdict(text, low <= min(shares) and max(shares) <= high, why)
    study.text(f"C, the arithmetic of one hop, is {CAPACITY:.0f} kb/s; C/4 is {CAPACITY / 4:.0f} and C/7 {CAPACITY / 7:.0f} kb/s.")
    draw(study)


def draw(study: Study) -> None:
    """Draw goodput over the hops, with the theory and the prototype."""
    figure, axes = report.new_figure("hops", "goodput, kb/s")
    for limit, line in ((4, "--"), (7, ":")):
        shares = [CAPACITY / min(h, limit) for h in HOPS]
        report.reference(axes, HOPS, shares, f"C / min(h, {limit})", line)
    for sender, look in LOOKS.items():
        means = [found for h in HOPS if (found := study.mean("goodput", (sender, h)))]
        report.curve(axes, HOPS, means, look, sender)
    for (sender, values), marker in zip(PROTOTYPE.items(), "+x", strict=True):
        label = f"prototype, {sender}"
        axes.plot(HOPS, values, linestyle="", marker=marker, color="0.45", zorder=3, label=label)
    axes.set_ylim(bottom=0)
    axes.set_xticks(list(HOPS))
    axes.legend(fontsize=8)
    last = {sender: found for sender in LOOKS if (found := study.mean("goodput", (sender, HOPS[-1])))}
    finding = extremes("goodput, kb/s", last, f"Over {HOPS[-1]} hops")
    study.figure(figure, "Goodput of one flow over a chain, with 95% intervals.", finding)


CHAIN = Page("chain", "J. Li, C. Blake, D. De Couto, H. Lee, R. Morris, Capacity of Ad Hoc Wireless Networks, MobiCom 2001").experiment(
    "chain",
    "capacity of a chain",
    "How much do several hops carry? "
    "Stations that hear each other share the air: h hops deliver C/h up to three hops. From four hops on, a source that "
    "limits its rate delivers C/4, and greedy sources approach C/7. "
    "Chain of h hops, 200 m each; 2 Mb/s data, "
    f"1 Mb/s basic rate, long preamble, ns2 flavour, RTS/CTS before every data frame. Static routes and known addresses; {PAYLOAD} "
    "bytes of payload. 150 s simulated, the first 30 s not counted.",
    Effort(5),
    scenario={
        "duration": 150.0,
        "warmup": 30.0,
        "mac": {"rts_threshold": 0, "arp": "oracle"},
        "topology": {"kind": "chain", "spacing": 200.0},
        "routing": {"protocol": "static"},
    },
    axes=[Axis("sender", {name: {"flow": [flow]} for name, flow in SENDERS.items()}), axis("hops", "topology.hops", list(HOPS), "hops")],
    metrics=(GOODPUT,),
    reference="the prototype",
    published={"goodput": {(s, h): float(v) for s, t in PROTOTYPE.items() for h, v in enumerate(t, 1)}},
    claims=[
        Claim(
            "Greedy UDP agrees with an independent prototype of the same rules",
            "goodput",
            {"sender": "greedy UDP"},
            near=LIMIT,
            reason=not_in_ns2(DIFFERENCE, "validation-ns2-chain"),
        ),
        Claim(
            "UDP at the best rate agrees with an independent prototype of the same rules",
            "goodput",
            {"sender": "UDP at the best rate"},
            near=LIMIT,
        ),
    ],
    more=theory,
)
EXPERIMENTS = (CHAIN,)
