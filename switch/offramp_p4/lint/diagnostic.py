# SPDX-License-Identifier: Apache-2.0
"""One warning."""

from __future__ import annotations

from dataclasses import dataclass

from offramp_p4.source import Pos, render


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What is wrong at a place; ``str()`` shows the line with a caret."""

    pos: Pos
    rule: str
    message: str

    def __str__(self) -> str:
        return render(self.pos, f"{self.message} [{self.rule}]", "warning")
