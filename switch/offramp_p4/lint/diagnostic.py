# SPDX-License-Identifier: Apache-2.0
"""A warning, and the rules that give warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from offramp_base.registry import Registry
from offramp_p4 import ir
from offramp_p4.source import Pos, render


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A warning about a place; ``str()`` shows the line with a caret."""

    pos: Pos
    rule: str
    message: str

    def __str__(self) -> str:
        return render(self.pos, f"{self.message} [{self.rule}]", "warning")


RULES: Final[Registry[Callable[[ir.Program], Iterator[Diagnostic]]]] = Registry(
    "lint rule", "offramp.lint_rules", "offramp_p4.lint"
)
"""Rules by name, each from a program to its warnings."""
