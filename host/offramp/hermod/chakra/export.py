# SPDX-License-Identifier: Apache-2.0
"""Our DAG as Chakra traces: one a worker, with sends and receives matched by tag, and collectives' groups by number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from offramp.hermod import dag as kinds
from offramp.hermod.chakra import schema
from offramp.hermod.chakra.node import Attribute, ChakraNode, ChakraTrace
from offramp.hermod.chakra.trace import write_trace
from offramp.hermod.dag import Coflow, Compute, Dag
from offramp.hermod.factors import CType
from offramp_base.ending.files import written
from offramp_base.errors import OfframpError

_COLLECTIVE: Final = {
    kinds.DISPATCH: schema.ALL_TO_ALL,
    kinds.COMBINE: schema.ALL_TO_ALL,
    kinds.COMBINE_GRADIENT: schema.ALL_TO_ALL,
    kinds.DISPATCH_GRADIENT: schema.ALL_TO_ALL,
    kinds.REDUCE_SCATTER: schema.REDUCE_SCATTER,
    kinds.ALL_GATHER: schema.ALL_GATHER,
    kinds.TENSOR: schema.ALL_REDUCE,
}


GROUPS: Final = "trace.groups.json"
"""The ranks of each group by its number, as ASTRA-sim reads them."""


def traces(dag: Dag) -> tuple[list[ChakraTrace], dict[str, list[int]]]:
    """A trace for each worker, and the ranks of each group.

    Ids are the DAG's tasks, the receiving half of a transfer has an id of its own. Every communication carries its
    factors (``mid``, ``ctype``, ``lid``), so that reading it back needs no guesses.
    """
    exported = [ChakraTrace([], attributes={"workers": dag.workers, **_facts(dag)}) for _ in range(dag.workers)]
    member: list[set[int]] = [_members(task, dag.workers) for task in dag.tasks]
    arrivals = len(dag.tasks)
    groups = _groups(dag, member)
    for k, task in enumerate(dag.tasks):
        for worker in sorted(member[k]):
            waits = [_id(dag.tasks[b], b, worker, arrivals) for b in task.waits if worker in member[b]]
            group = groups.get(tuple(sorted(member[k])), 0)
            exported[worker].nodes += _nodes(task, k, worker, waits, arrivals, (group, len(member[k])))
    return exported, {str(number): list(ranks) for ranks, number in groups.items()}


def _groups(dag: Dag, member: list[set[int]]) -> dict[tuple[int, ...], int]:
    """Numbers of the sets of ranks that have a collective together, from 1 on."""
    numbers: dict[tuple[int, ...], int] = {}
    for k, task in enumerate(dag.tasks):
        if isinstance(task, Coflow) and task.ctype is not CType.PP:
            numbers.setdefault(tuple(sorted(member[k])), len(numbers) + 1)
    return numbers


def export_dag(dag: Dag, folder: Path, suffix: str = "et") -> list[Path]:
    """Write ``trace.RANK.et`` (or ``.json``) for each worker, and :data:`GROUPS` where there are collectives.

    Raises:
        OfframpError: the folder or a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OfframpError(f"{folder}: cannot be made: {error.strerror}") from None
    exported, groups = traces(dag)
    paths = []
    for rank, trace in enumerate(exported):
        paths.append(folder / f"trace.{rank}.{suffix}")
        write_trace(trace, paths[-1])
    if groups:
        try:
            with written(folder / GROUPS) as file:
                file.write((json.dumps(groups) + "\n").encode())
        except OSError as error:
            raise OfframpError(f"{folder / GROUPS}: cannot be written: {error.strerror}") from None
    return paths


def _facts(dag: Dag) -> dict[str, Attribute]:
    return {
        "stages": dag.stages,
        "iterations": dag.iterations,
        "layers": dag.layers,
        "micro_batches": dag.micro_batches,
        "interleaved": dag.interleaved,
    }


def _members(task: Compute | Coflow, workers: int) -> set[int]:
    if isinstance(task, Compute):
        return set(range(workers)) if task.worker < 0 else {task.worker}
    return {int(w) for part in (task.flows.source, task.flows.sink) for w in part}


def _id(task: Compute | Coflow, k: int, worker: int, arrivals: int) -> int:
    """The id of the node that successors on a worker wait for: at the receiver of a transfer, its arrival."""
    if isinstance(task, Coflow) and task.ctype is CType.PP and worker == int(task.flows.sink[0]):
        return arrivals + k
    return k


def _nodes(
    task: Compute | Coflow, k: int, worker: int, waits: list[int], arrivals: int, group: tuple[int, int]
) -> list[ChakraNode]:
    shared: dict[str, Attribute] = {"iteration": task.iteration, "is_cpu_op": False}
    if isinstance(task, Compute):
        name = "barrier" if task.worker < 0 else f"{'backward' if task.backward else 'forward'} mb{task.mid}"
        facts: dict[str, Attribute] = {"mid": task.mid, "first_layer": task.layers[0], "past_layer": task.layers[1]}
        micros = round(task.seconds * 1e6)
        return [ChakraNode(k, name, schema.COMPUTE, waits, micros, {**shared, **facts, "backward": task.backward})]
    f = task.factors
    facts = {"role": task.role, "mid": f.mid, "ctype": int(f.ctype), "lid": f.lid, "stage": task.stage}
    name = f"{task.role} mb{f.mid} layer{f.lid}"
    if f.ctype is CType.PP:
        sender, receiver = int(task.flows.source[0]), int(task.flows.sink[0])
        ends: dict[str, Attribute] = {
            "comm_src": sender,
            "comm_dst": receiver,
            "comm_tag": k,
            "comm_size": round(float(task.flows.size[0])),
        }
        every: dict[str, Attribute] = {**shared, **facts, **ends}
        halves = [ChakraNode(k, name, schema.SEND, waits, 0, every)] if worker == sender else []
        if worker == receiver:
            halves.append(ChakraNode(arrivals + k, name, schema.RECEIVE, [], 0, every))
        return halves
    sent = task.flows.source == worker
    sizes = [round(float(v)) for v in task.flows.size[sent]]
    number, ranks = group
    collective: dict[str, Attribute] = {
        "comm_type": _COLLECTIVE[task.role],
        "comm_size": _brought(_COLLECTIVE[task.role], sum(sizes), ranks),
        "pg_name": str(number),
        "peers": [int(v) for v in task.flows.sink[sent]],
        "sizes": sizes,
    }
    return [ChakraNode(k, name, schema.COLLECTIVE, waits, 0, {**shared, **facts, **collective})]


def _brought(kind: int, sent: int, ranks: int) -> int:
    """Bytes that a rank contributes to a collective in which it sends ``sent`` bytes, rounded."""
    if ranks == 1:
        return sent
    if kind == schema.ALL_GATHER:
        return round(sent / (ranks - 1))
    whole = round(sent * ranks / (ranks - 1))
    return whole // 2 if kind == schema.ALL_REDUCE else whole
