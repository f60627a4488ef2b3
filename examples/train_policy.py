"""Train a congestion control over chains with Gymnasium, and compare it with NewReno on other chains.

    pip install 'multihop[gym]'
    python examples/train_policy.py [--generations 12] [--out policy.json]

The policy is linear: each action is the hyperbolic tangent of a weighted sum of seven features. The
cross-entropy method draws weights, keeps the best, and draws again around them. Chains of 1, 2, 4, 6 and 8
hops train the policy; 3, 5, 7 and 10 hops with other seeds judge it once.
"""

import argparse
import json
import math
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import gymnasium
import numpy as np

import multihop
import multihop.gym
from multihop.stats import interval
from multihop.steps import Stepwise

TRAINING, HELD_OUT = (1, 2, 4, 6, 8), (3, 5, 7, 10)
FIRST_HELD_OUT_SEED, HELD_OUT_SEEDS = 1_000_001, 10
POPULATION, ELITE, FEATURES = 24, 6, 7
JOBS = 2


def features(observation):
    """The features of an observation, each of about the size 1."""
    window, rate, round_trip, shortest, _, losses, timeouts, _ = (float(value) for value in observation)
    return np.array(
        [
            1.0,
            math.log2(max(window, 1.0)) / 4,
            math.log2(max(round_trip, 1e-4) / max(shortest, 1e-4)),
            math.log2(max(shortest, 1e-4) / 0.01) / 4,
            math.log2(max(rate, 1.0)) / 8,
            min(losses, 1.0),
            min(timeouts, 1.0),
        ]
    )


def act(weights, observation):
    """The action of a policy."""
    return np.tanh(np.asarray(weights).reshape(2, FEATURES) @ features(observation))


def scenario(hops, seed, transport="agent"):
    """One flow over a chain for 30 s."""
    return {
        "seed": seed,
        "duration": 30.0,
        "warmup": 3.0,
        "topology": {"kind": "chain", "hops": hops},
        "mac": {"arp": "queueing"},
        "flow": [{"transport": transport}],
    }


def episode(job):
    """Data that a policy delivers in one chain, Mb, and the CPU time of the episode, s."""
    begin = time.process_time()
    weights, hops, seed = job
    env = gymnasium.make(multihop.gym.ID, disable_env_checker=True)
    observation, _ = env.reset(options={"scenario": scenario(hops, seed)})
    total, is_over = 0.0, False
    while not is_over:
        observation, reward, _, is_over, _ = env.step(act(weights, observation).astype(np.float32))
        total += reward
    return total, time.process_time() - begin


def train(pool, generations):
    """Weights after so many generations."""
    rng = np.random.default_rng(1)
    mean, spread = np.zeros(2 * FEATURES), np.full(2 * FEATURES, 0.7)
    seconds = 0.0
    for generation in range(1, generations + 1):
        drawn = mean + spread * rng.standard_normal((POPULATION, 2 * FEATURES))
        chains = [(hops, int(rng.integers(1, 1_000_000))) for hops in TRAINING]
        jobs = [(weights, hops, seed) for weights in drawn for hops, seed in chains]
        data, times = zip(*pool.map(episode, jobs, chunksize=4), strict=True)
        seconds += sum(times)
        score = np.log(np.maximum(data, 1e-3)).reshape(POPULATION, len(chains)).mean(axis=1)
        best = drawn[np.argsort(score)[-ELITE:]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.02
        shown = f"{np.exp(score.mean()):.2f} Mb, best {np.exp(score.max()):.2f} Mb"
        print(f"generation {generation}: {shown}, {seconds / 60:.1f} CPU minutes", flush=True)
    return mean


def controller(weights):
    """The trained policy as a congestion control for `multihop.run`."""

    class Trained(Stepwise):
        version = "1"

        def decide(self, observation):
            return act(weights, observation)

    return Trained


def judge(weights):
    """Print the goodput relative to NewReno's on chains that the training has not seen."""
    controllers = {"trained": controller(weights)}
    logarithms = []
    for hops in HELD_OUT:
        ratios = []
        for seed in range(FIRST_HELD_OUT_SEED, FIRST_HELD_OUT_SEED + HELD_OUT_SEEDS):
            kbps = [
                multihop.run(scenario(hops, seed, name), controllers=controllers).goodput_kbps
                for name in ("trained", "newreno")
            ]
            ratios.append(kbps[0] / kbps[1])
        logarithms += np.log(ratios).tolist()
        print(f"{hops} hops: {interval(ratios)} of NewReno's goodput")
    found = interval(logarithms)
    low, mean, high = (math.exp(value) for value in (found.low, found.mean, found.high))
    print(f"all: {mean:.3f} of NewReno's goodput, 95% interval {low:.3f} to {high:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train a congestion control over chains.")
    parser.add_argument("--generations", type=int, default=12, help="generations of the training (12)")
    parser.add_argument("--out", type=Path, default=Path("policy.json"), help="file of the weights")
    options = parser.parse_args()
    with ProcessPoolExecutor(JOBS) as pool:
        trained = train(pool, options.generations)
    options.out.write_text(json.dumps(trained.tolist()))
    judge(trained)
