# SPDX-License-Identifier: Apache-2.0
"""Matching of several ranks' nodes that are one collective or one transfer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from offramp.hermod.chakra import schema
from offramp.hermod.chakra.collectives import NAMES
from offramp.hermod.chakra.groups import Groups
from offramp.hermod.chakra.node import ChakraNode
from offramp_base.errors import OfframpError

Key = tuple[object, ...]
"""Key of a task: ``("node", rank, id)``, ``("barrier", id)``, ``("transfer", source, sink, tag, n)`` or
``("collective", type, group, ranks, n)``."""
COMMUNICATION = (schema.SEND, schema.RECEIVE, schema.COLLECTIVE)


@dataclass(frozen=True, slots=True)
class TaskShare:
    """One rank's share of a task."""

    rank: int
    node: ChakraNode


class Matcher:
    """Gives nodes the keys of their tasks: the n-th of a kind on each rank belong together.

    Args:
        groups: process groups of each rank, by name.
        cpu: whether operations of the CPU count. Where others are there, they only launch these.
        ours: whether the traces are of our own writing.
    """

    def __init__(self, groups: Sequence[Groups], *, cpu: bool, ours: bool) -> None:
        self._groups, self._cpu, self._ours = groups, cpu, ours
        self._ranks = len(groups)
        self._counts: dict[Key, int] = {}
        self._sent: dict[Key, TaskShare] = {}
        self._received: dict[Key, TaskShare] = {}
        self._joined: dict[Key, list[TaskShare]] = {}

    def counts(self, node: ChakraNode) -> bool:
        """Whether a node communicates or takes time."""
        return self._cpu or not node.attributes.get("is_cpu_op", False)

    def is_barrier(self, node: ChakraNode) -> bool:
        """Whether a node is the barrier between iterations that our own traces have on every rank."""
        return self._ours and node.name == "barrier"

    def key(self, rank: int, node: ChakraNode) -> tuple[Key, Key | None]:
        """The key of a node's task, and that of the transfer of a receive: its own key where it waits for nothing else.

        Raises:
            OfframpError: a kind that is not handled, or a peer that there is not.
        """
        if node.kind not in range(8):
            raise OfframpError(f"rank {rank}: node {node.id}: kind {node.kind} is not handled")
        if node.kind not in COMMUNICATION or not self.counts(node):
            return (("barrier", node.id) if self.is_barrier(node) else ("node", rank, node.id)), None
        if node.kind == schema.COLLECTIVE:
            return self._collective(rank, node), None
        key = self._transfer(rank, node)
        if node.kind == schema.SEND:
            self._sent[key] = TaskShare(rank, node)
            return key, None
        self._received[key] = TaskShare(rank, node)
        return (("node", rank, node.id) if node.waits else key), key

    def _transfer(self, rank: int, node: ChakraNode) -> Key:
        """The next transfer of a sender, a receiver and a tag."""
        sending, a = node.kind == schema.SEND, node.attributes
        source = whole(a, "comm_src", rank if sending else -1)
        sink = whole(a, "comm_dst", -1 if sending else rank)
        for end in (source, sink):
            if not 0 <= end < self._ranks:
                raise OfframpError(f"rank {rank}: node {node.id}: its peer {end} is not one of {self._ranks} ranks")
        return self._numbered((sending,), ("transfer", source, sink, whole(a, "comm_tag", 0)))

    def check(self) -> None:
        """Every send is received, and every collective is on all of its ranks.

        Raises:
            OfframpError: names rank, node and number of what has no counterpart.
        """
        for these, those, does, lacks in (
            (self._sent, self._received, "sends", "receives"),
            (self._received, self._sent, "receives", "sends"),
        ):
            for key, part in these.items():
                if key not in those:
                    raise OfframpError(
                        f"rank {part.rank}: node {part.node.id}: {does} what no rank {lacks} (number {key[-1]})"
                    )
        used: dict[Key, set[int]] = {}
        for key, parts in self._joined.items():
            used.setdefault(key[:-1], set()).update(part.rank for part in parts)
        for key, parts in self._joined.items():
            there = {part.rank for part in parts}
            members = key[3] if isinstance(key[3], tuple) else used[key[:-1]]
            missing = sorted(set(members) - there)
            if missing:
                first, kind = parts[0], key[1]
                assert isinstance(kind, int)
                raise OfframpError(
                    f"rank {first.rank}: node {first.node.id}: {NAMES[kind]} number {key[-1]} of its group "
                    f"is not on rank {missing[0]}"
                )

    def _collective(self, rank: int, node: ChakraNode) -> Key:
        a = node.attributes
        kind = whole(a, "comm_type", -1)
        if kind not in NAMES:
            raise OfframpError(f"rank {rank}: node {node.id}: collective of type {kind} is not handled")
        name = next((str(a[field]) for field in ("pg_name", "comm_group") if a.get(field, "") != ""), "")
        members: tuple[int, ...] | None = self._groups[rank].get(name)
        if members is None and not name:
            members = tuple(range(self._ranks))
        if members is not None and rank not in members:
            raise OfframpError(f"rank {rank}: node {node.id}: is not in group {name}, which has {list(members)}")
        key = self._numbered((rank,), ("collective", kind, name, members))
        self._joined.setdefault(key, []).append(TaskShare(rank, node))
        return key

    def _numbered(self, who: Key, name: Key) -> Key:
        count = self._counts.get((*who, *name), 0)
        self._counts[*who, *name] = count + 1
        return (*name, count)


def whole(attributes: Mapping[str, object], name: str, default: int) -> int:
    """A whole number among attributes.

    Raises:
        OfframpError: something else has that name.
    """
    value = attributes.get(name, default)
    if isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    if not isinstance(value, int | float):
        raise OfframpError(f"attribute {name}: {value!r}, expected a number")
    return int(value)
