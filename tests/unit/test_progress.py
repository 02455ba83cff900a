# SPDX-License-Identifier: Apache-2.0
"""Listeners are told in order, by long computations too, and only while they listen."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from offramp.graph.blocks import plan_blocks
from offramp_base.progress import listen, report
from offramp_cli.stages import stages


def test_only_the_innermost_listener_is_told_and_only_while_it_listens():
    outer, inner = [], []
    report("nobody", 1, 2)
    with listen(lambda *said: outer.append(said)):
        report("outer", 1, 2)
        with listen(lambda *said: inner.append(said)):
            report("inner", 2, 2)
        report("outer", 2, 2)
    report("nobody", 2, 2)
    assert outer == [("outer", 1, 2), ("outer", 2, 2)]
    assert inner == [("inner", 2, 2)]


def test_an_error_ends_listening():
    said = []
    with pytest.raises(ValueError, match="wrong"), listen(lambda *what: said.append(what)):
        raise ValueError("wrong")
    report("nobody", 1, 1)
    assert said == []


def test_stages_of_a_command_are_timed_and_show_what_is_reported():
    console = Console(file=io.StringIO(), force_terminal=True)
    with stages(console) as stage:
        stage("first")
        report("inside", 1, 2)
        stage("second")
    assert list(stage.seconds) == ["first", "second"]
    assert all(wall >= 0 and used >= 0 for wall, used in stage.seconds.values())


def test_blocks_say_how_many_edges_they_hold():
    edges = np.random.default_rng(0).integers(0, 60, (400, 2))
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    said = []
    with listen(lambda *what: said.append(what)):
        plan_blocks(edges, 12)
    done = [count for _, count, _ in said]
    assert done[0] == 0
    assert done == sorted(set(done))
    assert {total for _, _, total in said} == {len(edges)}
