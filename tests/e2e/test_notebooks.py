# SPDX-License-Identifier: Apache-2.0
"""The notebooks run, each in a kernel of its own, draw something, and are kept without results (slow)."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples/notebooks"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.ipynb")))
def test_it_runs(name: str, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    for package in ("torch", "matplotlib", "pymetis", "sklearn"):
        pytest.importorskip(package)
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=120, resources=where).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    if pictures := os.environ.get("OFFRAMP_PICTURES"):
        drawn = next(output.data["image/png"] for output in outputs if "image/png" in output.get("data", {}))
        (Path(pictures) / f"{name}.png").write_bytes(base64.b64decode(drawn))
    assert any("image/png" in output.get("data", {}) for output in outputs)
