# SPDX-License-Identifier: Apache-2.0
"""Workers of a measurement with several queues: they begin together, check their sums, and one fault is a line.

Blind spot: the agent is a function of this file; ``tests/nic`` has the real one.
"""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from offramp_base.errors import OfframpError
from offramp_sim.nic import scaling
from offramp_sim.nic.scaling import ScalingCase

if TYPE_CHECKING:
    import numpy as np


class Worker:
    """A worker whose exchanges carry 10 packets up and 20 down."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.stats = SimpleNamespace(up=SimpleNamespace(packets=0), down=SimpleNamespace(packets=0))

    def boundary(self, _: int) -> range:
        return range(4)

    def start(self) -> None:
        pass

    def exchange(self, _: int, values: np.ndarray) -> np.ndarray:
        self.stats.up.packets += 10
        self.stats.down.packets += 20
        return values

    def close(self) -> None:
        pass


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a worker does, in its order; its exchanges take a second each."""
    done: list[str] = []
    clock = iter(range(100))
    monkeypatch.setattr(scaling, "NicWorker", Worker)
    monkeypatch.setattr(scaling, "random_job", lambda *_, **__: SimpleNamespace(plans=()))
    monkeypatch.setattr(scaling, "check_sums", lambda *_: done.append("sums"))
    monkeypatch.setattr(scaling.time, "perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(scaling.os, "sched_setaffinity", lambda *_: None)
    return done


def test_a_worker_begins_with_the_others_and_checks_its_sums(steps: list[str]) -> None:
    barrier: Any = SimpleNamespace(wait=lambda _: steps.append("together"))
    results: Any = SimpleNamespace(send=steps.append)
    scaling._work(1, Path("agent"), 3.0, 50, [0], False, barrier, results)
    assert steps == ["together", "together", "sums", 3 * 30 / 3.0]


@pytest.mark.parametrize("fault", ["", "says", "dies"])
def test_rates_are_added_and_a_fault_is_one_line(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    def work(index: int, *rest: Any) -> None:
        result = rest[-1]
        if index and fault:
            if fault == "says":
                result.send("worker 1: no agent")
            return
        result.send(100.0 * (index + 1))

    monkeypatch.setattr(scaling, "_work", work)
    args = (Path("agent"), ScalingCase(2, 1), 0.1, 50, [0], False)
    if not fault:
        assert scaling._run(*args) == 300.0
    else:
        message = "worker 1: no agent" if fault == "says" else f"{ScalingCase(2, 1)}: a worker died"
        with pytest.raises(OfframpError) as raised:
            scaling._run(*args)
        assert str(raised.value) == message
    assert multiprocessing.active_children() == []
