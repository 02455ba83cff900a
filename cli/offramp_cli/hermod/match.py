# SPDX-License-Identifier: Apache-2.0
"""``offramp coflow match``: the sub-phases of an all-to-all."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from offramp_base.documents import parse_json, read_text
from offramp_base.errors import OfframpError
from offramp_cli.json_file import write_json

_SHOWN = 40
_MOST_BYTES = 64 << 20


def match(
    matrix: Annotated[str, typer.Argument(help="A file: rows of integers (commas or blanks), JSON or .npy.")],
    algorithm: Annotated[str, typer.Option(help="bottleneck | paper_literal | matched_minimum.")] = "bottleneck",
    quantum: Annotated[int, typer.Option(help="0: exact; 8: fewer sub-phases, about 5 % longer.")] = 0,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the schedule to this file.")] = None,
) -> None:
    """Cut an all-to-all into sub-phases in which each rank sends to one peer and hears one."""
    from rich.console import Console
    from rich.table import Table

    from offramp.hermod.matching import bound, check_matrix, decompose, literal

    given = check_matrix(_read(Path(matrix)))
    if algorithm == "bottleneck":
        schedule = decompose(given, quantum=quantum)
    elif algorithm in ("paper_literal", "matched_minimum"):
        schedule = literal(given, matched_minimum=algorithm == "matched_minimum")
    else:
        raise OfframpError(f"--algorithm {algorithm}: expected bottleneck, paper_literal or matched_minimum")
    least = bound(given - given * _diagonal(len(given)))
    table = Table(box=None, pad_edge=False)
    for heading in ("sub-phase", "length", "rank \N{RIGHTWARDS ARROW} rank: amount"):
        table.add_column(heading, justify="left" if heading[0] == "r" else "right")
    for k, (peer, weight, send) in enumerate(schedule):
        if k == _SHOWN:
            break
        moves = (f"{i}\N{RIGHTWARDS ARROW}{p}: {s}" for i, (p, s) in enumerate(zip(peer, send, strict=True)) if s)
        table.add_row(str(k), str(weight), "  ".join(moves))
    console = Console(highlight=False)
    console.print(table)
    if len(schedule) > _SHOWN:
        console.print(f"… and {len(schedule) - _SHOWN} more")
    ratio = schedule.total / least if least else 1.0
    console.print(f"{len(schedule)} sub-phases, {schedule.total} in all; the bound is {least} ({ratio:.3f} of it)")
    write_json(json_path, {"bound": least, "total": schedule.total, "phases": _phases(schedule)})


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
