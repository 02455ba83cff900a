# SPDX-License-Identifier: Apache-2.0
"""The program that is debugged, and its lines by what stands on them."""

from __future__ import annotations

from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "p4/debug/counted.p4"
STF = PROGRAM.with_suffix(".stf")


def line(text: str) -> int:
    """The number of the only line that holds ``text``."""
    (number,) = [n for n, each in enumerate(PROGRAM.read_text(encoding="utf-8").splitlines(), 1) if text in each]
    return number
