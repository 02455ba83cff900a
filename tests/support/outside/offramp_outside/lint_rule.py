# SPDX-License-Identifier: Apache-2.0
"""A lint rule: tables are many."""

from __future__ import annotations

from collections.abc import Iterator

from offramp_p4 import ir
from offramp_p4.lint import Diagnostic


def many_tables(program: ir.Program) -> Iterator[Diagnostic]:
    """Warning ``many-tables`` at every table behind the first."""
    for table in list(program.tables)[1:]:
        yield Diagnostic(table.pos, "many-tables", f"table {table.name} is not the first")
