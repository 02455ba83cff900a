# SPDX-License-Identifier: Apache-2.0
"""Chakra traces as a DAG: ours exactly, those of others by their communication's type, size and group."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from offramp.hermod import dag as kinds
from offramp.hermod.build import sort_tasks
from offramp.hermod.chakra import schema
from offramp.hermod.chakra.collectives import role_of, sends
from offramp.hermod.chakra.groups import Groups, groups_of, read_groups
from offramp.hermod.chakra.match import COMMUNICATION, Key, Matcher, TaskShare, whole
from offramp.hermod.chakra.node import ChakraNode, ChakraTrace
from offramp.hermod.chakra.trace import read_trace
from offramp.hermod.dag import Coflow, Compute, Dag, Flows, Task
from offramp.hermod.factors import CType, Factors
from offramp.themis.kinds import Collective
from offramp_base.errors import OfframpError

_COLLECTIVES: Final = {
    schema.ALL_REDUCE: Collective.ALL_REDUCE,
    schema.ALL_GATHER: Collective.ALL_GATHER,
    schema.REDUCE_SCATTER: Collective.REDUCE_SCATTER,
    schema.REDUCE_SCATTER_BLOCK: Collective.REDUCE_SCATTER,
    schema.ALL_TO_ALL: Collective.ALL_TO_ALL,
}
_FILE: Final = re.compile(r"(.*?)[._-](?:rank[._-]?)?(\d+)\.(et|json|json\.gz)")


def is_trace(path: Path) -> bool:
    """Whether a folder, or a prefix such as ``FOLDER/trace``, has traces."""
    return path.is_dir() or any(match[1] == path.name for _, match in _files(path.parent))


class Wires(Protocol):
    """A network that knows how collectives run on it."""

    def latency_s(self, source: int, sink: int) -> float:
        """Seconds that a message of no bytes takes."""

    def collective(self, kind: Collective, size: int, ranks: Sequence[int]) -> tuple[Flows, float] | None:
        """The flows of a collective and the seconds of its latencies; None: the network does not know it."""


def load_dag(place: Path, wires: Wires | None = None, *, bidirectional: bool = False) -> Dag:
    """All ``PREFIX.RANK.et`` (or ``.json``) of a folder as one DAG; of several prefixes ``FOLDER/PREFIX`` names one.

    The n-th collective of a type and a group (``pg_name`` or ``comm_group``) on each rank belong together. A group has
    the ranks that a JSON file with ``group`` in its name gives it, or the metadata of a captured trace; else those
    that use it; without a name all. ``comm_size`` is what a rank brings
    (:mod:`offramp.hermod.chakra.collectives`). Sends and receives belong together by ``comm_src``, ``comm_dst``,
    ``comm_tag`` and order. Without ``mid`` and ``lid`` a node counts as microbatch and layer 0. Memory and metadata
    nodes take no time, nor do operations of the CPU (``is_cpu_op``) where there are others.

    Args:
        place: the folder, or folder and prefix.
        wires: the network; without one collectives are rings and all-to-alls, and nothing has latency.
        bidirectional: whether these rings go both ways round, half of the bytes each.

    Raises:
        OfframpError: no traces, ranks missing or twice, a node of a kind that is not handled, an unknown dependency,
            communication without a counterpart.
    """
    traces, groups = read_ranks(place)
    return join(traces, groups, wires, bidirectional=bidirectional)


def read_ranks(place: Path) -> tuple[list[ChakraTrace], Groups]:
    """The traces of a folder, or of ``FOLDER/PREFIX``, by rank, and the groups that a file there names.

    Raises:
        OfframpError: no traces, ranks missing or twice, or a file that cannot be read.
    """
    folder, prefix = (place, None) if place.is_dir() else (place.parent, place.name)
    by_prefix: dict[str, dict[int, Path]] = {}
    for path, match in _files(folder):
        if prefix in (None, match[1]):
            ranks = by_prefix.setdefault(match[1], {})
            rank = int(match[2])
            if rank in ranks:
                raise OfframpError(f"{folder}: rank {rank} has two files, {ranks[rank].name} and {path.name}")
            ranks[rank] = path
    if not by_prefix:
        raise OfframpError(f"{place}: no files like trace.0.et")
    if len(by_prefix) > 1:
        raise OfframpError(f"{folder}: traces {', '.join(sorted(by_prefix))}, expected one; name it as FOLDER/PREFIX")
    (files,) = by_prefix.values()
    if sorted(files) != list(range(len(files))):
        raise OfframpError(f"{folder}: ranks {sorted(files)}, expected 0 to {len(files) - 1}")
    given = [path for path in sorted(folder.glob("*group*.json")) if path not in files.values()]
    groups = read_groups(given[0], len(files)) if given else {}
    return [read_trace(files[rank]) for rank in sorted(files)], groups


def _files(folder: Path) -> list[tuple[Path, re.Match[str]]]:
    rows = ((path, _FILE.fullmatch(path.name)) for path in sorted(folder.glob("*")) if "group" not in path.name)
    return [(path, match) for path, match in rows if match]


def join(
    traces: Sequence[ChakraTrace],
    groups: Groups | None = None,
    wires: Wires | None = None,
    *,
    bidirectional: bool = False,
) -> Dag:
    """One DAG from the traces of all ranks.

    Raises:
        OfframpError: as :func:`load_dag`.
    """
    facts = traces[0].attributes
    nodes = [node for trace in traces for node in trace.nodes]
    joined = _JoinedNodes(
        Matcher(
            [{**groups_of(trace, len(traces)), **(groups or {})} for trace in traces],
            cpu=all(node.attributes.get("is_cpu_op", False) for node in nodes if node.kind != schema.METADATA),
            ours="workers" in facts,
        ),
        len(traces),
        wires,
        bidirectional=bidirectional,
    )
    for rank, trace in enumerate(traces):
        for node in trace.nodes:
            joined.add(rank, node)
    tasks = joined.tasks()

    def fact(name: str, default: int) -> int:
        value = facts.get(name, default)
        return int(value) if isinstance(value, int | float) else default

    coflows = [task for task in tasks if isinstance(task, Coflow)]
    return Dag(
        tasks,
        len(traces),
        fact("stages", 1),
        fact("iterations", 1 + max((task.iteration for task in tasks), default=0)),
        fact("layers", 1 + max((c.factors.lid for c in coflows), default=0)),
        fact("micro_batches", 1 + max((c.factors.mid for c in coflows), default=0)),
        bool(facts.get("interleaved", False)),
        captured="workers" not in facts,
    )


class _JoinedNodes:
    """Nodes gathered into tasks by what they belong to."""

    def __init__(self, matcher: Matcher, ranks: int, wires: Wires | None, *, bidirectional: bool) -> None:
        self.matcher, self.wires, self.bidirectional = matcher, wires, bidirectional
        self.parts: dict[Key, list[TaskShare]] = {}
        self.key_of: list[dict[int, Key]] = [{} for _ in range(ranks)]
        self.arrivals: dict[Key, Key] = {}

    def add(self, rank: int, node: ChakraNode) -> None:
        """A node of a rank; a receive that waits for nothing is the transfer itself."""
        if node.id in self.key_of[rank]:
            raise OfframpError(f"rank {rank}: node {node.id} is there twice")
        key, transfer = self.matcher.key(rank, node)
        self.key_of[rank][node.id] = key
        if key == transfer:
            return
        if transfer is not None:
            self.arrivals[key] = transfer
        self.parts.setdefault(key, []).append(TaskShare(rank, node))

    def tasks(self) -> list[Task]:
        """Tasks in an order that their dependencies allow.

        Raises:
            OfframpError: a dependency that is not there, a cycle, or communication without a counterpart.
        """
        self.matcher.check()
        place = {key: k for k, key in enumerate(self.parts)}
        tasks: list[Task] = []
        for key, parts in self.parts.items():
            task = self._task(parts)
            for part in parts:
                for before in part.node.waits:
                    awaited = self.key_of[part.rank].get(before)
                    if awaited is None:
                        raise OfframpError(f"rank {part.rank}: node {part.node.id} waits for {before}, which is absent")
                    task.waits.append(place[awaited])
            if key in self.arrivals:
                task.waits.append(place[self.arrivals[key]])
            task.waits = sorted(set(task.waits))
            tasks.append(task)
        return sort_tasks(tasks, [part[0].node.id for part in self.parts.values()])

    def _task(self, parts: list[TaskShare]) -> Task:
        node, rank = parts[0].node, parts[0].rank
        a = node.attributes
        it, mid, lid = (whole(a, name, 0) for name in ("iteration", "mid", "lid"))
        communicates = node.kind in COMMUNICATION and self.matcher.counts(node)
        if not communicates or node.kind == schema.RECEIVE:
            layers = whole(a, "first_layer", 0), whole(a, "past_layer", 0)
            busy = node.kind == schema.COMPUTE and self.matcher.counts(node)
            worker = -1 if self.matcher.is_barrier(node) else rank
            return Compute(worker, node.duration_us * 1e-6 * busy, it, mid, layers, bool(a.get("backward", False)))
        if node.kind == schema.SEND:
            sink, size = whole(a, "comm_dst", -1), whole(a, "comm_size", 0)
            flows = _flows([(rank, sink, size)] if sink != rank else [])
            latency_s = 0.0 if self.wires is None else self.wires.latency_s(rank, sink)
            factors = Factors(mid, CType.PP, lid)
            return Coflow(str(a.get("role", kinds.ACTIVATION)), factors, it, _stage(a), flows, latency_s=latency_s)
        role, ctype = role_of(whole(a, "comm_type", -1))
        factors = Factors(mid, CType(whole(a, "ctype", int(ctype))), lid)
        known = None if self.wires is None else _on_wires(parts, self.wires)
        flows, latency_s = known or (_collective(parts, bidirectional=self.bidirectional), 0.0)
        return Coflow(str(a.get("role", role)), factors, it, _stage(a), flows, latency_s=latency_s)


def _stage(attributes: Mapping[str, object]) -> int:
    return whole(attributes, "stage", 0)


def _flows(rows: Sequence[tuple[int, int, int]]) -> Flows:
    source, sink, size = ([row[k] for row in rows] for k in range(3))
    return Flows(np.array(source, np.int64), np.array(sink, np.int64), np.array(size, np.float64))


def _on_wires(parts: list[TaskShare], wires: Wires) -> tuple[Flows, float] | None:
    """A collective to which all ranks bring as much, as the network runs it."""
    attributes = [part.node.attributes for part in parts]
    sizes = {whole(a, "comm_size", 0) for a in attributes}
    kind = _COLLECTIVES.get(whole(attributes[0], "comm_type", -1))
    if kind is None or len(sizes) > 1 or any("peers" in a for a in attributes):
        return None
    (size,) = sizes
    if kind is Collective.ALL_GATHER:
        size *= len(parts)
    return wires.collective(kind, size, sorted(part.rank for part in parts))


def _collective(parts: list[TaskShare], *, bidirectional: bool) -> Flows:
    rows: list[tuple[int, int, int]] = []
    ranks = sorted(part.rank for part in parts)
    for part in parts:
        a = part.node.attributes
        peers, sizes = a.get("peers"), a.get("sizes")
        if isinstance(peers, list) and isinstance(sizes, list):
            pairs = [(int(peer), int(size)) for peer, size in zip(peers, sizes, strict=True)]
        else:
            root = next((whole(a, name, 0) for name in ("comm_root", "root_rank", "root") if name in a), ranks[0])
            if root not in ranks:
                raise OfframpError(f"rank {part.rank}: node {part.node.id}: its root {root} is not one of {ranks}")
            size, kind = whole(a, "comm_size", 0), whole(a, "comm_type", -1)
            pairs = sends(part.rank, ranks, size, kind, root, bidirectional=bidirectional)
        rows += [(part.rank, peer, size) for peer, size in pairs]
    return _flows(rows)
