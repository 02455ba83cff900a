# SPDX-License-Identifier: Apache-2.0
"""Lints the RTL with every tool that must accept it: Verilator's linter, Icarus Verilog, yosys."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

from offramp.fpga.registers import write_verilog
from offramp.fpga.sources import closure, include_option, modules
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_sim.rtl.build import tools

MOST: Final = 10
"""Most faults of one tool that are shown for a module."""


def lintable() -> list[str]:
    """All modules."""
    return list(modules())


def roots() -> list[str]:
    """Modules that no other one instantiates: reading them reads all modules."""
    known = modules()
    inside = {path.stem for name in known for path in closure(name)[0] if path.stem != name}
    return [name for name in known if name not in inside]


def faults(module: str) -> list[str]:
    """Faults that the three tools find in ``module`` with its default parameters, a line each.

    Raises:
        OfframpError: there is no such module, or a reader is not installed.
    """
    if lacking := [program for program in ("iverilog", "yosys") if not shutil.which(program)]:
        raise OfframpError(f"fpga lint: needs {', '.join(lacking)}: apt-get install {' '.join(lacking)}")
    files, blocks = closure(module)
    with temporary_folder() as scratch, tools("verilator"):
        generated = [str(write_verilog(block, Path(scratch))) for block in blocks]
        sources = [*generated, *map(str, files)]
        others = Path(scratch) / "generated.vlt"
        others.write_text(f'`verilator_config\nlint_off -file "{scratch}/*"\n', encoding="utf-8")
        include = include_option()
        reads = "; ".join(f"read_verilog -sv {include} {path}" for path in sources)
        commands = {
            "verilator": ["verilator", "--lint-only", "-Wall", include, "--top-module", module, str(others), *sources],
            "icarus": ["iverilog", "-g2012", "-Wall", "-Wno-timescale", "-t", "null", include, "-s", module, *sources],
            "yosys": ["yosys", "-q", "-p", f"{reads}; hierarchy -check -top {module}; proc; check -assert"],
        }
        complaints = []
        for tool, command in commands.items():
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            lines = [line for line in (done.stdout + done.stderr).splitlines() if _counts(line, scratch)]
            if done.returncode and not lines:
                lines = [f"ends with {done.returncode}"]
            if len(lines) > MOST:
                lines[MOST:] = [f"and {len(lines) - MOST} more"]
            complaints += [f"{module}: {tool}: {line.replace(str(Path.cwd()) + '/', '')}" for line in lines]
    return complaints


def _counts(line: str, generated: str) -> bool:
    """Whether a line reports a fault in our code: another tool generates the register blocks."""
    if generated in line or "Exiting due to" in line or "sorry: constant selects in always_*" in line:
        return False
    return "%Warning" in line or "%Error" in line or "warning:" in line.lower() or "error" in line.lower()
