# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of constrained random tests: bins that must all be hit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable


class Coverage:
    """Points with bins; :meth:`check` names the bins that no transaction hit."""

    def __init__(self, **points: Iterable[Hashable]) -> None:
        """``points``: the bins of each."""
        self._wanted = {name: set(bins) for name, bins in points.items()}
        self.hits: dict[str, Counter[Hashable]] = {name: Counter() for name in points}

    def hit(self, **bins: Hashable) -> None:
        """Count a transaction's bin in each point."""
        for name, found in bins.items():
            self.hits[name][found] += 1

    def check(self) -> None:
        """Fail unless every bin was hit."""
        left = {name: bins - self.hits[name].keys() for name, bins in self._wanted.items()}
        assert not any(left.values()), f"not covered: { ({name: bins for name, bins in left.items() if bins}) }"
