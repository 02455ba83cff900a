# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga test``: the test benches of the RTL, from a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import typer

from offramp_base import Field, OfframpError, SettingsError
from offramp_base.ending.left import temporary_folder
from offramp_base.extras import install_command
from offramp_cli.command import command
from offramp_cli.result import OUTPUT

_TEST_PACKAGES: Final = ("pytest", "pytest_timeout", "hypothesis")
"""Packages that all tests import, or that pytest's configuration names."""


def _simulators() -> dict[str, str]:
    return {"own": "each test's own", "icarus": "Icarus Verilog", "verilator": "Verilator"}


def _waves() -> dict[str, str]:
    return {
        "never": "no waveforms",
        "failed": "a bench that fails runs again, recording",
        "always": "every bench records",
    }


@dataclass(frozen=True)
class BenchTests:
    """Test benches to run, the simulator, and outputs to keep."""

    arguments: Annotated[tuple[str, ...], Field("Arguments for pytest", position=True)] = ()
    full: Annotated[bool, Field("Run the slow benches too: 10,000 transactions for each engine")] = False
    folder: Annotated[str, Field("Folder of tests/fpga, such as reduce; all by default")] = ""
    simulator: Annotated[str, Field("Simulator of all benches", choices=_simulators)] = "own"
    waves: Annotated[str, Field("Which benches record waveforms", choices=_waves)] = "never"
    coverage: Annotated[Path | None, Field("File for the functional coverage of all benches, JSON", group=OUTPUT)] = (
        None
    )

    def __post_init__(self) -> None:
        if self.coverage is not None and not self.coverage.absolute().parent.is_dir():
            raise SettingsError("coverage", "no such folder", str(self.coverage.parent))


@command(BenchTests, example="fpga test -k skid_buffer", ignore_unknown_options=True)
def test(settings: BenchTests) -> None:
    """Run the cocotb test benches (tests/fpga) with pytest; further arguments go to pytest."""
    from offramp.fpga import fpga_root

    folder = fpga_root().parent / "tests" / "fpga"
    if not folder.is_dir():
        raise OfframpError(
            "offramp fpga test: this installation has no tests/fpga; in a checkout, pip install -e '.[fpga,dev]'"
        )
    if absent := [name for name in _TEST_PACKAGES if find_spec(name) is None]:
        raise OfframpError(f"offramp fpga test: no package {absent[0]}: {install_command('fpga,dev', absent[0])}")
    chosen = folder / settings.folder
    if not chosen.resolve().is_relative_to(folder.resolve()) or not chosen.is_dir():
        known = ", ".join(sorted({path.parent.name for path in folder.glob("*/test_*.py")}))
        raise SettingsError("folder", f"expected one of {known}", settings.folder)
    marks = [] if settings.full else ["-m", "not slow"]
    words = [sys.executable, "-m", "pytest", str(chosen), *marks, *settings.arguments]
    environment = os.environ | {"OFFRAMP_BENCH_WAVES": settings.waves}
    if settings.simulator != "own":
        environment["OFFRAMP_BENCH_SIMULATOR"] = settings.simulator
    if settings.coverage is not None:
        environment["OFFRAMP_BENCH_COVERAGE_REPORT"] = str(settings.coverage.absolute())
    with ExitStack() as stack:
        if settings.waves == "never":  # else the waveforms are in pytest's folder
            environment["TMPDIR"] = stack.enter_context(temporary_folder())
        done = subprocess.run(words, cwd=folder.parent.parent, env=environment, check=False)
    raise typer.Exit(done.returncode)
