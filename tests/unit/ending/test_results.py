# SPDX-License-Identifier: Apache-2.0
"""Results replace what was there; they are not written into it, where a kill would leave half of them.

A second name of the old file tells: it still has the old content. Blind to what a power failure leaves.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from offramp.dgtp.launch import export
from offramp.dgtp.plan import PlacementPlan, ProcessRole
from offramp.fpga.kernels import write_kernel
from offramp.hermod.deploy.sonic.files import SonicFiles
from offramp_p4_tools.fuzz.findings import Finding
from offramp_sim.figures import save


def a_plan(folder: Path) -> None:
    export(PlacementPlan((ProcessRole(0, "m0", "10.0.0.1", 0, "worker", 0, None, ()),), {}), folder)


def sonic_files(folder: Path) -> None:
    files = SonicFiles(folder, "HERMOD", None)
    files.apply([], {"SCHEDULER": {"HERMOD.0": {"type": "STRICT"}}})


WRITERS: dict[str, Callable[[Path], object]] = {
    "plan.json": a_plan,
    "torchrun-m0.sh": a_plan,
    "hermod.json": sonic_files,
    "hermod.patch.json": sonic_files,
    "hermod.undo-patch.json": sonic_files,
    "figure.png": lambda folder: save(Figure(), folder / "figure.png"),
    "crash-7.p4": Finding("crash", 7, "message", "source").write,
    "quantpack_kernel.sv": lambda folder: write_kernel("quantpack", {}, folder),
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_old_file_is_replaced(name: str, tmp_path: Path) -> None:
    file, old = tmp_path / name, tmp_path / "old"
    file.write_text("{}")
    os.link(file, old)
    WRITERS[name](tmp_path)
    assert old.read_text() == "{}"
    assert file.stat().st_size > 2
