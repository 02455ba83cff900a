# SPDX-License-Identifier: Apache-2.0
"""Chakra traces as a DAG: ours exactly, those of others by their communication's type, size and group."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from offramp.hermod import dag as kinds
from offramp.hermod.build import sort_tasks
from offramp.hermod.chakra import schema
from offramp.hermod.chakra.trace import Node, Trace, read_trace
from offramp.hermod.dag import Coflow, Compute, Dag, Flows, Task
from offramp.hermod.factors import CType, Factors
from offramp_base.errors import OfframpError

_ROLES: Final = {
    schema.ALL_TO_ALL: (kinds.DISPATCH, CType.EP),
    schema.REDUCE_SCATTER: (kinds.REDUCE_SCATTER, CType.DP),
    schema.ALL_GATHER: (kinds.ALL_GATHER, CType.DP),
    schema.ALL_REDUCE: (kinds.REDUCE_SCATTER, CType.DP),
}
_IGNORED: Final = {schema.INVALID, schema.METADATA, schema.MEMORY_LOAD, schema.MEMORY_STORE}


def load_dag(folder: Path) -> Dag:
    """All ``*.RANK.et`` (or ``.json``) of a folder as one DAG.

    A collective without ``peers`` is one of all ranks: the n-th of a type (and ``comm_group``, where there is one) on
    each rank belong together; a ring for AllReduce, ReduceScatter and AllGather, even shares for AllToAll. Sends and
    receives belong together by ``comm_src``, ``comm_dst``, ``comm_tag`` and order. Without ``mid`` and ``lid`` a node
    counts as microbatch and layer 0. Memory and metadata nodes take no time.

    Raises:
        OfframpError: no traces, ranks missing, a node of a kind that is not handled, an unknown dependency.
    """
    found: dict[int, Path] = {}
    for path in sorted(folder.glob("*")):
        match = re.fullmatch(r".*\.(\d+)\.(et|json)", path.name)
        if match:
            found[int(match[1])] = path
    if not found:
        raise OfframpError(f"{folder}: no files like trace.0.et")
    if sorted(found) != list(range(len(found))):
        raise OfframpError(f"{folder}: ranks {sorted(found)}, expected 0 to {len(found) - 1}")
    return join([read_trace(found[rank]) for rank in sorted(found)])


def join(traces: list[Trace]) -> Dag:
    """One DAG from the traces of all ranks.

    Raises:
        OfframpError: as :func:`load_dag`.
    """
    joined = _Joined(len(traces))
    for rank, trace in enumerate(traces):
        for node in trace.nodes:
            joined.add(rank, node)
    tasks = joined.tasks()
    facts = traces[0].attributes

    def fact(name: str, default: int) -> int:
        value = facts.get(name, default)
        return int(value) if isinstance(value, int | float) else default

    coflows = [task for task in tasks if isinstance(task, Coflow)]
    layers = 1 + max((c.factors.lid for c in coflows), default=0)
    mids = 1 + max((c.factors.mid for c in coflows), default=0)
    its = 1 + max((task.iteration for task in tasks), default=0)
    return Dag(
        tasks,
        len(traces),
        fact("stages", 1),
        fact("iterations", its),
        fact("layers", layers),
        fact("micro_batches", mids),
        bool(facts.get("interleaved", False)),
    )


@dataclass(slots=True)
class _Part:
    """One rank's share of a task."""

    rank: int
    node: Node


