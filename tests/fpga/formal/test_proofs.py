# SPDX-License-Identifier: Apache-2.0
"""Queues, arbiter, credits and the stores of rows and frames proved for all inputs; planted faults must not pass.

Blind spots: parameters are small, and what the checkers do not say.
"""

from pathlib import Path

import pytest

from offramp.fpga.sources import modules
from rtl.prove import counterexample, missing

pytestmark = [pytest.mark.rtl, pytest.mark.skipif(bool(missing()), reason=f"needs {missing()} (yosys)")]
HERE = Path(__file__).parent
FIFO, SKID, DEEP = {"KIND": 0, "DEPTH": 4}, {"KIND": 1, "DEPTH": 2}, {"KIND": 2, "DEPTH": 5}


def checked(checker, parameters, work, *extra):
    return counterexample(checker, work, (HERE / f"{checker}.sv", *extra), parameters)


@pytest.mark.parametrize(
    ("checker", "parameters"),
    [
        ("queue_check", FIFO),
        ("queue_check", SKID),
        ("queue_check", DEEP),
        ("arbiter_check", {"COUNT": 4}),
        ("arbiter_check", {"COUNT": 3}),
        ("credit_check", {"COUNT": 4, "LATENCY": 3}),
        ("row_store_check", {}),
        ("frame_queue_check", {}),
    ],
)
def test_what_the_checker_says_holds(checker, parameters, tmp_path):
    assert checked(checker, parameters, tmp_path) is None


@pytest.mark.parametrize(
    ("checker", "parameters", "module", "right", "wrong"),
    [
        ("queue_check", FIFO, "fifo", "taken[BITS-1:0]};", "taken[BITS-1:0] + 1'b1};"),
        ("queue_check", FIFO, "fifo", "memory[taken[BITS-1:0]]", "memory[taken[BITS-1:0]+1'b1]"),
        ("queue_check", SKID, "skid_buffer", "(full || in_valid);", "in_valid;"),
        ("queue_check", DEEP, "deep_fifo", "(!out_valid || out_ready)", "!out_valid"),
        ("queue_check", DEEP, "deep_fifo", "DEPTH / ROOM - 2", "DEPTH / ROOM"),
        ("arbiter_check", {"COUNT": 4}, "arbiter", "behind(grant)", "grant | behind(grant)"),
        ("arbiter_check", {"COUNT": 4}, "arbiter", "locked & request", "0"),
        ("credit_check", {}, "credit", "left <= COUNT;", "left <= COUNT + 1;"),
        ("row_store_check", {}, "row_store", "written <= whole;", "written <= whole + 1'b1;"),
        ("row_store_check", {}, "row_store", "whole <= written + 1'b1;", "whole <= written;"),
        ("frame_queue_check", {}, "frame_queue", "kept ? behind : whole;", "behind;"),
        ("frame_queue_check", {}, "frame_queue", "(full || !room);", "!room;"),
        ("frame_queue_check", {}, "frame_queue", "taken != whole &&", "taken != written &&"),
        ("frame_queue_check", {}, "frame_queue", "in_last && in_alone ?", "1'b0 ?"),
    ],
)
def test_a_planted_fault_is_found(checker, parameters, module, right, wrong, tmp_path):
    text = modules()[module].read_text()
    assert text.count(right) == 1
    planted = tmp_path / f"{module}.sv"
    planted.write_text(text.replace(right, wrong))
    assert checked(checker, parameters, tmp_path, planted) is not None


LATE = HERE / "late" / "synchroniser.sv"


STEPS = 20
"""Edges of the clocks within which every planted fault shows."""


@pytest.mark.parametrize("steps", [STEPS, pytest.param(0, marks=pytest.mark.slow)])
def test_a_queue_between_two_clocks_holds_with_any_bit_late(steps, tmp_path):
    """For any behaviour of so many steps; slow: for all time (pytest -m slow tests/fpga/formal)."""
    files = (HERE / "async_fifo_check.sv", LATE)
    assert counterexample("async_fifo_check", tmp_path, files, {"DEPTH": 4}, 300, clocks=True, steps=steps) is None


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("written_gray <= written_next_gray;", "written_gray <= written_next;"),
        ("taken_gray <= taken_next ^ (taken_next >> 1);", "taken_gray <= taken_next;"),
        ("{2'b11, {BITS - 1{1'b0}}}", "{1'b1, {BITS{1'b0}}}"),
        ("memory[taken[BITS-1:0]]", "memory[taken_next[BITS-1:0]]"),
    ],
)
def test_a_fault_between_two_clocks_is_found(right, wrong, tmp_path):
    text = modules()["async_fifo"].read_text()
    assert text.count(right) == 1
    planted = tmp_path / "async_fifo.sv"
    planted.write_text(text.replace(right, wrong))
    files = (HERE / "async_fifo_check.sv", LATE, planted)
    failing = counterexample("async_fifo_check", tmp_path, files, {"DEPTH": 4}, 300, clocks=True, steps=STEPS)
    assert failing is not None
