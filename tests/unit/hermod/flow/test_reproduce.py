# SPDX-License-Identifier: Apache-2.0
"""The reproductions that take no time; the others are runs of what is tested elsewhere."""

from __future__ import annotations

import pytest

from offramp_sim.hermod.flow.study import SimulationSetup, compare
from offramp_sim.hermod.framing import goodput
from offramp_sim.reproduce.catalogue import find, items
from offramp_sim.reproduce.hermod import effects as hermod_effects
from offramp_sim.reproduce.hermod import sweep as hermod_sweep
from offramp_sim.reproduce.hermod.runs import SIMULATED, simulated_job
from offramp_sim.reproduce.hermod.tables import line_rate_example


def test_every_item_of_the_issue_is_there() -> None:
    names = {name for name in (item.name for item in items()) if name.startswith("hermod/")}
    figures = ("fig5.3", "fig5.6", "fig5.8", "fig5.9", "fig5.10", "fig5.11", "fig5.12", "fig5.13")
    ours = {"hermod/sweep", "hermod/effects", "hermod/matchings"}
    assert names == {"hermod/table5.2", "hermod/table5.5", *(f"hermod/{figure}" for figure in figures), *ours}


def test_line_rate_against_proportional_rates() -> None:
    assert line_rate_example("flow") == (3, 3, 4)
    assert line_rate_example("coflow") == pytest.approx((3, 11 / 3, 4))


@pytest.mark.parametrize("name", ["hermod/table5.5", "hermod/fig5.6"])
def test_items_give_numbers_and_a_picture(name: str) -> None:
    reproduced = find(name)[0].reproduce(1.0, 0)
    assert reproduced.comparisons
    assert reproduced.panels
    assert all(line.ours for line in reproduced.comparisons)


def test_the_share_of_ep_is_the_thesis_s() -> None:
    rows = {c.what: c.ours for c in find("hermod/table5.5")[0].reproduce(1.0, 0).comparisons}
    assert rows["qwen-moe-12l: EP's share of the traffic"] == "92 %"


def test_a_case_of_the_sweep_is_what_one_run_gives() -> None:
    times = hermod_sweep.run(hermod_sweep.SweepCase("gpt3-175b", 128, 0))
    assert set(times) == {"spray", "ecmp"}
    job = simulated_job("gpt3-175b", 128, nic_gbps=200)
    alone = compare(job, ("fifo", "hermod"), SimulationSetup(routing="spray"))
    row = times["spray"]["200"]
    assert row["Megatron (FIFO)"] == pytest.approx(alone["fifo"].iteration_s)
    assert row["Hermod"] == pytest.approx(alone["hermod"].iteration_s)
    assert row["Hermod"] < row["Lina (fair)"] <= row["Megatron (fair)"] < row["Megatron (FIFO)"]


def test_every_change_is_one_that_a_job_or_a_set_up_has() -> None:
    for change in hermod_effects.CHANGES:
        for model in SIMULATED:
            simulated_job(model, **change.job)
        SimulationSetup(**change.setup)
    headers = next(change for change in hermod_effects.CHANGES if change.payload == 1024)
    slower, default = (
        hermod_effects.run(hermod_effects.EffectCase("gpt3-175b", each, ("hermod",), 0))["hermod"]
        for each in (headers, hermod_effects.CHANGES[0])
    )
    assert default < slower < default / goodput(1024)