class _Joined:
    """Nodes gathered into tasks by what they belong to."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.parts: dict[tuple[object, ...], list[_Part]] = {}
        self.key_of: list[dict[int, tuple[object, ...]]] = [{} for _ in range(ranks)]
        self.counts: dict[tuple[object, ...], int] = {}

    def add(self, rank: int, node: Node) -> None:
        """A node of a rank."""
        key = self._key(rank, node)
        if node.id in self.key_of[rank]:
            raise OfframpError(f"rank {rank}: node {node.id} is there twice")
        self.key_of[rank][node.id] = key
        self.parts.setdefault(key, []).append(_Part(rank, node))

    def _key(self, rank: int, node: Node) -> tuple[object, ...]:
        a = node.attributes
        if node.kind in _IGNORED or node.kind == schema.COMPUTE:
            return ("barrier", node.id) if node.name == "barrier" else ("node", rank, node.id)
        if node.kind in (schema.SEND, schema.RECEIVE):
            sending = node.kind == schema.SEND
            sender = _whole(a, "comm_src", rank) if sending else _whole(a, "comm_src", -1)
            receiver = _whole(a, "comm_dst", -1) if sending else _whole(a, "comm_dst", rank)
            for end in (sender, receiver):
                if not 0 <= end < self.ranks:
                    raise OfframpError(f"rank {rank}: node {node.id}: its peer {end} is none of {self.ranks} ranks")
            return self._numbered((sending,), ("transfer", sender, receiver, _whole(a, "comm_tag", 0)))
        if node.kind == schema.COLLECTIVE:
            kind = _whole(a, "comm_type", -1)
            if kind not in _ROLES:
                raise OfframpError(f"rank {rank}: node {node.id}: collective of type {kind} is not handled")
            return self._numbered((rank,), ("collective", kind, a.get("comm_group", 0)))
        raise OfframpError(f"rank {rank}: node {node.id}: kind {node.kind} is not handled")

    def _numbered(self, who: tuple[object, ...], name: tuple[object, ...]) -> tuple[object, ...]:
        count = self.counts.get((*who, *name), 0)
        self.counts[*who, *name] = count + 1
        return (*name, count)

    def tasks(self) -> list[Task]:
        """Tasks in an order that their dependencies allow.

        Raises:
            OfframpError: a dependency that is not there, or a cycle.
        """
        place = {key: k for k, key in enumerate(self.parts)}
        made: list[Task] = []
        for parts in self.parts.values():
            task = self._task(parts)
            for part in parts:
                for before in part.node.waits:
                    key = self.key_of[part.rank].get(before)
                    if key is None:
                        raise OfframpError(f"rank {part.rank}: node {part.node.id} waits for {before}, which is absent")
                    task.waits.append(place[key])
            task.waits = sorted(set(task.waits))
            made.append(task)
        return sort_tasks(made, [part[0].node.id for part in self.parts.values()])

    def _task(self, parts: list[_Part]) -> Task:
        node, rank = parts[0].node, parts[0].rank
        a = node.attributes
        it, mid, lid = (_whole(a, name, 0) for name in ("iteration", "mid", "lid"))
        if node.kind in _IGNORED or node.kind == schema.COMPUTE:
            layers = _whole(a, "first_layer", 0), _whole(a, "past_layer", 0)
            seconds = node.duration_us * 1e-6 if node.kind == schema.COMPUTE else 0.0
            worker = -1 if node.name == "barrier" else rank
            return Compute(worker, seconds, it, mid, layers, bool(a.get("backward", False)))
        if node.kind in (schema.SEND, schema.RECEIVE):
            sender = next((p for p in parts if p.node.kind == schema.SEND), None)
            if sender is None:
                raise OfframpError(f"rank {rank}: node {node.id}: receives what no rank sends")
            receiver = _whole(sender.node.attributes, "comm_dst", -1)
            flows = _flows([sender.rank], [receiver], [_whole(sender.node.attributes, "comm_size", 0)])
            return Coflow(str(a.get("role", kinds.ACTIVATION)), Factors(mid, CType.PP, lid), it, _stage(a), flows)
        role, ctype = _ROLES[_whole(a, "comm_type", -1)]
        factors = Factors(mid, CType(_whole(a, "ctype", int(ctype))), lid)
        return Coflow(str(a.get("role", role)), factors, it, _stage(a), _collective(parts))


def _stage(attributes: Mapping[str, object]) -> int:
    return _whole(attributes, "stage", 0)


def _whole(attributes: Mapping[str, object], name: str, default: int) -> int:
    value = attributes.get(name, default)
    if not isinstance(value, int | float):
        raise OfframpError(f"attribute {name}: {value!r}, expected a number")
    return int(value)


def _flows(source: list[int], sink: list[int], size: list[int]) -> Flows:
    return Flows(np.array(source, np.int64), np.array(sink, np.int64), np.array(size, np.float64))


def _collective(parts: list[_Part]) -> Flows:
    source: list[int] = []
    sink: list[int] = []
    size: list[int] = []
    ranks = sorted(part.rank for part in parts)
    for part in parts:
        a = part.node.attributes
        peers, sizes = a.get("peers"), a.get("sizes")
        if isinstance(peers, list) and isinstance(sizes, list):
            rows = list(zip(peers, sizes, strict=True))
        else:
            total = _whole(a, "comm_size", 0)
            rows = _shares(part.rank, ranks, total, _whole(a, "comm_type", -1))
        for peer, amount in rows:
            source.append(part.rank)
            sink.append(int(peer))
            size.append(int(amount))
    return _flows(source, sink, size)


def _shares(rank: int, ranks: list[int], total: int, kind: int) -> list[tuple[int, int]]:
    """What a rank sends in a collective of ``total`` bytes a rank: ring volumes, or even shares to all."""
    count = len(ranks)
    if count == 1:
        return []
    if kind == schema.ALL_TO_ALL:
        return [(peer, total // count) for peer in ranks if peer != rank]
    turns = 2 if kind == schema.ALL_REDUCE else 1
    return [(ranks[(ranks.index(rank) + 1) % count], turns * total * (count - 1) // count)]
