# SPDX-License-Identifier: Apache-2.0
"""Proofs of RTL for all inputs and all time: assertions of a checker module, by ABC's property-directed reachability.

That is induction which finds its own invariants, so a checker says what must hold and nothing else. Memories become
registers and every state that has no initial value is arbitrary: small parameters keep a proof within seconds.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from offramp.fpga.sources import closure, include_option
from offramp.fpga.tools import run_tool
from offramp_base.errors import OfframpError

TOOLS: Final = ("yosys", "yosys-abc")
_STEPS: Final = "techmap; opt -fast -nodffe -nosdff; dffunmap; abc -g AND -fast; opt_clean"


def missing() -> str:
    """Tools that this machine lacks to prove anything; empty if none."""
    return ", ".join(tool for tool in TOOLS if not shutil.which(tool))


def counterexample(
    checker: str,
    folder: Path,
    extra: tuple[Path, ...],
    parameters: Mapping[str, int] | None = None,
    limit_s: int = 120,
    *,
    clocks: bool = False,
    steps: int = 0,
) -> int | None:
    """None where every assertion holds, else the cycle in which one can fail.

    Args:
        checker: module with assertions and assumptions.
        folder: for what is made on the way.
        extra: its file, and files that stand in for modules under ``fpga/rtl``.
        parameters: parameters of the checker.
        limit_s: seconds that the proof may take.
        clocks: whether there are several, each of which may have an edge or not in every step of the proof.
        steps: look at all behaviour of so many steps and no further, which is quick and proves nothing beyond them.

    Raises:
        OfframpError: a tool is missing or fails, there is no assertion, or the proof takes too long.
    """
    files, _ = closure(checker, extra)
    values = " ".join(f"-set {name} {value}" for name, value in (parameters or {}).items())
    reads = " ".join(str(path) for path in files)
    clocking = "clk2fflogic" if clocks else "async2sync"
    script = (
        f"read_verilog -formal -sv {include_option()} {reads}; {f'chparam {values} {checker}; ' if values else ''}"
        f"prep -flatten -top {checker}; memory_map; opt -full; {clocking}; {_STEPS}; "
        f"select -assert-min 1 t:$assert; write_aiger -zinit {checker}.aig"
    )
    run_tool(["yosys", "-q", "-p", script], folder, f"{checker}-yosys.log", limit_s)
    search = f"bmc3 -F {steps}" if steps else f"pdr -T {limit_s}"
    command = f"read_aiger {checker}.aig; fold; strash; {search}"
    log = run_tool(["yosys-abc", "-c", command], folder, f"{checker}-abc.log", 2 * limit_s)
    if "Property proved" in log or f"No output asserted in {steps} frames" in log:
        return None
    failed = re.search(r"asserted in frame (\d+)", log)
    if failed:
        return int(failed[1])
    raise OfframpError(f"{checker}: no proof and no counterexample within {limit_s} s")
