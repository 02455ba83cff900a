# SPDX-License-Identifier: Apache-2.0
"""``offramp gnn embed``: what rank 0 says and writes, and that other ranks are silent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from offramp.gnn.settings import UseSettings
from offramp_cli.app import app
from offramp_cli.gnn import ranks


@pytest.mark.parametrize("shape", [(34, 16), None])
def test_the_file_and_its_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: Any) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(ranks, "on_ranks", lambda work, settings, kind: asked.append((settings, kind)) or shape)
    if shape is None:
        for name, value in {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
            monkeypatch.setenv(name, value)
    numbers = tmp_path / "n.json"
    words = ["gnn", "embed", str(tmp_path), "net.safetensors", "--out", "e.npy", "--json", str(numbers)]
    done = CliRunner().invoke(app, words, env={"COLUMNS": "150"})
    assert done.exit_code == 0, done.exception
    ((settings, kind),) = asked
    assert (str(settings.store), kind) == (str(tmp_path), UseSettings)
    if shape is None:
        assert (done.output, numbers.exists()) == ("", False)
        return
    assert [" ".join(line.split()) for line in done.output.splitlines()] == ["file e.npy", "shape 34 x 16"]
    written = json.loads(numbers.read_text())
    assert (written["file"], written["shape"]) == ("e.npy", [34, 16])
