# SPDX-License-Identifier: Apache-2.0
"""Programs for ns-3, against the headers and libraries of its wheel (GPL, so not of this project's environment).

The variable ``OFFRAMP_NS3_PYTHON`` names an interpreter that has it: ``python -m venv DIR && DIR/bin/pip install ns3``.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

MODULES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")


def program(source: Path, folder: Path) -> Callable[[Iterable[object]], str]:
    """Compile a program; it is called with the words of its standard input and returns its standard output."""
    python = os.environ.get("OFFRAMP_NS3_PYTHON")
    if not python:
        pytest.skip("OFFRAMP_NS3_PYTHON does not name an interpreter with the ns3 wheel")
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    output = subprocess.run([python, "-c", where], capture_output=True, text=True, check=True).stdout
    wheel = Path(output.strip(), "ns3")
    libraries = [next((wheel / "lib64").glob(f"libns3*-{module}.so")) for module in MODULES]
    compiled = folder / source.stem
    options = [f"-Wl,-rpath,{wheel}/lib64", "-Wl,--allow-shlib-undefined"]
    command = ["g++", "-std=c++20", "-O2", f"-I{wheel}/include", source, "-o", compiled, *libraries, *options]
    subprocess.run(command, check=True)

    def run(words: Iterable[object]) -> str:
        text = " ".join(map(str, words))
        return subprocess.run([compiled], input=text, capture_output=True, text=True, check=True).stdout

    return run
