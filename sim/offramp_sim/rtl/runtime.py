# SPDX-License-Identifier: Apache-2.0
"""Verilator's own C++ files are compiled once, not for each design: they are half of a build."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

OBJECTS: Final = ("verilated.o", "verilated_dpi.o", "verilated_threads.o", "verilated_vpi.o")
"""What the same options make of the same files, whatever the design.

cocotb's main program is not one of them: it makes the design's object, whose size follows from its ports.
"""


@contextmanager
def verilator_runtime(kept: Path, folder: Path) -> Iterator[None]:
    """Make finds the objects that are ``kept`` in a build's ``folder``; those that a build had to compile are kept."""
    for name in OBJECTS:
        if (kept / name).exists():
            shutil.copyfile(kept / name, folder / name)  # a new file, which make takes for newer than its source
    yield
    kept.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=kept) as fresh:
        for name in OBJECTS:
            if (folder / name).exists() and not (kept / name).exists():
                shutil.copyfile(folder / name, Path(fresh) / name).replace(kept / name)
