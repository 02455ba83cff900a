# SPDX-License-Identifier: Apache-2.0
"""Dimensions that change speed: transfers across changes, and plans that follow them."""

from __future__ import annotations

import pytest

from offramp.themis import themis
from offramp.themis.network import Collective
from offramp.themis.pipeline import execute
from offramp.themis.schedule import sent_bytes, split
from offramp.themis.topologies import PAPER
from offramp_base.errors import OfframpError
from offramp_sim.themis.speeds import SpeedChange, SpeedProfile, run_adaptive, run_static


def test_a_transfer_across_changes():
    profile = SpeedProfile(1, [SpeedChange(100, (0.5,)), SpeedChange(200, (2.0,))])
    assert profile.finish(0, 0, 50) == 50
    assert profile.finish(0, 0, 100) == 100
    assert profile.finish(0, 50, 80) == 160  # 50 before the change, 30 at half speed
    assert profile.finish(0, 50, 150) == 225  # 50 + 50 + 50 at double speed
    assert profile.finish(0, 300, 10) == 305


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("collective", [Collective.ALL_REDUCE, Collective.REDUCE_SCATTER])
def test_planning_again_pays_and_loses_nothing(name, collective):
    network = PAPER[name]
    dims = len(network.dimensions)
    plan = themis.schedule(network, collective, split(10**9, 64))
    nominal = execute(plan.stages(), dims).finish_ps
    slow = (1.0,) * (dims - 1) + (0.25,)
    profile = SpeedProfile(dims, [SpeedChange(nominal // 4, slow)])
    static, adaptive = run_static(plan, profile), run_adaptive(plan, profile)
    assert nominal < adaptive.finish_ps < 0.75 * static.finish_ps
    assert len(adaptive.operations) == len(static.operations)


def test_a_change_after_the_end_changes_nothing():
    network = PAPER["2D-SW_SW"]
    plan = themis.schedule(network, Collective.ALL_REDUCE, split(10**8, 16))
    profile = SpeedProfile(2, [SpeedChange(10**13, (0.1, 0.1))])
    assert run_adaptive(plan, profile) == run_static(plan, profile)
    assert sum(sent_bytes(network, plan.stages())) > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([SpeedChange(5, (1.0,))], r"speeds \(1.0,\): expected 2 factors above 0"),
        ([SpeedChange(5, (1.0, 0.0))], "expected 2 factors above 0"),
        ([SpeedChange(5, (1.0, 1.0)), SpeedChange(5, (1.0, 2.0))], "expected rising times above 0"),
        ([SpeedChange(0, (1.0, 1.0))], "expected rising times above 0"),
    ],
)
def test_bad_profiles(changes, message):
    with pytest.raises(OfframpError, match=message):
        SpeedProfile(2, changes)
