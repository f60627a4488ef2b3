"""Compare examples/my_newreno.py, a congestion control in Python, with the built-in NewReno on chains.

.venv/bin/python tools/same_newreno.py [SEEDS]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import multihop
from multihop.controllers import of_file

ROOT = Path(__file__).parents[1]
HOPS = (1, 2, 4, 8)
SECONDS, WARMUP = 100.0, 10.0


def main(seeds: int) -> int:
    """Print a row for each chain and the speed of the controller; 1 if a chain differs by more than 2%."""
    _, example = of_file(ROOT / "examples" / "my_newreno.py")
    acks, worst = 0, 0.0

    class Counted(example):  # type: ignore[misc, valid-type]
        def on_ack(self, now: float, ack: multihop.Ack) -> None:
            nonlocal acks
            acks += 1
            super().on_ack(now, ack)

    def goodput(transport: str, hops: int, seed: int) -> float:
        scenario = {
            "seed": seed,
            "duration": SECONDS,
            "warmup": WARMUP,
            "topology": {"kind": "chain", "hops": hops},
            "flow": [{"transport": transport}],
        }
        result = multihop.run(scenario, controllers={"my-newreno": Counted})
        return float(result.totals["goodput_kbps"])

    print("hops  newreno  example  difference")
    for hops in HOPS:
        built_in = sum(goodput("newreno", hops, seed) for seed in range(1, seeds + 1)) / seeds
        own = sum(goodput("my-newreno", hops, seed) for seed in range(1, seeds + 1)) / seeds
        worst = max(worst, abs(own / built_in - 1))
        print(f"{hops:4} {built_in:8.1f} {own:8.1f} {own / built_in - 1:10.2%}")
    acks, begin = 0, time.perf_counter()
    goodput("my-newreno", 1, 1)
    elapsed = time.perf_counter() - begin
    print(f"one hop: {acks / elapsed:,.0f} ACKs per second, simulation included ({multihop.build_profile()})")
    return int(worst > 0.02)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
