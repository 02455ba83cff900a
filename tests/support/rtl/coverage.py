# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of constrained random tests: bins that must all be hit, and what all benches of a run hit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

from offramp_sim.rtl.bench import report

Hits = dict[str, dict[str, dict[str, int]]]
"""By bench, point and bin."""


class Coverage:
    """Points with bins; :meth:`check` names the bins that no transaction hit."""

    def __init__(self, **points: Iterable[Hashable]) -> None:
        """``points``: the bins of each."""
        self._wanted = {name: set(bins) for name, bins in points.items()}
        self.hits: dict[str, Counter[Hashable]] = {name: Counter() for name in points}

    def hit(self, **bins: Hashable) -> None:
        """Count a transaction's bin in each point."""
        for name, value in bins.items():
            self.hits[name][value] += 1

    def check(self) -> None:
        """Report every bin's hits to the run, and fail unless every bin was hit."""
        points = {}
        for name, bins in self._wanted.items():
            points[name] = {_text(each): self.hits[name][each] for each in bins | self.hits[name].keys()}
        report(coverage=points)
        left = {name: bins - self.hits[name].keys() for name, bins in self._wanted.items()}
        assert not any(left.values()), f"not covered: { ({name: bins for name, bins in left.items() if bins}) }"


def _text(value: Hashable) -> str:
    return str(getattr(value, "name", value))


def merge(lines: Iterable[str]) -> Hits:
    """Sum what the benches of a run appended to their file."""
    merged: Hits = {}
    for line in lines:
        entry = json.loads(line)
        points = merged.setdefault(entry["bench"], {})
        for point, bins in entry["points"].items():
            sums = points.setdefault(point, {})
            for name, number in bins.items():
                sums[name] = sums.get(name, 0) + number
    return merged


def table(hits: Mapping[str, Mapping[str, Mapping[str, int]]]) -> list[str]:
    """One line per bench and point: bins hit of all, how often the rarest one was, and those that never were."""
    lines = []
    for bench, points in sorted(hits.items()):
        for point, bins in sorted(points.items()):
            never = [name for name, number in bins.items() if not number]
            some = len(bins) - len(never)
            rarest = min(bins, key=lambda name: (bins[name], name))
            rest = f"never: {', '.join(never)}" if never else f"least often {rarest}: {bins[rarest]}"
            lines.append(f"{bench}: {point}: {some} of {len(bins)} bins; {rest}")
    return lines
