# SPDX-License-Identifier: Apache-2.0
"""A program as bmv2's JSON, with the entries of a switch in it.

Entries in the JSON are there when bmv2 starts; its command line takes minutes for ten thousand.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offramp_base.errors import OfframpError
from offramp_p4.reference.entries import entry_keys, goes_into_json, ranked
from offramp_p4.state import ActionData

if TYPE_CHECKING:
    from offramp_p4.engines import AnySwitch
    from offramp_p4.state import TableState


class CompilerRefusal(OfframpError):
    """The compiler does not take a program."""


def write_compiled(
    source: Path,
    into: Path,
    like: AnySwitch,
    compiler: str = "p4c-bm2-ss",
    *,
    include: Iterable[Path] = (),
    defines: Mapping[str, str] | None = None,
) -> None:
    """Compile ``source`` with p4c's ``compiler`` and add the entries of ``like`` that have a place in JSON.

    Raises:
        CompilerRefusal: p4c refuses the program.
    """
    command = [compiler, "--std", "p4-16", "-o", str(into), *(f"-I{folder}" for folder in include)]
    command += [f"-D{name}={value}" for name, value in (defines or {}).items()]
    done = subprocess.run([*command, str(source)], check=False, capture_output=True, text=True)
    if done.returncode:
        raise CompilerRefusal(f"{Path(compiler).name} refuses {source}: {done.stderr.strip()}")
    config: dict[str, Any] = json.loads(into.read_text())
    names = {action["id"]: action["name"] for action in config["actions"]}
    for table in (table for pipeline in config["pipelines"] for table in pipeline["tables"]):
        state = like.tables.get(table["name"])
        if state is not None and len(state) and goes_into_json(state) and not state.table.const_entries:
            numbers = {names[number]: number for number in table["action_ids"]}
            table["entries"] = list(_entries(state, numbers))
    into.write_text(json.dumps(config))


def _entries(state: TableState, numbers: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    for entry, priority in ranked(state):
        assert isinstance(entry.action, ActionData), "entries of action profiles go through the command line"
        data = [hex(value) for value in entry.action.args]
        yield {
            "match_key": entry_keys(state, entry),
            "action_entry": {"action_id": numbers[entry.action.action], "action_data": data},
            "priority": priority,
        }
