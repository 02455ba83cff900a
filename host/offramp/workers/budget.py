# SPDX-License-Identifier: Apache-2.0
"""A limit on the memory of this process, enforced by the kernel, and the peak by the kernel's count.

A control group limits all memory that is charged to the process from then on, page cache included, which the kernel
gives back under pressure (v2: ``memory.max``, v1: ``memory.limit_in_bytes``). Where none can be made, ``RLIMIT_DATA``
limits private memory alone, and the peak is that of the resident set, pages of mapped files included.

The kernel kills a process that needs more than its group has. Whoever started it learns that from :func:`exceeded`,
which also removes the group.
"""

from __future__ import annotations

import os
import resource
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from offramp_base.ending.owner import is_left, owned_name
from offramp_base.errors import OfframpError

ROOT: Final = Path("/sys/fs/cgroup")
LEAST: Final = 8 << 20
"""Least budget of a process, in bytes: threads and messages take some MB."""
_FILES: Final = {"memory.max": "memory.peak", "memory.limit_in_bytes": "memory.max_usage_in_bytes"}
_KILLS: Final = ("memory.events", "memory.oom_control")
_NAME: Final = "memory"


class MemoryBudget(ABC):
    """A limit on memory.

    Attributes:
        by: what enforces it.
    """

    by: str

    @abstractmethod
    def peak(self) -> int:
        """Most bytes so far."""


class ControlGroup(MemoryBudget):
    """A control group of this process alone."""

    def __init__(self, folder: Path, limit: str, budget: int) -> None:
        """Args: folder: of the group, which exists; limit: file of the limit; budget: in bytes."""
        self.by = f"control group ({limit})"
        self._peak = folder / _FILES[limit]
        (folder / limit).write_text(str(budget), "ascii")
        (folder / "cgroup.procs").write_text(str(os.getpid()), "ascii")
        self._peak.read_text("ascii")

    def peak(self) -> int:
        """Most bytes charged, by the kernel."""
        return int(self._peak.read_text("ascii"))


class DataLimit(MemoryBudget):
    """``RLIMIT_DATA``: private memory that is mapped from now on; too much is an error of the allocation."""

    by = "RLIMIT_DATA; the peak is the resident set's growth, mapped files included"

    def __init__(self, budget: int) -> None:
        soft, self._hard = resource.getrlimit(resource.RLIMIT_DATA)
        self._soft = soft
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", "ascii")  # the peak starts from here
        self._before = _status("VmRSS")
        resource.setrlimit(resource.RLIMIT_DATA, (_status("VmData") + budget, self._hard))

    def peak(self) -> int:
        """Growth of the resident set at its peak."""
        return max(0, _status("VmHWM") - self._before)

    def end(self) -> None:
        """Limit nothing any more."""
        resource.setrlimit(resource.RLIMIT_DATA, (self._soft, self._hard))


@contextmanager
def open_budget(budget: int | None, root: Path = ROOT) -> Iterator[MemoryBudget | None]:
    """Limit this process to ``budget`` bytes more than it has; None limits nothing.

    Raises:
        OfframpError: the budget is below :data:`LEAST`.
    """
    if budget is None:
        yield None
        return
    if budget < LEAST:
        raise OfframpError(f"memory budget of {budget} bytes: expected at least {LEAST}")
    with _group(root) as group:
        if group is not None:
            yield ControlGroup(*group, budget)
            return
    limit = DataLimit(budget)
    try:
        yield limit
    finally:
        limit.end()


def exceeded(pid: int, root: Path = ROOT) -> int | None:
    """The budget of a process that the kernel killed for needing more, in bytes, else None. Removes its group."""
    for parent, limit in _places(root):
        for folder in parent.glob(f"offramp-{pid}.*-{_NAME}"):
            budget, kills = None, 0
            with suppress(OSError, ValueError):  # it may have ended before its group had a limit
                words = [line.split() for name in _KILLS if (folder / name).exists() for line in _lines(folder / name)]
                kills = sum(int(count) for what, count in words if what == "oom_kill")
                budget = int((folder / limit).read_text("ascii"))
            with suppress(OSError):
                folder.rmdir()
            return budget if kills else None
    return None


@contextmanager
def _group(root: Path) -> Iterator[tuple[Path, str] | None]:
    """A new control group and the file of its limit; the process leaves it at the end. None if none can be made."""
    for parent, limit in _places(root):
        for left in parent.glob(f"offramp-*-{_NAME}"):
            if is_left(left.name):
                with suppress(OSError):
                    left.rmdir()
        folder = parent / f"{owned_name()}{_NAME}"
        with suppress(OSError):
            folder.mkdir()
        if not (folder / limit).exists() or not os.access(folder / limit, os.W_OK):
            with suppress(OSError):
                folder.rmdir()
            continue
        try:
            yield folder, limit
        finally:
            with suppress(OSError):
                (parent / "cgroup.procs").write_text(str(os.getpid()), "ascii")
                folder.rmdir()
        return
    yield None


def _places(root: Path) -> list[tuple[Path, str]]:
    """Where groups of this process can be made, and the file of their limit."""
    return [
        (_own(root, "memory", root / "memory"), "memory.limit_in_bytes"),
        (_own(root, "", root), "memory.max"),
    ]


def _own(root: Path, controller: str, mount: Path) -> Path:
    """This process's group in the hierarchy of a controller; the unified one has no name."""
    with suppress(OSError):
        for line in _lines(Path("/proc/self/cgroup")):
            _, names, path = line.split(":", 2)
            if controller in names.split(",") and (mount / path.lstrip("/")).is_dir():
                return mount / path.lstrip("/")
    return mount if mount.is_dir() else root


def _status(field: str) -> int:
    """A field of this process's status, in bytes."""
    lines = _lines(Path("/proc/self/status"))
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def _lines(path: Path) -> list[str]:
    return path.read_text("ascii").splitlines()
