# SPDX-License-Identifier: Apache-2.0
"""The ranks of a communicator: ASTRA-sim's file of groups, or what PyTorch's profiler has written into a trace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from offramp.hermod.chakra import schema
from offramp.hermod.chakra.node import ChakraNode, ChakraTrace
from offramp_base.documents import parse_json, read_bytes
from offramp_base.errors import OfframpError

Groups = Mapping[str, tuple[int, ...]]
_MOST_BYTES: Final = 64 << 20


def read_groups(path: Path, ranks: int) -> Groups:
    """A JSON object of lists of ranks, by the groups' names.

    Raises:
        OfframpError: something else, or a rank that there is not.
    """
    whole = parse_json(read_bytes(path, _MOST_BYTES))
    if not isinstance(whole, dict):
        raise OfframpError(f"{path}: expected an object of groups")
    return {str(name): _members(members, ranks, f"{path}: group {name}") for name, members in whole.items()}


def groups_of(trace: ChakraTrace, ranks: int) -> Groups:
    """The process groups that a captured trace tells of; a group without ranks is that of all.

    Raises:
        OfframpError: a rank that there is not.
    """
    groups: dict[str, tuple[int, ...]] = {}
    for node in trace.nodes:
        if node.kind == schema.METADATA and "pg_name" in node.inputs:
            for row in _rows(node):
                name = str(row["pg_name"])
                members = row.get("ranks") or list(range(ranks))
                groups[name] = _members(members, ranks, f"node {node.id}: process group {name}")
    return groups


def _rows(node: ChakraNode) -> list[dict[str, object]]:
    """A list of objects, in whatever quotes and brackets it stands."""
    begin, end = node.inputs.find("[{"), node.inputs.rfind("}]")
    try:
        rows = json.loads(node.inputs[begin : end + 2])
    except ValueError:
        raise OfframpError(f"node {node.id}: its process groups are no JSON") from None
    return [row for row in rows if isinstance(row, dict) and "pg_name" in row]


def _members(members: object, ranks: int, what: str) -> tuple[int, ...]:
    if not isinstance(members, list) or not members or len(set(map(str, members))) < len(members):
        raise OfframpError(f"{what}: expected a list of different ranks")
    for rank in members:
        if not isinstance(rank, int) or isinstance(rank, bool) or not 0 <= rank < ranks:
            raise OfframpError(f"{what}: rank {rank} is not one of the {ranks} that there are traces of")
    return tuple(members)
