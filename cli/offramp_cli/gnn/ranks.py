# SPDX-License-Identifier: Apache-2.0
"""The ranks of a command on a store: as many as it has parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from offramp.graph.store import read_manifest
from offramp.workers.launch import open_launcher
from offramp.workers.processes import expect_workers


def on_ranks(work: Any, settings: Any, kind: type, told: Callable[[Any], None] = lambda _: None) -> Any:
    """What rank 0 returns; None in processes of torchrun other than rank 0.

    Raises:
        OfframpError: no store, or a rank failed.
    """
    parts = read_manifest(Path(settings.store)).parts
    expect_workers(parts)
    with open_launcher(parts, field="store", given=settings.store, timeout_s=settings.timeout_s) as launcher:
        done = launcher.run(work, [settings] * parts if launcher.leads else None, kind, told)
        return done if launcher.leads else None
