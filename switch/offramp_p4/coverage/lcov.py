# SPDX-License-Identifier: Apache-2.0
"""Coverage in the format of LCOV's ``.info`` files, which genhtml, editors and CI services read.

States, actions and tables are functions; the two ways of an ``if``, the targets of a ``select``, hit and miss of a
table and its entries in the source are branches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from offramp_p4.coverage.recorded import Coverage, CoveredPart
from offramp_p4.frontend.syntax.includes import SYSTEM_INCLUDE

_FUNCTIONS: Final = {"state", "action", "table"}


def lcov(runs: Iterable[Coverage], test: str = "") -> str:
    """The counts of all runs, by source file; built-in headers are left out.

    Args:
        runs: coverage of one program or of several; the same lines and parts are added up.
        test: name of the test.
    """
    lines: defaultdict[str, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    parts: defaultdict[str, dict[tuple[str, ...], CoveredPart]] = defaultdict(dict)
    for run in runs:
        for (file, line), count in run.lines.items():
            lines[file][line] += count
        for part in run.parts:
            known = parts[part.pos.file]
            key = part.kind, part.of, part.name, str(part.pos)
            before = known[key].count if key in known else 0
            known[key] = CoveredPart(part.kind, part.name, part.pos, part.count + before, part.of)
    files = sorted(file for file in lines.keys() | parts.keys() if _is_own(file))
    return "".join(f"{line}\n" for file in files for line in _file(file, lines[file], list(parts[file].values()), test))


def _is_own(file: str) -> bool:
    """Whether a source file is the user's own."""
    path = Path(file)
    return path.is_file() and SYSTEM_INCLUDE not in path.absolute().parents


def _file(file: str, lines: dict[int, int], parts: list[CoveredPart], test: str) -> Iterator[str]:
    yield f"TN:{test}"
    yield f"SF:{Path(file).absolute()}"
    functions = [part for part in parts if part.kind in _FUNCTIONS]
    for part in functions:
        yield f"FN:{part.pos.line},{part.name}"
    for part in functions:
        yield f"FNDA:{part.count},{part.name}"
    yield f"FNF:{len(functions)}"
    yield f"FNH:{sum(part.count > 0 for part in functions)}"
    choices = [part for part in parts if part.kind not in _FUNCTIONS]
    for line, at_line in groupby(sorted(choices, key=lambda part: part.pos.line), lambda part: part.pos.line):
        for block, (_, group) in enumerate(groupby(at_line, lambda part: (part.kind, part.of))):
            members = list(group)
            reached = any(part.count for part in members)
            for number, part in enumerate(members):
                yield f"BRDA:{line},{block},{number},{part.count if reached else '-'}"
    yield f"BRF:{len(choices)}"
    yield f"BRH:{sum(part.count > 0 for part in choices)}"
    for number, count in sorted(lines.items()):
        yield f"DA:{number},{count}"
    yield f"LF:{len(lines)}"
    yield f"LH:{sum(count > 0 for count in lines.values())}"
    yield "end_of_record"
