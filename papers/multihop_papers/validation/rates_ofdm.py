"""Rate control over SNR with OFDM: Minstrel over 802.11a, Minstrel-HT over 802.11n."""

from __future__ import annotations

import math
from collections.abc import Sequence

from multihop import report, theme
from multihop_papers.airtime import UDP_IP_BYTES
from multihop_papers.declare import GOODPUT, Axis, Claim, Effort, Plot
from multihop_papers.measures import ratio
from multihop_papers.reasons import Reason
from multihop_papers.study import Experiment, Study
from multihop_papers.validation import phys
from multihop_papers.validation.rates import GREEDY, LINK, LOSS, MAC, PAGE, TYPICAL, best, expectations, near_the_best

NOISE = -93.96  # dBm in 20 MHz
PATIENT = "minstrel, 0.95"
"""Minstrel whose estimates keep 95% of what they were, not 75%."""
WITHIN = 0.95


def over_snr(
    phy: phys.Phy,
    found: str,
    fixed: Sequence[str],
    rules: Sequence[str],
    snr: range,
    *,
    claims: Sequence[Claim],
    doubtful: Sequence[int],
    shown: Sequence[str],
) -> Experiment:
    """One link at any SNR, at each fixed rate and under rules. `doubtful`: where Minstrel is not near the best."""
    rates = {rate.name: rate for rate in phy.rates}
    controls = {
        **{rate: {"radio.rate": rate} for rate in fixed},
        **{rule: {"radio.rate": fixed[-1], "mac.rate_control": rule} for rule in rules},
        PATIENT: {"radio.rate": fixed[-1], "mac.rate_control": {"kind": "minstrel", "weight": 0.95}},
    }

    def explain(study: Study) -> None:
        beside_the_best(study, fixed, [*rules, PATIENT])

        def exchange(rate: str) -> float:
            return phy.exchange(rates[rate], TYPICAL - UDP_IP_BYTES, rts=False)

        expectations(study, fixed, doubtful, exchange, rules=["minstrel", PATIENT])

    return PAGE.experiment(
        f"rates-snr-{phy.name.removeprefix('802.11').partition('-')[0]}",
        f"one link of {phy.name} at any SNR",
        f"{found} One link of 100 m, saturated with datagrams of 1460 bytes; the transmit power sets the SNR, without fading. "
        "Standard flavour without RTS/CTS; 12 s simulated, the first 4 s not counted.",
        Effort(1, {"duration": 8.0}, {"snr": [6, 15]}),
        full=Effort(10),
        scenario={
            **LINK.scenario,
            "duration": 12.0,
            "warmup": 4.0,
            "radio": {**LINK.scenario["radio"], "phy": phy.name, "budget": "ns-2"},
            "mac": MAC,
            "flow": [{**GREEDY, "rate_kbps": 60000.0}],
        },
        axes=[
            Axis("control", controls),
            Axis("snr", {level: {"radio.tx_power_dbm": level + LOSS + NOISE} for level in snr}, "SNR, dB"),
        ],
        metrics=(GOODPUT,),
        claims=claims,
        plots=(
            Plot(
                "line",
                "goodput",
                x="snr",
                by="control",
                at={"control": list(shown)},
                caption=f"Goodput of one link of {phy.name} over its SNR: fixed rates and rules.",
            ),
        ),
        spread="snr",
        more=explain,
    )


def beside_the_best(study: Study, fixed: Sequence[str], rules: Sequence[str]) -> None:
    """A figure of what each rule carries as a share of what the best fixed rate does."""
    snr = study.axes[1]
    figure, axes = report.new_figure(snr.label, "goodput, share of the best fixed rate's")
    levels = list(snr.values)
    least = (math.inf, "", levels[0])
    for rule, look in zip(rules, map(theme.other, range(len(rules))), strict=True):
        shares = [ratio(study, "goodput", (rule, level), (best(study, fixed, level), level)) for level in levels]
        report.curve(axes, levels, shares, rule, look=look)
        least = min([least, *((one.mean, rule, level) for one, level in zip(shares, levels, strict=True))])
    report.reference(axes, [levels[0], levels[-1]], [WITHIN, WITHIN], "95%", "--")
    axes.legend(fontsize=8)
    share, rule, level = least
    study.figure(
        figure,
        "Goodput of each rule beside that of the fixed rate with the highest goodput at this SNR, with 95% intervals.",
        f"The smallest share is {share:.0%}, with {rule} at {level} dB.",
    )


