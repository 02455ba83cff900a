"""The reproductions that take no time; the others are runs of what is tested elsewhere."""

from __future__ import annotations

import pytest

from offramp_sim.reproduce.catalogue import ITEMS
from offramp_sim.reproduce.hermod_tables import line_rate_example


def test_every_item_of_the_issue_is_there() -> None:
    names = {name for name in ITEMS if name.startswith("hermod/")}
    figures = ("fig5.3", "fig5.6", "fig5.8", "fig5.9", "fig5.10", "fig5.11", "fig5.12", "fig5.13")
    ours = {"hermod/sweep", "hermod/effects"}
    assert names == {"hermod/table5.2", "hermod/table5.5", *(f"hermod/{figure}" for figure in figures), *ours}


def test_line_rate_against_proportional_rates() -> None:
    assert line_rate_example("flow") == (3, 3, 4)
    assert line_rate_example("coflow") == pytest.approx((3, 11 / 3, 4))


@pytest.mark.parametrize("name", ["hermod/table5.5", "hermod/fig5.6"])
def test_items_give_numbers_and_a_picture(name: str) -> None:
    found = ITEMS[name].reproduce(1.0, 0)
    assert found.comparisons
    assert found.panels
    assert all(line.ours for line in found.comparisons)


def test_the_share_of_ep_is_the_thesis_s() -> None:
    rows = {c.what: c.ours for c in ITEMS["hermod/table5.5"].reproduce(1.0, 0).comparisons}
    assert rows["qwen-moe-12l: EP's share of the traffic"] == "92 %"
