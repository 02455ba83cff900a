# SPDX-License-Identifier: Apache-2.0
"""The backend's interface for programs; none of it is needed to use the backend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch.distributed as dist

from offramp.torch.dispatcher import BackendDispatcher, every
from offramp.torch.history import rows, totals, write_dump
from offramp.torch.priorities import priority
from offramp_base.errors import OfframpError

__all__ = ["counters", "dump", "last_collectives", "priority"]


def counters(group: dist.ProcessGroup | None = None) -> dict[str, dict[str, dict[str, int]]]:
    """Calls, bytes and failures of a group's finished collectives, by who ran them and kind.

    Raises:
        OfframpError: the group has another backend.
    """
    return totals(_of(group).recorder)


def last_collectives(group: dist.ProcessGroup | None = None) -> list[dict[str, Any]]:
    """The latest collectives of a group, the oldest first.

    Raises:
        OfframpError: the group has another backend.
    """
    return rows(_of(group).recorder)


def dump(folder: str | Path, reason: str = "asked for") -> list[Path]:
    """Write the latest collectives of all groups of this process into a folder, one file per group.

    Raises:
        OfframpError: a file cannot be written.
    """
    return [write_dump(Path(folder), each, reason) for each in list(every)]


def _of(group: dist.ProcessGroup | None) -> BackendDispatcher:
    wanted = group if group is not None else dist.group.WORLD
    name = getattr(wanted, "group_name", None)
    for each in list(every):
        if each.place.name == name:
            return each
    raise OfframpError(f"group {name}: does not have the backend offramp")
