# SPDX-License-Identifier: Apache-2.0
"""The table of schemes: the most bits and the fastest first, the chosen one marked, alike ones together."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from offramp_cli.switchgnn.schemes import print_schemes


def row(scheme: str, seconds: float, bits: int = 32, **more: Any) -> dict[str, Any]:
    common = {"wire_up": 1000, "wire_down": 2000, "by_hosts": 0, "passes": 12, "rounds": 3, "imbalance": 1.25}
    return {"scheme": scheme, "bits": bits, "predicted": {"seconds": seconds}, **common, **more}


ROWS = [
    row("q8", 0.001, 8, wire_up=250),
    row("pairwise", 0.004),
    row("twin", 0.002),
    row("chosen", 0.002),
    row("q16", 0.0005, 16, wire_up=500),
]


@pytest.mark.parametrize("measured", [False, True])
def test_a_table_of_schemes(measured: bool) -> None:
    console = Console(record=True, width=200)
    rows = [each | {"measured": {"seconds": 2 * each["predicted"]["seconds"]}} for each in ROWS] if measured else ROWS
    print_schemes(console, rows, "chosen")
    lines = [" ".join(line.split()) for line in console.export_text(clear=False).splitlines()]
    headings = "scheme wire up wire down by hosts passes rounds busiest/mean predicted"
    assert lines[:2] == [
        "one exchange under each scheme, all workers",
        headings + (" measured" if measured else ""),
    ]
    end = (" 4 ms", " 8 ms", " 1 ms", " 2 ms") if measured else ("",) * 4
    assert lines[2:7] == [
        "* chosen 1.00 kB 2.00 kB 0 B 12 3 1.25 2 ms" + end[0],
        "twin",
        "pairwise 1.00 kB 2.00 kB 0 B 12 3 1.25 4 ms" + end[1],
        "q16 500 B 2.00 kB 0 B 12 3 1.25 500 \u00b5s" + end[2],
        "q8 250 B 2.00 kB 0 B 12 3 1.25 1 ms" + end[3],
    ]


def test_the_chosen_one_is_bold_and_what_rounds_is_dim() -> None:
    console = Console(record=True, width=200, force_terminal=True, color_system="standard")
    print_schemes(console, ROWS, "chosen")
    styles = {}
    for line in console.export_text(styles=True).splitlines():
        for name in ("chosen", "pairwise", "q16", "q8"):
            if f"{name} " in line and "kB" in line:
                styles[name] = "bold" if "\x1b[1m" in line else "dim" if "\x1b[2m" in line else "plain"
    assert styles == {"chosen": "bold", "pairwise": "plain", "q16": "dim", "q8": "dim"}
