"""The Gymnasium environment, and the controls that decide once in a step."""

import gc
import signal
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import multihop
from multihop.steps import OBSERVED, Array, Stepwise

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from multihop.gym import ID, CongestionEnv  # noqa: E402


def scenario(transport: str = "agent", seed: int = 3, hops: int = 3) -> dict[str, Any]:
    return {
        "seed": seed,
        "duration": 8.0,
        "warmup": 1.0,
        "topology": {"kind": "chain", "hops": hops},
        "flow": [{"transport": transport}],
    }


def decide(observation: Array) -> list[float]:
    """Towards a window of 4 segments, paced."""
    return [0.5 if observation[0] < 4 else -0.5, 0.1]


def episode(env: CongestionEnv, **options: Any) -> tuple[list[Array], list[float]]:
    observation, _ = env.reset(**options)
    seen, rewards, is_over = [observation], [], False
    while not is_over:
        observation, reward, _, is_over, _ = env.step(np.array(decide(observation), dtype=np.float32))
        seen.append(observation)
        rewards.append(reward)
    return seen, rewards


@pytest.mark.parametrize("step", [{}, {"acks": 3}, {"interval": 0.25}])
def test_the_checker_of_gymnasium_accepts_the_environment(step: dict[str, Any]) -> None:
    check_env(gymnasium.make(ID, scenario=scenario(), **step).unwrapped)


def test_a_seed_gives_the_same_episode() -> None:
    first, second = (episode(CongestionEnv(), seed=7) for _ in range(2))
    other = episode(CongestionEnv(), seed=8)
    np.testing.assert_array_equal(first[0], second[0])
    assert first[1] == second[1] != other[1]


def test_steps_of_an_interval_end_at_its_multiples() -> None:
    env = CongestionEnv(scenario(), interval=0.5)
    env.reset(seed=1)
    times = [env.step(np.zeros(2, dtype=np.float32))[4]["time"] for _ in range(15)]
    assert times == pytest.approx([0.5 * n for n in range(2, 17)])


def test_a_policy_has_the_same_goodput_in_the_environment_and_as_a_controller() -> None:
    class Policy(Stepwise):
        ends: list[float] = []  # noqa: RUF012

        def decide(self, observation: Array) -> list[float]:
            self.ends.append(self.acknowledged)
            return decide(observation)

    _, rewards = episode(CongestionEnv(scenario()), seed=1)
    multihop.run(scenario("policy"), controllers={"policy": Policy})
    assert sum(rewards[:-1]) == pytest.approx(Policy.ends[-1] - Policy.ends[0])


def test_observations_are_in_their_units() -> None:
    seen, _ = episode(CongestionEnv(scenario(hops=1), interval=1.0), seed=1)
    names = [name for name, _, _ in OBSERVED]
    last = dict(zip(names, seen[-2], strict=True))
    assert 2 <= last["window"] <= 8
    assert 0.001 < last["shortest"] <= last["round_trip"] < 1.0
    assert 20 < last["rate"] < 500
    assert last["time"] == pytest.approx(1.0)


def test_environments_run_side_by_side() -> None:
    envs = gymnasium.make_vec(ID, num_envs=2, vectorization_mode="sync", scenario=scenario())
    observations, _ = envs.reset(seed=[1, 2])
    assert observations.shape == (2, len(OBSERVED))
    for _ in range(5):
        observations, rewards, *_ = envs.step(np.zeros((2, 2), dtype=np.float32))
    assert rewards.shape == (2,)
    envs.close()


def test_an_error_of_the_scenario_is_raised_by_reset() -> None:
    with pytest.raises(multihop.ScenarioError, match="hop"):
        CongestionEnv({**scenario(), "topology": {"kind": "chain", "hop": 1}}).reset()


def test_an_environment_that_nobody_has_is_freed() -> None:
    env = CongestionEnv(scenario())
    env.reset(seed=1)
    env.step(np.zeros(2, dtype=np.float32))
    reference = weakref.ref(env)
    del env
    gc.collect()
    assert reference() is None


def test_environments_one_after_the_other_share_a_class() -> None:
    first = CongestionEnv(scenario())
    agent = first.controllers[0][2]
    beside = CongestionEnv(scenario())
    assert beside.controllers[0][2] is not agent
    del first
    gc.collect()
    assert CongestionEnv(scenario(), acks=3).controllers[0][2] is agent
    assert agent.acks == 3


def test_a_signal_ends_a_step() -> None:
    env = CongestionEnv({**scenario(), "duration": 1e6}, interval=0.1)
    env.reset(seed=1)
    simulation = env.simulation
    assert simulation is not None

    def interrupted() -> None:
        threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
        simulation.advance(1e6)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert simulation.advance(1.0) < 1e6


def test_a_closed_environment_needs_a_reset() -> None:
    env = CongestionEnv(scenario())
    env.reset(seed=1)
    env.close()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(2, dtype=np.float32))
    env.reset(seed=1)


def test_a_step_needs_a_reset() -> None:
    with pytest.raises(gymnasium.error.ResetNeeded):
        CongestionEnv(scenario()).step(np.zeros(2, dtype=np.float32))
