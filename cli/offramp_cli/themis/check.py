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

    rows, console = [], show.console()
    first = None
    for path in given.files:
        program = read_program(path)
        wrong = faults(program)
        rows.append(
            {
                "file": str(path),
                "name": program.name,
                "collective": program.collective.value,
                "gpus": len(program.gpus),
                "faults": wrong,
            }
        )
        what = f"{program.collective} of {len(program.gpus)} GPUs"
        console.print(
            f"{path}: {what}: " + ("right, without race or deadlock" if not wrong else f"{len(wrong)} faults")
        )
    result.write("offramp.themis.check/1", {"programs": rows})
    if first is not None:
        raise OfframpError(first)
