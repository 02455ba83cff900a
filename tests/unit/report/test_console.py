# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io

from rich.console import Console

from offramp.report.console import epoch_line, epoch_progress, runs_table
from offramp.train.results import Epoch

EPOCH = Epoch(
    epoch=7,
    loss=0.51234,
    train_accuracy=0.99,
    val_accuracy=0.931,
    test_accuracy=0.92,
    seconds=0.4204,
    communication_seconds=0.3111,
    reduction_seconds=0.0204,
)


def test_one_line_an_epoch() -> None:
    assert epoch_line(EPOCH, 60) == ("epoch  7/60  loss 0.5123  val 93.1 %  0.420 s  comm 0.311 s  reduce 0.020 s")
    assert len(epoch_line(EPOCH, 9999)) <= 80


def test_lines_are_not_broken_where_the_terminal_is_narrow() -> None:
    console = Console(file=io.StringIO(), width=40)
    with epoch_progress(console, "p2p", 60, lines=True) as on_epoch:
        on_epoch(EPOCH)
    assert console.file.getvalue() == epoch_line(EPOCH, 60) + "\n"


def test_table_has_a_column_a_run(report) -> None:
    console = Console(file=io.StringIO(), width=120)
    console.print(runs_table(report.runs))
    lines = console.file.getvalue().splitlines()
    assert lines[0].split() == ["local", "p2p", "strawman", "switch"]
    overflows = next(line for line in lines if line.startswith("overflows"))
    assert overflows.split() == ["overflows", "0", "0", "4\u202f321", "0"] or "321" in overflows
