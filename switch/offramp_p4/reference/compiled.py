# SPDX-License-Identifier: Apache-2.0
"""A program as bmv2's JSON, with the entries of a switch in it.

Entries in the JSON are there when bmv2 starts; its command line takes minutes for ten thousand.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offramp_base.errors import OfframpError
from offramp_p4.state import ActionData, Exact, Lpm, Match, Optional, Range, TableEntry, TableState, Ternary

if TYPE_CHECKING:
    from offramp_p4.engines import AnySwitch


def write_compiled(
    source: Path,
    into: Path,
    like: AnySwitch,
    *,
    include: Iterable[Path] = (),
    defines: Mapping[str, str] | None = None,
) -> None:
    """Compile ``source`` with p4c and add the entries of ``like``.

    Raises:
        OfframpError: p4c refuses the program, or a table uses an action profile.
    """
    command = ["p4c-bm2-ss", "--std", "p4-16", "-o", str(into), *(f"-I{folder}" for folder in include)]
    command += [f"-D{name}={value}" for name, value in (defines or {}).items()]
    done = subprocess.run([*command, str(source)], check=False, capture_output=True, text=True)
    if done.returncode:
        raise OfframpError(f"p4c-bm2-ss refuses {source}: {done.stderr.strip()}")
    config: dict[str, Any] = json.loads(into.read_text())
    names = {action["id"]: action["name"] for action in config["actions"]}
    for table in (table for pipeline in config["pipelines"] for table in pipeline["tables"]):
        state = like.tables.get(table["name"])
        if state is not None and len(state) and not state.table.const_entries:
            numbers = {names[number]: number for number in table["action_ids"]}
            table["entries"] = list(_entries(state, numbers))
    into.write_text(json.dumps(config))


def _entries(state: TableState, numbers: Mapping[str, int]) -> Iterable[dict[str, Any]]:
    highest = max(entry.priority for entry in state.entries)
    for entry in state.entries:
        yield _entry(state, entry, numbers, highest + 1 - entry.priority)  # bmv2's smallest number wins


def _entry(state: TableState, entry: TableEntry, numbers: Mapping[str, int], priority: int) -> dict[str, Any]:
    if not isinstance(entry.action, ActionData):
        raise OfframpError(f"table {state.name}: action profiles are not carried over to bmv2")
    data = [hex(value) for value in entry.action.args]
    return {
        "match_key": [_key(*key) for key in zip(entry.keys, state.kinds, state.widths, strict=True)],
        "action_entry": {"action_id": numbers[entry.action.action], "action_data": data},
        "priority": priority,
    }


def _key(match: Match, kind: str, width: int) -> dict[str, Any]:
    top = (1 << width) - 1

    def number(value: int) -> str:
        return f"0x{value:0{(width + 7) // 8 * 2}x}"

    if isinstance(match, Exact):
        return {"match_type": "exact", "key": number(match.value)}
    if kind == "lpm":
        value, length = (match.value, match.prefix_len) if isinstance(match, Lpm) else (0, 0)
        return {"match_type": "lpm", "key": number(value), "prefix_length": length}
    if kind == "range":
        low, high = (match.low, match.high) if isinstance(match, Range) else (0, top)
        return {"match_type": "range", "start": number(low), "end": number(high)}
    value, mask = 0, 0
    if isinstance(match, Ternary):
        value, mask = match.value, match.mask
    elif isinstance(match, Optional):
        value, mask = match.value, top
    return {"match_type": "ternary", "key": number(value), "mask": number(mask)}
