# SPDX-License-Identifier: Apache-2.0
"""PyTorch's profiler traces (Kineto) as execution traces: the GPU's kernels of a rank, its collectives, their order.

Kernels of a stream follow each other. One that begins when another stream has just ended what it waited for waits for
that; a collective waits for what other streams have computed before it. Times between (launches, the host) count as
computation, a collective's own time does not count: the network's takes its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from offramp.hermod.chakra import schema
from offramp.hermod.chakra.node import Attribute, ChakraNode, ChakraTrace
from offramp_base.errors import OfframpError

_GPU: Final = ("kernel", "gpu_memcpy", "gpu_memset")
_COLLECTIVES: Final = {
    "allreduce": schema.ALL_REDUCE,
    "allgather": schema.ALL_GATHER,
    "reducescatter": schema.REDUCE_SCATTER,
    "alltoall": schema.ALL_TO_ALL,
    "broadcast": schema.BROADCAST,
    "reduce": schema.REDUCE,
    "gather": schema.GATHER,
    "scatter": schema.SCATTER,
    "barrier": schema.BARRIER,
}
"""Collectives by their names without underscores; the first that a name begins with."""
_BYTES: Final = {
    "float": 4,
    "double": 8,
    "half": 2,
    "bfloat16": 2,
    "int": 4,
    "long": 8,
    "short": 2,
    "char": 1,
    "byte": 1,
    "bool": 1,
    "complexfloat": 8,
    "complexdouble": 16,
    "complexhalf": 4,
}
_LEAST_US: Final = 1.0
"""Gap that counts; shorter ones are of the clock."""


class _Ended(NamedTuple):
    """The node of an event of a stream, and when that ended."""

    node: int
    end_us: float


def is_kineto(whole: object) -> bool:
    """Whether the content of a JSON file is a profiler's trace."""
    return isinstance(whole, dict) and isinstance(whole.get("traceEvents"), list)


def kineto_trace(whole: Mapping[str, Any]) -> ChakraTrace:
    """The trace of a rank.

    Raises:
        OfframpError: no kernels of a GPU, or a collective of which the profiler has not written what it is.
    """
    events = [
        each
        for each in whole["traceEvents"]
        if isinstance(each, dict) and each.get("cat") in _GPU and each.get("ph") == "X"
    ]
    if not events:
        raise OfframpError("no kernels of a GPU: profile with ProfilerActivity.CUDA")
    events.sort(key=lambda each: (float(each["ts"]), float(each.get("dur", 0))))
    nodes: list[ChakraNode] = []
    streams: dict[object, list[_Ended]] = {}
    groups = {str(row["pg_name"]): row["ranks"] for row in _configured(whole)}
    for event in events:
        arguments = event.get("args") or {}
        begin, length = float(event["ts"]), float(event.get("dur", 0))
        stream = arguments.get("stream", event.get("tid"))
        communicates = _communicates(event["name"], arguments)
        waits, ready = _waits(streams, stream, begin, communicates=communicates)
        if waits and begin - ready >= _LEAST_US:
            nodes.append(ChakraNode(len(nodes), "gap", schema.COMPUTE, waits, round(begin - ready)))
            waits = [nodes[-1].id]
        if communicates:
            kind, attributes = _communication(event["name"], arguments, groups)
            nodes.append(ChakraNode(len(nodes), event["name"][:80], kind, waits, 0, attributes))
        else:
            nodes.append(ChakraNode(len(nodes), event["name"][:80], schema.COMPUTE, waits, round(length)))
        streams.setdefault(stream, []).append(_Ended(nodes[-1].id, begin + length))
    if groups:
        rows = json.dumps([{"pg_name": name, "ranks": ranks} for name, ranks in groups.items()])
        nodes.insert(0, ChakraNode(len(nodes), "groups", schema.METADATA, inputs=rows))
    return ChakraTrace(nodes)


def _configured(whole: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Process groups that the trace tells of as a whole, with their ranks."""
    info = whole.get("distributedInfo")
    rows = info.get("pg_config") if isinstance(info, dict) else None
    return [row for row in rows or [] if isinstance(row, dict) and isinstance(row.get("ranks"), list) and row["ranks"]]


def _waits(
    streams: Mapping[object, list[_Ended]], stream: object, begin: float, *, communicates: bool
) -> tuple[list[int], float]:
    """The nodes that an event waits for, and when the last of them ended."""
    waits = streams.get(stream, [])[-1:]
    ready = waits[0].end_us if waits else float("-inf")
    for name, ended in streams.items():
        other = next((each for each in reversed(ended) if each.end_us <= begin + _LEAST_US), None)
        if name != stream and other is not None and (communicates or other.end_us > ready):
            waits.append(other)
    return [each.node for each in waits], max((each.end_us for each in waits), default=begin)


def _communicates(name: str, arguments: Mapping[str, Any]) -> bool:
    if "Collective name" in arguments:
        return True
    if name.startswith("nccl"):
        raise OfframpError(f"{name[:40]}: the trace does not say which collective: profile with PyTorch 2.2 or later")
    return False


def _communication(
    name: str, arguments: Mapping[str, Any], groups: dict[str, Sequence[int]]
) -> tuple[int, dict[str, Attribute]]:
    """The kind of node, and its attributes; the group is noted."""
    called = str(arguments["Collective name"])
    plain = called.lower().replace("_", "").removeprefix("nccl:")
    group = str(arguments.get("Process Group Name", ""))
    ranks = _ranks(arguments.get("Process Group Ranks"))
    if group and ranks:
        groups.setdefault(group, ranks)
    size = _size(name, arguments)
    for end, kind, field in (("send", schema.SEND, "Dst Rank"), ("recv", schema.RECEIVE, "Src Rank")):
        if plain.startswith(end):
            peer = arguments.get(field)
            members = groups.get(group, ())
            if not isinstance(peer, int) or peer < 0:
                raise OfframpError(f"{name[:40]}: {called}: expected {field}: profile with PyTorch 2.4 or later")
            number = members[peer] if peer < len(members) else peer
            return kind, {"comm_dst" if end == "send" else "comm_src": number, "comm_size": size, "is_cpu_op": False}
    known = next((number for text, number in _COLLECTIVES.items() if plain.startswith(text)), None)
    if known is None:
        raise OfframpError(f"{name[:40]}: collective {called[:40]}: expected one of {', '.join(_COLLECTIVES)}")
    facts: dict[str, Attribute] = {"comm_type": known, "comm_size": size, "pg_name": group, "is_cpu_op": False}
    return schema.COLLECTIVE, facts


def _ranks(text: object) -> list[int]:
    """Ranks of ``[0, 1, 2]``; none where the profiler has cut the list."""
    try:
        ranks = json.loads(str(text))
    except ValueError:
        return []
    return ranks if isinstance(ranks, list) and all(isinstance(rank, int) for rank in ranks) else []


def _size(name: str, arguments: Mapping[str, Any]) -> int:
    """Bytes that the rank brings."""
    elements, kind = arguments.get("In msg nelems"), str(arguments.get("dtype", "")).lower()
    width = 1 if kind.startswith("float8") else _BYTES.get(kind)
    if not isinstance(elements, int) or elements < 0 or width is None:
        raise OfframpError(f"{name[:40]}: {elements} elements of {kind or 'no type'}: expected a number and a type")
    return elements * width
