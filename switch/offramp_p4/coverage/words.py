# SPDX-License-Identifier: Apache-2.0
"""Coverage in a few words for a terminal: shares of each kind of part, and what no packet has run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from offramp_p4.coverage.recorded import Coverage, CoveredPart

_MOST: Final = 20
"""Parts that are named; the LCOV file has them all."""
_PLURALS: Final = {"entry": "entries", "branch": "branches", "select": "selects"}


def summary(runs: Iterable[Coverage]) -> Iterator[str]:
    """Lines for each program file of these runs."""
    lines: defaultdict[str, defaultdict[tuple[str, int], int]] = defaultdict(lambda: defaultdict(int))
    parts: defaultdict[str, dict[tuple[str, str, str], CoveredPart]] = defaultdict(dict)
    counts: defaultdict[str, defaultdict[tuple[str, str, str], int]] = defaultdict(lambda: defaultdict(int))
    for run in runs:
        file = run.program.file
        for place, count in run.lines.items():
            lines[file][place] += count
        for part in run.parts:
            key = part.kind, part.of, part.name
            parts[file][key] = part
            counts[file][key] += part.count
    for file, known in parts.items():
        shares = [f"lines {_share(lines[file].values())}"]
        for kind in dict.fromkeys(part.kind for part in known.values()):
            chosen = [counts[file][key] for key in known if key[0] == kind]
            shares.append(f"{_PLURALS.get(kind, kind + 's')} {_share(chosen)}")
        yield f"{file}: {', '.join(shares)}"
        idle = [part for key, part in known.items() if not counts[file][key]]
        for part in idle[:_MOST]:
            yield f"  never: {part.kind} {part.of + ': ' if part.of else ''}{part.name} ({part.pos})"
        if len(idle) > _MOST:
            yield f"  and {len(idle) - _MOST} more"


def _share(counts: Iterable[int]) -> str:
    known = list(counts)
    return f"{sum(count > 0 for count in known)} of {len(known)}"
