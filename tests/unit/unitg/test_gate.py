# SPDX-License-Identifier: Apache-2.0
"""U5 and U6: the language model works in windows only, and pauses do no harm."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from offramp.unitg.device import EmulatedDevice
from offramp.unitg.gate import Gate, Interval, Stopped
from offramp.unitg.hooks import GateHooks
from offramp.unitg.language_model import seeded
from unitg_windows import outside, overruns


def test_pausing_twice_and_resuming_twice_change_nothing() -> None:
    gate = Gate()
    gate.pause()
    gate.resume()
    gate.resume()
    gate.pause()
    gate.pause()
    assert not gate.is_open
    assert len(gate.openings) == 1
    gate.open_for_good()
    gate.pause()
    assert gate.is_open
    gate.again()
    assert not gate.is_open


def test_a_closed_gate_holds_the_next_module() -> None:
    gate, passed = Gate(), []

    def model() -> None:
        for number in range(3):
            with gate.module(f"module {number}"):
                passed.append(number)

    thread = threading.Thread(target=model, daemon=True)
    thread.start()
    time.sleep(0.02)
    assert not passed
    gate.resume()
    thread.join(10)
    assert passed == [0, 1, 2]
    assert not outside(gate.intervals, gate.openings)


def test_stop_ends_who_waits() -> None:
    gate, ended = Gate(), []

    def model() -> None:
        try:
            gate.wait()
        except Stopped:
            ended.append(True)

    thread = threading.Thread(target=model, daemon=True)
    thread.start()
    gate.stop()
    thread.join(10)
    assert ended == [True]
    gate.resume()
    with pytest.raises(Stopped):
        gate.wait()


def test_hooks_hold_every_module_forward_and_backward() -> None:
    """With a gate that closes again after each module, each needs an opening of its own."""
    model = seeded(1, 20, 5, 8, 2, 2, 4, 3)
    gate = Gate(is_open=True)
    hooks = GateHooks(gate, model.units())
    tokens = torch.tensor([[1, 3, 4, 0, 0], [1, 5, 6, 7, 0]])

    def step() -> None:
        model(tokens, 3)[1].sum().backward()

    step()
    names = [interval.name for interval in gate.intervals]
    forward = ["embed", "attention 1", "feed-forward 1", "attention 2", "feed-forward 2", "exit 4"]
    assert names == forward + [f"{name} backward" for name in forward[:0:-1]]
    gate.intervals.clear()
    gate.pause()
    thread = threading.Thread(target=step, daemon=True)
    thread.start()
    for done in range(len(names)):
        assert len(gate.intervals) == done
        closing = gate.device.end

        def end(start: float, seconds: float, closing: Any = closing) -> None:
            closing(start, seconds)
            gate.pause()

        gate.device.end = end  # type: ignore[method-assign]
        gate.resume()
        deadline = time.monotonic() + 10
        while len(gate.intervals) == done and time.monotonic() < deadline:
            time.sleep(0.001)
        gate.device.end = closing  # type: ignore[method-assign]
    thread.join(10)
    assert [interval.name for interval in gate.intervals] == names
    assert not outside(gate.intervals, gate.openings)
    hooks.remove()
    gate.pause()
    step()


def test_a_module_that_began_ends_behind_its_window() -> None:
    openings = [(0.0, 2.0), (5.0, 7.0)]
    modules = [Interval("a", 0.5, 1.0), Interval("b", 1.5, 2.25), Interval("c", 5.0, 6.0), Interval("d", 3.0, 3.5)]
    assert outside(modules, openings) == [modules[3]]
    assert overruns(modules, openings) == [0.25]


def test_an_emulated_device_is_shared() -> None:
    """Two works of 30 ms take 60 ms side by side, and 30 ms alone; sleeping is never shorter."""
    device = EmulatedDevice()

    def work(seconds: float) -> float:
        start = time.perf_counter()
        with device.work(seconds):
            pass
        return time.perf_counter() - start

    assert work(0.03) >= 0.03
    taken: list[float] = []
    threads = [threading.Thread(target=lambda: taken.append(work(0.06))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert max(taken) >= 0.1


@pytest.mark.full
def test_modules_of_a_run_began_in_windows(train: Any) -> None:
    """A whole run on emulated devices: no module begins outside a window, none runs longer than itself behind one."""
    outcome = train(device_ms=4, lm_ms=0.2, epochs=8)
    for record in outcome.ranks:
        assert record.progress.fault is None
        assert len(record.openings) > 2
        assert record.modules
        assert not outside(record.modules, record.openings)
        late = overruns(record.modules, record.openings)
        assert len(late) <= len(record.openings)


def test_the_pipeline_computes_while_the_gate_is_closed(train: Any) -> None:
    outcome = train(device_ms=4, lm_ms=0.2, epochs=6)
    end_of_pipeline = max(done.end for record in outcome.ranks for done in record.spans)
    for record in outcome.ranks:
        for start, end in record.openings:
            if end < end_of_pipeline:
                inside = [d for d in record.spans if d.start < end - 1e-4 and d.end > start + 1e-4]
                assert not inside


def test_a_device_is_free_again_after_a_model_that_fails() -> None:
    """Also of what began inside a module; what ended has ended once, and what is removed holds nothing any more."""
    calls: list[tuple[str, float]] = []
    device = SimpleNamespace(
        begin=lambda: calls.append(("begin", 0.0)), end=lambda start, seconds: calls.append((f"end {start}", seconds))
    )
    gate = cast("Gate", SimpleNamespace(device=device, intervals=[], wait=lambda: 7.5))

    class Fails(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise ValueError(x.shape)

    good, bad = torch.nn.Linear(2, 2), Fails()
    hooks = GateHooks(gate, [("good", good, True), ("bad", bad, False)], forward_s=0.25)
    with pytest.raises(ValueError, match="2"):
        bad(good(torch.ones(1, 2, requires_grad=True)))
    assert calls == [("begin", 0.0), ("end 7.5", 0.25), ("begin", 0.0)]
    for _ in range(2):
        hooks.abandon()
    assert calls[3:] == [("end 7.5", 0.0)]
    assert [each.name for each in gate.intervals] == ["good"]
    hooks.remove()
    good(torch.ones(1, 2)).sum().backward()
    assert len(calls) == 4
