# SPDX-License-Identifier: Apache-2.0
"""Verilator's own C++ files, compiled once rather than for each design: they take half of a build."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

OBJECTS: Final = ("verilated.o", "verilated_dpi.o", "verilated_threads.o", "verilated_vpi.o")
"""Objects that the same options make from the same files, whatever the design.

cocotb's main program is not among them: it creates the design's object, whose size depends on its ports.
"""


@contextmanager
def verilator_runtime(kept: Path, folder: Path) -> Iterator[None]:
    """Let make find the ``kept`` objects in a build's ``folder``; keep those that a build had to compile."""
    for name in OBJECTS:
        if (kept / name).exists():
            shutil.copyfile(kept / name, folder / name)  # a new file, which make takes for newer than its source
    yield
    kept.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=kept) as fresh:
        for name in OBJECTS:
            if (folder / name).exists() and not (kept / name).exists():
                shutil.copyfile(folder / name, Path(fresh) / name).replace(kept / name)
