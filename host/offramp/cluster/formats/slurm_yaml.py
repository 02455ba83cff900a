# SPDX-License-Identifier: Apache-2.0
"""Slurm's ``topology.yaml``: a list of topologies, each a tree, blocks or flat."""

from __future__ import annotations

import re
from typing import Any, Final

from offramp.cluster.formats import Defaults
from offramp.cluster.formats.tree import BLOCKS, TreeSwitch, put_above
from offramp.cluster.names import expand
from offramp_base.errors import OfframpError
from offramp_base.settings.source import Place, SourceFile, parse_source

_TYPES: Final = ("tree", "block", "flat")


def is_yaml(text: str) -> bool:
    """Whether a text begins as a list of topologies does."""
    return re.search(r"^[ \t]*-[ \t]*(topology|cluster_default|tree|block|flat)[ \t]*:", text, re.MULTILINE) is not None


def read_yaml(path: str, text: str, defaults: Defaults) -> dict[str, TreeSwitch]:
    """The switches of the topology that partitions have by default, or else of the first.

    Raises:
        OfframpError: names the file and line.
    """
    source = parse_source(text, path)
    rows = source.data
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise source.error((), "expected a list of topologies")
    chosen = next((i for i, row in enumerate(rows) if row.get("cluster_default") is True), 0)
    row = rows[chosen]
    if len(rows) > 1:
        defaults.note(f"{path}: {row.get('topology', chosen)} taken, of {len(rows)} topologies")
    kinds = [kind for kind in _TYPES if row.get(kind)]
    if len(kinds) != 1:
        raise source.error((chosen,), f"expected one of {', '.join(_TYPES)}")
    kind = kinds[0]
    if kind == "flat":
        return {}
    singular, plural, below = ("switch", "switches", "children") if kind == "tree" else ("block", "blocks", None)
    place: Place = (chosen, kind, plural)
    items = row[kind].get(plural) if isinstance(row[kind], dict) else None
    if not isinstance(items, list) or not items:
        raise source.error(place, f"expected a list of {plural}")
    branches: dict[str, TreeSwitch] = {}
    for i, item in enumerate(items):
        name = item.get(singular) if isinstance(item, dict) else None
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise source.error((*place, i), f"expected {singular}")
        if str(name) in branches:
            raise source.error((*place, i), f"{name} is there twice, first in {branches[str(name)].where}")
        branches[str(name)] = TreeSwitch(
            f"{path}:{source.line((*place, i))}",
            _names(source, (*place, i, "nodes"), item.get("nodes")),
            _names(source, (*place, i, below), item.get(below)) if below else [],
        )
    if kind == "block":
        put_above(branches, BLOCKS, list(branches))
    return branches


def _names(source: SourceFile, place: Place, value: Any) -> list[str]:
    if value is None:
        return []
    words = value if isinstance(value, list) else [value]
    try:
        return [name for word in words for name in expand(str(word))]
    except OfframpError as error:
        raise source.error(place, str(error)) from None
