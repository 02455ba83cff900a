# SPDX-License-Identifier: Apache-2.0
"""``offramp gnn predict``: what the rank that reports says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from offramp_cli.app import app

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("shape", [[34, 4], None])
def test_the_file_and_its_shape(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shape: list[int] | None) -> None:
    monkeypatch.setattr("offramp_cli.gnn.ranks.on_ranks", lambda *_: shape)
    numbers, out = tmp_path / "n.json", str(tmp_path / "out.npy")
    words = ["gnn", "predict", "store", "net.safetensors", "--out", out, "--json", str(numbers)]
    done = CliRunner().invoke(app, words, env={"COLUMNS": "300"})
    assert done.exit_code == 0, done.exception
    assert [line.split() for line in done.output.splitlines()] == (
        [["file", out], ["shape", "34", "x", "4"]] if shape else []
    )
    assert numbers.exists() == bool(shape)
    if shape:
        written = json.loads(numbers.read_text())
        assert (written["file"], written["shape"]) == (out, shape)
