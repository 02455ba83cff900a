# SPDX-License-Identifier: Apache-2.0
"""The first sentence of a job's report."""

from __future__ import annotations

from typing import Any

from offramp.job.answer import answer

PLAN = [{"offload": "gloo", "why": "slower"}, {"offload": "allreduce", "why": "1.74 times as fast as gloo"}]


def content(taken: str, **steps: float | None) -> dict[str, Any]:
    sent = {"allreduce": 60_000_000, "gloo": 90_000_000}
    measured = {
        way: {"step_s": step_s, "bytes_by_link": {"h1": [sent.get(way, 0), 1], "h2": [sent.get(way, 0) // 10, 1]}}
        for way, step_s in steps.items()
    }
    return {"taken": taken, "plain": "gloo", "plan": PLAN, "measured": measured}


def test_what_was_measured_decides() -> None:
    text = (
        "Yes: a step took 400 ms by allreduce and 800 ms by gloo: 2.00 times as fast. Hosts sent 66.0 MB and 99.0 MB."
    )
    assert answer(content("gloo", gloo=0.8, allreduce=0.4)) == text
    assert answer(content("allreduce", allreduce=0.4, gloo=0.8, hermod=0.5)) == text


def test_an_offload_that_gains_next_to_nothing_does_not_pay() -> None:
    text = answer(content("allreduce", allreduce=0.1, gloo=0.101))
    assert text.startswith("No: a step took 101 ms by gloo, without an offload, and 100 ms by allreduce, the fastest")
    assert text.endswith("Hosts sent 99.0 MB and 66.0 MB.")


def test_bytes_that_were_not_counted_are_left_out() -> None:
    assert "Hosts sent" not in answer(content("hermod", hermod=0.1, gloo=0.2))


def test_without_a_comparison_the_plan_says() -> None:
    assert answer(content("allreduce", allreduce=0.4)).startswith("By the plan, yes (1.74 times as fast as gloo).")
    assert answer(content("allreduce", allreduce=0.4, gloo=None)).startswith("By the plan, yes")
    assert answer(content("gloo", gloo=0.8)) == "Not by the plan (slower). No offload ran, so none was measured."
