# SPDX-License-Identifier: Apache-2.0
"""UniTG's tables and figures: they run, and say what the specification says where it has numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offramp_cli.app import app
from offramp_sim.reproduce.catalogue import find
from offramp_sim.reproduce.gpu import RTX3090
from offramp_sim.reproduce.unitg.phases import Assumed, methods

TRAINED = {"unitg/table5.1", "unitg/table5.2", "unitg/fig5.6", "unitg/fig5.11", "unitg/fig5.12"}
SIMULATED = [item.name for item in find("unitg") if item.name not in TRAINED]


def reproduce(folder: Path, *arguments: str) -> dict[str, dict[str, str]]:
    path = folder / "found.json"
    result = CliRunner().invoke(app, ["reproduce", *arguments, "--plots", str(folder), "--json", str(path)])
    assert result.exit_code == 0, result.exception
    return {item["name"]: item for item in json.loads(path.read_text())["items"]}


@pytest.mark.full
def test_by_simulator(tmp_path: Path) -> None:
    items = reproduce(tmp_path, *SIMULATED)
    assert list(items) == SIMULATED
    assert items["unitg/fig5.8"]["ours"]["idle of every stage, of 21"] == "9, 9, 9, 9"
    assert items["unitg/fig5.8"]["ours"]["bubble"] == "42.9 %"
    assert items["unitg/table5.4"]["ours"]["revgcn, arxiv: 112 layers of 224"].startswith("151.7 MB")
    assert items["unitg/fig5.14"]["ours"]["stage 1: idle windows of an iteration, forward passes"] == "1, 6, 2"
    for name in SIMULATED:
        assert (tmp_path / f"{name.replace('/', '-')}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.full
@pytest.mark.parametrize(
    "name",
    [
        "unitg/table5.1",
        pytest.param("unitg/fig5.11", marks=pytest.mark.slow),
        "unitg/fig5.12",
        pytest.param("unitg/fig5.6", marks=pytest.mark.slow),
        pytest.param("unitg/table5.2", marks=pytest.mark.slow),
    ],
)
def test_by_training(tmp_path: Path, name: str) -> None:
    (item,) = reproduce(tmp_path, name, "--scale", "0.05").values()
    assert item["published"].keys() == item["ours"].keys()
    assert (tmp_path / f"{name.replace('/', '-')}.png").exists()


def test_phases_of_a_method_add_up_and_unitg_does_no_more_work_than_a_pipeline() -> None:
    """The time of one phase after the other has a closed form; UniTG's devices cannot be busier than its total."""
    assumed = Assumed(kernel_us=0.0, gnn_rounds=2, lm_rounds=5, lm_epochs=1, tokens=10)
    phases = methods("revgcn", "cora", assumed)
    tape, once, unitg = phases["TAPE"], phases["each once"], phases["UniTG"]
    assert tape.total == pytest.approx(2 * once.network + 5 * once.text)
    assert once.text == pytest.approx(6 * 86e6 * 10 * 2708 / (71e12 / 2) / 4)
    widths = [1433, *[80] * 447, 7]
    assert once.network == pytest.approx(1000 * RTX3090.epoch_s(2708, 5429, widths))
    assert unitg.network == pytest.approx(once.network * 7 / 16)  # four stages, four microbatches: 28 of 64 slots
    assert unitg.network <= unitg.total
    assert unitg.busy <= unitg.total


def test_long_kernels_take_the_pipeline_s_gain_away() -> None:
    """A microbatch starts as many kernels as the whole graph: where they are all the time, four stages gain nothing."""
    phases = methods("revgcn", "cora", Assumed(kernel_us=1e6, lm_epochs=1, tokens=1))
    assert phases["UniTG"].network > phases["each once"].network
