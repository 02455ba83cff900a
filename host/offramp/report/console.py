# SPDX-License-Identifier: Apache-2.0
"""Training runs on a terminal: progress, one line per epoch, and a closing table."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from offramp.report.totals import TOTALS
from offramp.report.units import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

    from offramp.report.model import TrainingRun
    from offramp.workers.epochs import EpochRecord


@contextmanager
def epoch_progress(
    console: Console, name: str, epochs: int, *, lines: bool = True
) -> Iterator[Callable[[EpochRecord], None]]:
    """A progress bar over the epochs of a run; yields the function to call after each epoch.

    Args:
        console: where to print.
        name: name of the run.
        epochs: number of epochs.
        lines: whether each epoch also gets a line of its own.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(name, total=epochs, state="starting")

        def show(epoch: EpochRecord) -> None:
            progress.update(task, completed=epoch.epoch, state=f"loss {epoch.loss:.4f}  {epoch.progress()[0]}")
            if lines:
                progress.console.print(epoch_line(epoch, epochs), highlight=False, soft_wrap=True)

        yield show


def epoch_line(epoch: EpochRecord, epochs: int) -> str:
    """One epoch in one line."""
    number = f"epoch {epoch.epoch:>{len(str(epochs))}}/{epochs}"
    return "  ".join([number, f"loss {epoch.loss:.4f}", *epoch.progress()])


def runs_table(runs: Sequence[TrainingRun]) -> Table:
    """Totals, one column per run."""
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for run in runs:
        table.add_column(run.name, justify="right")
    for name, read in TOTALS.items():
        table.add_row(name, *(number(read(run.result)) for run in runs))
    return table
