"""Make docs/validation again: `python tools/validate [STUDY...] [--out DIR]`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import adtcp
import apdr
import apdr_long
import apdr_networks
import bianchi
import chain
import elfn
import mobile
import one_hop
import pacing
import pacing_options
import placements
import stationarity
import tpa_cross
from study import Study

STUDIES = {
    "one-hop": one_hop.study,
    "bianchi": bianchi.study,
    "chain": chain.study,
    "stationarity": stationarity.study,
    "placements": placements.study,
    "mobile": mobile.study,
    "tpa-cross": tpa_cross.study,
    "elfn": elfn.study,
    "pacing": pacing.study,
    "pacing-options": pacing_options.study,
    "adtcp": adtcp.study,
    "apdr": apdr.study,
    "apdr-networks": apdr_networks.study,
    "apdr-long": apdr_long.study,
}
OUT = Path(__file__).resolve().parents[2] / "docs" / "validation"


def main() -> int:
    """Run the named studies, or all; 1 if a verdict is against the simulator."""
    parser = argparse.ArgumentParser(prog="tools/validate", description=__doc__)
    parser.add_argument(
        "study", nargs="*", metavar="STUDY", help=f"{', '.join(STUDIES)}; all when none is named"
    )
    parser.add_argument("--out", type=Path, default=OUT, help="directory to write")
    options = parser.parse_args()
    unknown = [name for name in options.study if name not in STUDIES]
    if unknown:
        parser.error(f"unknown study {unknown[0]}; allowed: {', '.join(STUDIES)}")
    held = True
    for name in options.study or STUDIES:
        start = time.monotonic()
        study: Study = STUDIES[name]()
        page = study.write(name, options.out)
        held &= study.held
        print(f"{page}: {study.summary()}, {time.monotonic() - start:.1f} s", flush=True)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
