# SPDX-License-Identifier: Apache-2.0
"""``offramp themis check``: deadlocks, races and wrong results of MSCCL programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from offramp_base import Field, OfframpError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result


@dataclass(frozen=True)
class MscclCheckSettings:
    """The programs to check."""

    files: Annotated[tuple[Path, ...], Field("Files of MSCCL XML", position=True, metavar="FILE…")]


@command(MscclCheckSettings, Result, example="themis check allreduce.xml --json -")
def check(given: MscclCheckSettings, result: Result) -> None:
    """Execute MSCCL XML on arrays of all GPUs: is the result right, and are there races or deadlocks?"""
    from offramp.themis.msccl import read_program
    from offramp_sim.themis.msccl import faults

    rows, problems, console = [], [], show.console()
    for path in given.files:
        program = read_program(path)
        wrong = faults(program)
        problems += [f"{path}: {line}" for line in wrong]
        collective, gpus = program.collective.value, len(program.gpus)
        rows.append({"file": str(path), "name": program.name, "collective": collective, "gpus": gpus, "faults": wrong})
        verdict = f"{len(wrong)} faults" if wrong else "right, without race or deadlock"
        console.print(f"{path}: {collective} of {gpus} GPUs: {verdict}")
    result.write("offramp.themis.check/1", {"programs": rows})
    if problems:
        raise OfframpError(problems[0])
