# SPDX-License-Identifier: Apache-2.0
"""The table of ``offramp switch bench``, printed row by row, so that an interrupted measurement leaves its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console

    from offramp_p4.bench.rates import MeasuredRate

_NUMBERS: Final = ("packets/s", "passes/s", "ns/pass", "x bmv2", "load s", "kernel %")
_WORKLOAD: Final = 24
_WIDTHS: Final = (12, 12, 10, 8, 7, 8)


class BenchRows:
    """Rows below a heading, each printed at once.

    Args:
        out: where they are printed.

    Attributes:
        skipped: measurements that were skipped, with reasons.
    """

    def __init__(self, out: Console) -> None:
        self._out = out
        self._bmv2: dict[tuple[str, str], float] = {}
        self.skipped: dict[str, str] = {}
        self._print("workload", "links", "switch", _NUMBERS)

    def skip(self, name: str, reason: str) -> None:
        """Print that a measurement was skipped."""
        self.skipped[name] = reason
        self._out.print(f"{name}: not measured: {reason}", markup=False)

    def add(self, rate: MeasuredRate) -> None:
        """Print a measurement; later ones are compared with the last one of bmv2."""
        of = rate.workload, rate.links
        if rate.switch == "bmv2":
            self._bmv2[of] = rate.passes_per_s
        ratio = f"{rate.passes_per_s / self._bmv2[of]:,.1f}" if of in self._bmv2 else ""
        load = "" if rate.load_s is None else f"{rate.load_s:.2f}"
        speeds = (f"{each:,.0f}" for each in (rate.packets_per_s, rate.passes_per_s, rate.ns_per_pass))
        kernel = "" if rate.kernel is None else f"{100 * rate.kernel:.0f}"
        self._print(*of, rate.switch, (*speeds, ratio, load, kernel))

    def _print(self, workload: str, links: str, switch: str, numbers: Sequence[str]) -> None:
        columns = [text.rjust(width) for text, width in zip(numbers, _WIDTHS, strict=True)]
        self._out.print(f"{workload:<{_WORKLOAD}}  {links:<6}  {switch:<6}", *columns, markup=False)
