# SPDX-License-Identifier: Apache-2.0
"""``offramp hermod match``: the sub-phases of an all-to-all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from offramp_base import Field, OfframpError, parse_json
from offramp_base.documents import read_text
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

_SHOWN = 40
_MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class MatchSettings:
    """An all-to-all and its decomposition."""

    matrix: Annotated[Path, Field("A file: rows of integers (commas or blanks), JSON or .npy", position=True)]
    algorithm: Annotated[str, Field("Algorithm", choices=("bottleneck", "paper_literal", "matched_minimum"))] = (
        "bottleneck"
    )
    quantum: Annotated[int, Field("Rounding: 0 is exact; 8 makes fewer sub-phases, about 5 % longer in all")] = 0


@command(MatchSettings, Result, example="hermod match matrix.csv --json -")
def match(settings: MatchSettings, result: Result) -> None:
    """Cut an all-to-all into sub-phases in which each rank sends to one peer and receives from one."""
    from offramp.hermod.matching import bound, check_matrix
    from offramp.hermod.matching.decompose import decompose
    from offramp.hermod.matching.literal import literal

    matrix = check_matrix(_read(settings.matrix))
    if settings.algorithm == "bottleneck":
        schedule = decompose(matrix, quantum=settings.quantum)
    else:
        schedule = literal(matrix, matched_minimum=settings.algorithm == "matched_minimum")
    least = bound(matrix - matrix * _diagonal(len(matrix)))
    moves_of = "rank \N{RIGHTWARDS ARROW} rank: amount"
    table = show.table("sub-phase", "length", moves_of, left=(moves_of,))
    for k, (peer, weight, send) in enumerate(schedule):
        if k == _SHOWN:
            break
        moves = (f"{i}\N{RIGHTWARDS ARROW}{p}: {s}" for i, (p, s) in enumerate(zip(peer, send, strict=True)) if s)
        table.add_row(str(k), str(weight), "  ".join(moves))
    console = show.console()
    console.print(table)
    if len(schedule) > _SHOWN:
        console.print(f"… and {len(schedule) - _SHOWN} more")
    ratio = schedule.total / least if least else 1.0
    console.print(f"{len(schedule)} sub-phases, {schedule.total} in all; the bound is {least} ({ratio:.3f} of it)")
    result.write("offramp.hermod.match/1", {"bound": least, "total": schedule.total, "phases": _phases(schedule)})


def _phases(schedule: Any) -> list[dict[str, Any]]:
    return [{"peer": peer, "weight": weight, "send": send} for peer, weight, send in schedule]


def _diagonal(size: int) -> Any:
    import numpy as np

    return np.eye(size, dtype=np.int64)


def _read(path: Path) -> Any:
    if path.suffix == ".npy":
        from offramp_base.archive import read_array

        return read_array(path)
    try:
        text = read_text(path, _MOST_BYTES)
        if path.suffix == ".json":
            return parse_json(text)
        return [[int(v) for v in line.replace(",", " ").split()] for line in text.splitlines() if line.strip()]
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    except ValueError:
        raise OfframpError(f"{path}: expected rows of integers") from None
