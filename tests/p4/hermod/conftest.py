# SPDX-License-Identifier: Apache-2.0
"""The programs on every engine that runs them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from offramp.hermod.switch.entries import SwitchPlan
from offramp.p4src import p4_source
from offramp_p4 import AnySwitch, ir, make_switch
from offramp_p4.frontend import load
from offramp_sim.hermod import direct

MakeHermod = Callable[[SwitchPlan], AnySwitch]


@pytest.fixture(scope="session")
def programs() -> dict[str, ir.Program]:
    return {name: load(p4_source(f"hermod/{name}.p4")) for name in ("v1model", "tna")}


@pytest.fixture(scope="session", params=["python", "native", "tna-python", "tna-native"])
def make_hermod(request: pytest.FixtureRequest, programs: dict[str, ir.Program]) -> MakeHermod:
    """``make_hermod(plan)``: the one switch of each kind with this plan."""
    tna = request.param.startswith("tna-")
    switch = make_switch(programs["tna" if tna else "v1model"], request.param.removeprefix("tna-"))

    def make(plan: SwitchPlan) -> AnySwitch:
        switch.reset()
        direct.load(switch, plan)
        return switch

    return make
