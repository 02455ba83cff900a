# SPDX-License-Identifier: Apache-2.0
"""The calls that DPDK's threads get: ports dealt out, programs of all or of one, and none that outlives its switch.

Blind to DPDK itself, whose library is a list of calls here.
"""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest

from offramp_p4.ports.dpdk.workers import BY_FLOW, Workers

pytestmark = pytest.mark.p4


class Calls:
    """A library that notes what is called."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.running: dict[int, int] = {}

    def check(self, code: int, what: str) -> None:
        assert (code, what) == (0, "cores")

    def program_of(self, number: int, program: Any) -> None:
        pointer = program._obj.context
        self.running[number] = pointer or 0

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            self.calls.append((name, *arguments))
            return 0

        return call

    def named(self, name: str) -> list[tuple[Any, ...]]:
        return [arguments for each, *arguments in self.calls if each == name]  # type: ignore[misc]


class FakeSwitch:
    """What workers see of a switch: its state, and a context for each core."""

    def __init__(self, registers: dict[str, object]) -> None:
        self.registers, self.meters, self.filters, self.tables = registers, {}, {}, {}
        self.program = SimpleNamespace(file="prog.p4")
        self._objects = SimpleNamespace(one_core="")
        self.spreads: list[int] = []
        self.gathered = 0

    def spread(self, count: int, pause: Any, resume: Any) -> Any:
        del pause, resume
        self.spreads.append(count)
        contexts = [SimpleNamespace(pointer=100 + n) for n in range(count)]
        return SimpleNamespace(contexts=contexts, run=1, whole=2)

    def gather_cores(self) -> None:
        self.gathered += 1


def test_ports_are_dealt_out_in_turn() -> None:
    calls = Calls()
    Workers(cast("Any", calls), [4, 5, 9], 2, BY_FLOW)
    assert calls.calls == [
        ("workers", 2, True), ("assign", 0, 4), ("assign", 1, 5), ("assign", 0, 9), ("run_workers",)
    ]  # fmt: skip
    calls = Calls()
    Workers(cast("Any", calls), [7], 1)
    assert calls.calls == [("workers", 1, False), ("assign", 0, 7), ("run_workers",)]


def test_a_program_with_shared_state_runs_on_one_core(caplog: pytest.LogCaptureFixture) -> None:
    calls, shared, free = Calls(), FakeSwitch({"r": None}), FakeSwitch({})
    workers = Workers(cast("Any", calls), [1, 2], 3)
    with caplog.at_level(logging.WARNING):
        workers.run(cast("Any", free), 0)
        assert caplog.messages == []
        assert (free.spreads, calls.running) == ([3], {0: 100, 1: 101, 2: 102})
        workers.run(cast("Any", shared), 0)
    assert caplog.messages == ["prog.p4: its packets share the register r, so that one core of 3 runs it"]
    assert (shared.spreads, free.gathered) == ([1], 1)
    assert calls.named("workers") == [[3, False], [1, False]]
    assert calls.named("end_workers") == [[]]
    assert calls.running == {0: 100, 1: 0, 2: 0}
    assert workers.switch is cast("Any", shared)
    workers.run(cast("Any", free), 0)
    assert (free.spreads, shared.gathered, calls.running) == ([3, 3], 1, {0: 100, 1: 101, 2: 102})
    assert calls.named("workers") == [[3, False], [1, False], [3, False]]
    assert len(calls.named("pause")) == len(calls.named("resume")) == 3


def test_one_core_runs_any_program_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    calls, shared = Calls(), FakeSwitch({"r": None})
    workers = Workers(cast("Any", calls), [1], 1)
    workers.run(cast("Any", shared), 0)
    assert (shared.spreads, caplog.messages, len(workers.stats())) == ([1], [], 1)
    workers.close()
    assert (shared.gathered, calls.running, workers.stats(), workers.switch) == (1, {0: 0}, [], None)
