# SPDX-License-Identifier: Apache-2.0
"""The table of ``offramp … doctor``."""

from __future__ import annotations

from collections.abc import Iterable

import typer

from offramp_base.checks import Check


def show_checks(checks: Iterable[Check]) -> None:
    """Print a line a check, and end with exit code 1 if something needed is missing."""
    from rich.console import Console
    from rich.table import Table

    found = list(checks)
    table = Table("", "what", "found", "what to do", box=None)
    for check in found:
        state = (
            "[green]ok[/green]" if check.ok else "[red]missing[/red]" if check.needed else "[yellow]missing[/yellow]"
        )
        table.add_row(state, check.name, check.found, "" if check.ok else check.advice)
    Console(highlight=False).print(table)
    if any(check.needed and not check.ok for check in found):
        raise typer.Exit(1)