CLEAR = "Minstrel carries at least 95% of the best fixed rate where one rate is clearly the best"
HALF = "Minstrel carries at least 95% of the best fixed rate where the next faster rate delivers about half of its frames"
FEW_SAMPLES = (
    "An interval of 100 ms has 120 to 150 packets. A tenth of them tries the eight rates in turn, so that each rate has one or two samples, whose "
    "share of successes is a quarter of the new estimate. At its true success Minstrel would expect a fifth to a third less of the faster rate. Now "
    "and then the estimate is so wrong that this rate comes first, until its own losses have corrected it. The table shows how many frames that "
    "takes, and how few if estimates keep 95% of what they were."
)
REMEDY = "There, too, it carries at least 95% if its estimates keep 95% of what they were"
CLOSE = "Minstrel carries at least 95% of the best fixed rate where it expects nearly as much of the next faster rate"
NO_MARGIN = (
    "A rate that never fails counts as one that fails a tenth of the time, and Minstrel does not see that failures double the window. It expects 5% "
    "less of 48 Mb/s than of 36, where 48 carries 20% less. With so small a margin noise decides, even if estimates keep 95% of what they were."
)
NOTHING = "Minstrel carries at least 95% of the best fixed rate where every rate loses more than nine tenths of its frames"
USELESS = (
    "Minstrel counts every scheme as useless that succeeds in less than a tenth of the cases. It begins with the slowest one, and comes to MCS 24 by "
    "samples and in the last stage of its retries only. Little is lost: the best fixed scheme carries 2% of what it carries at 4 dB."
)

LEGACY = ("6M", "9M", "12M", "18M", "24M", "36M", "48M", "54M")
A_SNR = range(4, 28)
A_HALF, A_CLOSE = (13, 16), (21,)
A = over_snr(
    phys.A,
    "Does Minstrel find the rate that carries most among the eight of 802.11a?",
    LEGACY,
    ("arf", "aarf", "minstrel"),
    A_SNR,
    claims=(
        near_the_best(CLEAR, [level for level in A_SNR if level not in (*A_HALF, *A_CLOSE)], LEGACY),
        near_the_best(HALF, A_HALF, LEGACY, reason=Reason(FEW_SAMPLES)),
        near_the_best(REMEDY, A_HALF, LEGACY, of=PATIENT),
        near_the_best(CLOSE, A_CLOSE, LEGACY, reason=Reason(NO_MARGIN)),
    ),
    doubtful=(*A_HALF, *A_CLOSE),
    shown=("6M", "12M", "24M", "36M", "54M", "arf", "minstrel"),
)

SCHEMES = tuple(f"MCS{index}" for index in range(24, 32))
N_SNR = range(3, 31)
N_NOTHING = (3,)
N = over_snr(
    phys.N[0],
    "Does Minstrel-HT find the scheme that carries most among the 32 of 802.11n? Streams are separated without loss, so that the best fixed "
    "one always has four.",
    SCHEMES,
    ("minstrel",),
    N_SNR,
    claims=(
        near_the_best(CLEAR, [level for level in N_SNR if level not in N_NOTHING], SCHEMES),
        near_the_best(NOTHING, N_NOTHING, SCHEMES, reason=Reason(USELESS)),
    ),
    doubtful=N_NOTHING,
    shown=("MCS24", "MCS25", "MCS27", "MCS28", "MCS31", "minstrel"),
)
EXPERIMENTS = (A, N)
