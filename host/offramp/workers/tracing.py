# SPDX-License-Identifier: Apache-2.0
"""Traces of PyTorch's profiler (Kineto; on GPUs through CUPTI) of all ranks of the runs that a process starts."""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from offramp.workers.group import Group
    from offramp.workers.processes import Work

_folder: ContextVar[Path | None] = ContextVar("folder of traces", default=None)


@contextmanager
def tracing(folder: Path) -> Iterator[None]:
    """Let ranks of runs that start meanwhile leave ``rank0.json`` and so on in ``folder``."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def traced(work: Work) -> Work:
    """``work`` as it is, or within :func:`tracing` under the profiler."""
    folder = _folder.get()
    return work if folder is None else _TracedWork(work, folder)


@dataclass(frozen=True)
class _TracedWork:
    """Work of a rank under the profiler: kernels where there is a GPU, else operators."""

    work: Work
    folder: Path

    def __call__(self, group: Group, item: Any, report: Callable[[Any], None]) -> Any:
        os.environ.setdefault("KINETO_LOG_LEVEL", "5")  # errors only
        import torch
        from torch.profiler import ProfilerActivity, profile

        kind = ProfilerActivity.CUDA if torch.cuda.is_available() else ProfilerActivity.CPU
        with profile(activities=[kind]) as profiler:
            result = self.work(group, item, report)
        profiler.export_chrome_trace(str(self.folder / f"rank{group.rank}.json"))
        return result
