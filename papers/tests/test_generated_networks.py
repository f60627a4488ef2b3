"""Generated networks: each seed is one network that can be run, and the distribution stays fixed."""

import hashlib
import json
from collections import Counter
from dataclasses import asdict
from typing import Any

import pytest

import multihop
from multihop_papers.gauntlet.generated import (
    RADIOS,
    SHAPES,
    TRAINING,
    VALIDATION,
    Network,
    judging_seeds,
    network,
)

FIXED = "a794eae327da5e9778982eb2bcadd92cec4f260594a960a26d6b5f27d53287b4"


def with_transport(drawn: Network, transport: Any) -> dict[str, Any]:
    """The scenario of a network in which the judged flows have this transport."""
    flows = [
        {**flow, "transport": transport} if place in drawn.judged else flow
        for place, flow in enumerate(drawn.scenario["flow"])
    ]
    return {**drawn.scenario, "flow": flows, "seed": drawn.seed}


def test_the_distribution_is_as_it_was_fixed() -> None:
    text = json.dumps([asdict(network(seed)) for seed in range(1001, 1101)], sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest() == FIXED


def test_every_radio_and_every_shape_is_drawn() -> None:
    drawn = [network(seed) for seed in range(1, 201)]
    assert {one.radio for one in drawn} == set(RADIOS)
    assert {one.shape for one in drawn} == set(SHAPES)
    assert all(one.judged for one in drawn)
    assert min(Counter(one.radio for one in drawn).values()) >= 10


@pytest.mark.parametrize("seed", [1001, 2001])
def test_generated_networks_can_be_run(seed: int) -> None:
    for one in range(seed, seed + 40):
        multihop.check(with_transport(network(one), "mesh"))


def test_sets_of_seeds_do_not_overlap() -> None:
    judging = judging_seeds("ffffffff", 200)
    assert len(judging) == 200
    assert not set(TRAINING) & set(VALIDATION)
    assert min(judging_seeds("00000000", 200)) > max(VALIDATION)
