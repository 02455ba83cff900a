# SPDX-License-Identifier: Apache-2.0
"""The way from one configuration to another as a JSON patch (RFC 6902), which ``config apply-patch`` takes."""

from __future__ import annotations

import re
from typing import Any

from offramp.hermod.deploy.sonic.tables import QUEUE, Config

Operation = dict[str, Any]


def diff(before: Config, after: Config) -> list[Operation]:
    """Additions and changes, then removals, so that nothing refers to what is not there.

    Rows of queues are removed first: one for several queues takes from each what a row of its own has set.
    """
    changes = _changes((), before, after)
    parts: tuple[list[Operation], ...] = ([], [], [])
    for op in changes:
        parts[1 if op["op"] != "remove" else 0 if re.fullmatch(f"/{QUEUE}/[^/]+", op["path"]) else 2].append(op)
    return [*reversed(parts[0]), *parts[1], *reversed(parts[2])]


def _changes(at: tuple[str, ...], before: Any, after: Any) -> list[Operation]:
    operations: list[Operation] = []
    for key in [*after, *(key for key in before if key not in after)]:
        path = (*at, key)
        if key not in after:
            operations.append({"op": "remove", "path": _pointer(path)})
        elif key not in before:
            operations.append({"op": "add", "path": _pointer(path), "value": after[key]})
        elif before[key] != after[key]:
            if isinstance(before[key], dict) and isinstance(after[key], dict):
                operations += _changes(path, before[key], after[key])
            else:
                operations.append({"op": "replace", "path": _pointer(path), "value": after[key]})
    return operations


def _pointer(path: tuple[str, ...]) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)
