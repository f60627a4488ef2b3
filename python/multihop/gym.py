"""A Gymnasium environment in which a congestion control learns: `pip install 'multihop[gym]'`.

>>> import gymnasium, multihop.gym
>>> env = gymnasium.make("multihop/CongestionControl-v0")
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import multihop._core as _core
from multihop.scenario import Request
from multihop.steps import ACKS, ACTIONS, OBSERVED, Array, Stepwise

Scenario = Mapping[str, Any]
Drawn = Callable[[np.random.Generator], Scenario]

AGENT = "agent"
"""Transport of the flows that the environment controls."""
ID = "multihop/CongestionControl-v0"


def chain(rng: np.random.Generator) -> Scenario:
    """One flow over a chain of 1 to 8 hops for 30 s."""
    hops = int(rng.integers(1, 9))
    return {
        "duration": 30.0,
        "topology": {"kind": "chain", "hops": hops},
        "mac": {"arp": "queueing"},
        "flow": [{"transport": AGENT}],
    }


class Agent(Stepwise):
    """The control of an environment's flow, which ends the environment's step with its own.

    Each environment has a class of its own, because the simulator makes controls of a class. The simulator
    keeps classes as long as the process lives: an environment that has ended leaves its class to the next.
    """

    version = "1"
    env: weakref.ref[CongestionEnv]

    def ended(self, _now: float) -> None:
        """End the step of the environment."""
        env = self.env()
        if env is not None and env.simulation is not None:
            env.simulation.pause()

    def _signal(self, now: float) -> None:
        env = self.env()
        if env is not None:
            env.agent = self
        super()._signal(now)


_free: list[type[Agent]] = []
"""Classes of environments that have ended."""


class CongestionEnv(gymnasium.Env[Array, np.ndarray[Any, Any]]):
    """A flow whose window and pacing interval are the actions.

    Observations have the numbers of `multihop.steps.OBSERVED`, actions those of `ACTIONS`. The reward of a
    step is the data acknowledged in it, Mb. An episode is one run of a scenario; it is truncated at the
    scenario's `duration`.

    `scenario` is a mapping, or a function that draws one with the environment's random numbers. The flow with
    the transport "agent" is controlled; others keep theirs. A step ends with `acks` ACKs or a timeout, or
    after `interval` seconds. `reset(options={"scenario": ...})` replaces the scenario of an episode. The
    environment draws the seed of a scenario without `seed`.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: Scenario | Drawn = chain,
        acks: int | None = None,
        interval: float | None = None,
        render_mode: None = None,
    ) -> None:
        if acks is not None and interval is not None:
            raise ValueError("found acks and interval, allowed: one of them")
        if (acks is not None and acks < 1) or (interval is not None and not 0.0 < interval < float("inf")):
            raise ValueError(f"found acks={acks} and interval={interval}, allowed: more than 0")
        self.scenario, self.interval, self.render_mode = scenario, interval, render_mode
        limits = np.array([limit for _, _, limit in OBSERVED], dtype=np.float32)
        self.observation_space = spaces.Box(np.zeros_like(limits), limits)
        self.action_space = spaces.Box(-1.0, 1.0, (len(ACTIONS),))
        self.simulation: _core.Simulation | None = None
        self.agent: Stepwise | None = None
        """The control of the sender, after its first signal."""
        self.now = self.duration = 0.0
        steps = None if interval is not None else acks or ACKS
        agent: type[Agent] = _free.pop() if _free else type("Agent", (Agent,), {})
        agent.acks, agent.env = steps, weakref.ref(self)
        weakref.finalize(self, _free.append, agent)
        self.controllers = ((AGENT, agent.version, agent),)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin a run; the first observation is that of its first step."""
        super().reset(seed=seed)
        given = (options or {}).get("scenario", self.scenario)
        scenario = dict(given(self.np_random) if callable(given) else given)
        scenario.setdefault("seed", int(self.np_random.integers(1, 2**31)))
        self.duration = float(scenario["duration"])
        self.agent, self.now = None, 0.0
        text = json.dumps(scenario)
        self.simulation = _core.Simulation(Request(text, "json", "scenario", [], self.controllers))
        self._advance()
        return self._observed(), {"scenario": json.loads(text)}

    def step(self, action: np.ndarray[Any, Any]) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Simulate a step; the action takes effect with its first ACK or timeout."""
        before = self._acknowledged()
        if self.agent is not None:
            self.agent.pending = [float(value) for value in action]
        self._advance()
        reward = self._acknowledged() - before
        is_over = self.now >= self.duration
        return self._observed(), reward, False, is_over, {"time": self.now}

    def close(self) -> None:
        """End the run and its thread."""
        self.simulation = self.agent = None
        super().close()

    def _advance(self) -> None:
        if self.simulation is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        end = self.duration if self.interval is None else min(self.now + self.interval, self.duration)
        self.now = self.simulation.advance(end)

    def _observed(self) -> Array:
        if self.agent is None:
            return np.zeros(len(OBSERVED), dtype=np.float32)
        return self.agent.observe(self.now)

    def _acknowledged(self) -> float:
        return self.agent.acknowledged if self.agent is not None else 0.0


gymnasium.register(id=ID, entry_point="multihop.gym:CongestionEnv")
