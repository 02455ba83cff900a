# SPDX-License-Identifier: Apache-2.0
"""UniTG's tables and figures: they run, and say what the specification says where it has numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offramp_cli.app import app
from offramp_sim.reproduce.catalogue import find

TRAINED = {"unitg/table5.1", "unitg/table5.2", "unitg/fig5.6", "unitg/fig5.11"}
SIMULATED = [item.name for item in find("unitg") if item.name not in TRAINED]


def reproduce(folder: Path, *arguments: str) -> dict[str, dict[str, str]]:
    path = folder / "found.json"
    result = CliRunner().invoke(app, ["reproduce", *arguments, "--plots", str(folder), "--json", str(path)])
    assert result.exit_code == 0, result.exception
    return {item["name"]: item for item in json.loads(path.read_text())["items"]}


def test_by_simulator(tmp_path: Path) -> None:
    found = reproduce(tmp_path, *SIMULATED)
    assert list(found) == SIMULATED
    assert found["unitg/fig5.8"]["ours"]["idle of every stage, of 21"] == "9, 9, 9, 9"
    assert found["unitg/fig5.8"]["ours"]["bubble"] == "42.9 %"
    assert found["unitg/table5.4"]["ours"]["revgcn, arxiv: 112 layers of 224"].startswith("151.7 MB")
    for name in SIMULATED:
        assert (tmp_path / f"{name.replace('/', '-')}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "name",
    [
        "unitg/table5.1",
        "unitg/fig5.11",
        pytest.param("unitg/fig5.6", marks=pytest.mark.slow),
        pytest.param("unitg/table5.2", marks=pytest.mark.slow),
    ],
)
def test_by_training(tmp_path: Path, name: str) -> None:
    (item,) = reproduce(tmp_path, name, "--scale", "0.05").values()
    assert item["published"].keys() == item["ours"].keys()
    assert (tmp_path / f"{name.replace('/', '-')}.png").exists()
