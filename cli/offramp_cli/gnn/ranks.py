# SPDX-License-Identifier: Apache-2.0
"""The ranks of a command on a store: one for each of its parts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from offramp.graph import read_manifest
from offramp.workers import expect_workers, open_launcher


def on_ranks(
    work: Any,
    settings: Any,
    kind: type,
    on_report: Callable[[Any], None] = lambda _: None,
    open_job: Callable[[int], AbstractContextManager[Any]] | None = None,
) -> Any:
    """Run all ranks; returns rank 0's result, or None in processes of torchrun other than rank 0.

    Args:
        work: a module-level function.
        settings: settings of the run, among them its store.
        kind: type of each rank's input.
        on_report: called with reports of rank 0.
        open_job: makes each rank's input from the number of ranks; by default, the settings.

    Raises:
        OfframpError: no store, or a rank failed.
    """
    parts = read_manifest(Path(settings.store)).parts
    expect_workers(parts)
    with open_launcher(parts, field="store", given=settings.store, timeout_s=settings.timeout_s) as launcher:
        if not launcher.leads:
            launcher.run(work, None, kind, on_report)
            return None
        with open_job(parts) if open_job else nullcontext(settings) as job:
            return launcher.run(work, [job] * parts, kind, on_report)
