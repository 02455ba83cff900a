# SPDX-License-Identifier: Apache-2.0
"""Warnings about P4 programs that load: what is unused, has no effect, or will not do on hardware."""

from __future__ import annotations

from offramp_p4 import ir
from offramp_p4.lint.diagnostic import RULES, Diagnostic

__all__ = ["RULES", "Diagnostic", "lint"]


def lint(program: ir.Program) -> list[Diagnostic]:
    """All warnings about the user's part of a program, in the order of their places, each once."""
    warnings = {warning for name in RULES.names() for warning in RULES.get(name)(program) if warning.pos.line}
    return sorted(warnings, key=lambda w: (w.pos.file, w.pos.line, w.pos.column, w.rule, w.message))
