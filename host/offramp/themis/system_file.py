# SPDX-License-Identifier: Apache-2.0
"""ASTRA-sim's system files: the division of collectives into chunks and messages, and their algorithms.

Version 2 uses JSON, version 1 lines of ``key: value`` with the items of a list joined by ``_``; both have the same
keys.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from offramp.themis.kinds import DimensionTopology
from offramp.themis.messages import Algorithms, MessageParameters, usual_algorithms
from offramp.themis.network import Dimension, Network
from offramp_base.documents import is_number, parse_json, read_text
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number

_IMPLEMENTATIONS: Final = (
    "all-reduce-implementation",
    "reduce-scatter-implementation",
    "all-gather-implementation",
    "all-to-all-implementation",
)
_WHOLE: Final = {"preferred-dataset-splits": 1, "active-chunks-per-dimension": 1, "endpoint-delay": 0}
"""Integer keys, and the least value of each."""
_MOST: Final = 10**9
_FLAGS: Final = ("roofline-enabled", "replay-only")
_UNUSED: Final = frozenset(
    {
        "boost-mode",
        "direct-collective-window",
        "injection-policy",
        "local-mem-trace-filename",
        "local-reduction-delay",
        "packet-routing",
        "trace-enabled",
        "track-local-mem",
        "L",
        "o",
        "g",
        "G",
    }
)


@dataclass(frozen=True, slots=True)
class SystemFile:
    """Contents of a system file; by default, messages are delayed by the network alone.

    Attributes:
        chunks: number of chunks of a collective.
        endpoint_ns: delay before each message, and after the last.
        memory_bps: bits per second at which received data is added; infinity means no limit.
        at_once: chunks that a dimension processes concurrently.
        algorithms: algorithms for all-reduce, reduce-scatter, all-gather and all-to-all, of each dimension; None: the
            usual ones.
        hierarchical: whether an all-reduce consists of reduce-scatters, an all-reduce in the last dimension, and
            all-gathers.
        peak_flops: operations per second of a roofline over the memory; None: computation takes the time in the trace.
        replay_only: whether communication takes the time in the trace, too.
    """

    chunks: int = 1
    endpoint_ns: int = 0
    memory_bps: float = math.inf
    at_once: int = 1
    algorithms: tuple[tuple[str, ...] | None, ...] = (None, None, None, None)
    hierarchical: bool = True
    peak_flops: float | None = None
    replay_only: bool = False

    def computation_ns(self, recorded_ns: int, operations: int, moved: int) -> int:
        """Whole nanoseconds of computation, given a trace's time, operations and bytes moved.

        A recorded time below a microsecond becomes 1 ns; without time and operations it is 0.
        """
        if not recorded_ns and not operations:
            return 0
        if self.peak_flops is None:
            return recorded_ns or 1
        return math.floor(max(operations / self.peak_flops, moved * 8 / self.memory_bps) * 1e9)

    def on(self, network: Network) -> Network:
        """The network with this system's messages.

        On a ring a message uses one link of two; if the ring is bidirectional, the halves of a chunk have one each. In
        a fully connected dimension a message uses the link to its receiver.

        Raises:
            OfframpError: the file is for another number of dimensions, or has settings that are not modelled here.
        """
        dims = network.dimensions
        named = [_for_each(key, names, network) for key, names in zip(_IMPLEMENTATIONS, self.algorithms, strict=True)]
        if not self.hierarchical and len(dims) > 1:
            raise OfframpError("collective-optimization: baseline: expected localBWAware on several dimensions")
        return Network(network.name, tuple(self._dimension(d, [n[k] for n in named]) for k, d in enumerate(dims)))

    def _dimension(self, d: Dimension, named: list[str | None]) -> Dimension:
        if d.size == 1:
            return d
        links = {
            DimensionTopology.RING: 2 if d.size > 2 else 1,
            DimensionTopology.FULLY_CONNECTED: max(1, d.size - 1),
        }.get(d.kind, 1)
        hop_ns = d.latency_ns / 2 if d.kind is DimensionTopology.SWITCH else d.latency_ns
        usual = usual_algorithms(d.kind)
        first, second, third, fourth = (kind or name for kind, name in zip(named, usual, strict=True))
        chosen: Algorithms = (first, second, third, fourth)
        link_bps, two_way = d.bandwidth_bps / links, bool(d.bidirectional) and d.size > 2
        messages = MessageParameters(
            d.kind, link_bps, hop_ns, chosen, self.endpoint_ns, self.memory_bps, self.at_once, two_way
        )
        return replace(d, messages=messages)


def _for_each(key: str, names: tuple[str, ...] | None, network: Network) -> tuple[str | None, ...]:
    """The algorithm of each dimension; one for all dimensions together (``oneRing``) only if there is a single one."""
    count = len(network.dimensions)
    if names is None:
        return (None,) * count
    if len(names) == 1 and (whole := re.fullmatch(r"one([A-Z])(\w*)", names[0])):
        return (whole[1].lower() + whole[2],) if count == 1 else names * count  # refused only if it is run
    if len(names) != count:
        raise OfframpError(f"{key}: {len(names)} algorithms, but {network.name} has {count} dimensions")
    return names


def read_system(name: str) -> SystemFile:
    """The system that a file describes.

    Raises:
        OfframpError: names the file, and the key or line that is wrong.
    """
    try:
        text = read_text(Path(name))
        return _system(_json(text) if text.lstrip().startswith("{") else _lines(text))
    except OfframpError as error:
        raise OfframpError(f"system {name}: {error}") from None


def _json(text: str) -> dict[str, Any]:
    content = parse_json(text)
    if not isinstance(content, dict):
        raise OfframpError("expected a table")
    return content


def _lines(text: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        match = re.fullmatch(r"\s*([\w-]+)\s*:\s*(\S+)\s*", line)
        if match is None:
            raise OfframpError(f"line {number}: expected KEY: VALUE")
        key, value = match[1], match[2]
        if key in fields:
            raise OfframpError(f"line {number}: {key} for a second time")
        whole = whole_number(value)
        if key in _IMPLEMENTATIONS:
            fields[key] = value.split("_")
        else:
            fields[key] = value if whole is None else whole
    return fields


def _system(rows: Mapping[str, Any]) -> SystemFile:
    known = {*_IMPLEMENTATIONS, *_WHOLE, *_UNUSED, *_FLAGS, "scheduling-policy", "collective-optimization"}
    for key in rows:
        if key not in known | {"local-mem-bw", "peak-perf", "model-shared-bus"}:
            raise OfframpError(
                f"{key:.60}: not modelled here: expected one of {', '.join(_IMPLEMENTATIONS)} and the like"
            )
    if rows.get("model-shared-bus"):
        raise OfframpError("model-shared-bus: not modelled: expected 0")
    for key, least in _WHOLE.items():
        value = rows.get(key, least)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
            raise OfframpError(f"{key}: {value!r:.40}: expected an integer of at least {least}")
    policy = rows.get("scheduling-policy", "FIFO")
    if policy not in ("LIFO", "FIFO", "EXPLICIT"):
        raise OfframpError(f"scheduling-policy: {policy!r:.40}: expected LIFO, FIFO or EXPLICIT")
    order = rows.get("collective-optimization", "baseline")
    if order not in ("baseline", "localBWAware"):
        raise OfframpError(f"collective-optimization: {order!r:.40}: expected baseline or localBWAware")
    memory = rows.get("local-mem-bw")
    if memory is not None and not (is_number(memory) and 1 / _MOST <= memory <= _MOST):
        raise OfframpError(f"local-mem-bw: {memory!r:.40}: expected GB/s")
    roofline, replay_only = (_flag(rows, key) for key in _FLAGS)
    peak = rows.get("peak-perf")
    if roofline and not (is_number(peak) and 1 / _MOST <= peak <= _MOST):
        raise OfframpError(f"peak-perf: {peak!r:.40}: expected TFLOPS, with the roofline enabled")
    if roofline and memory is None:
        raise OfframpError("local-mem-bw: expected GB/s, with the roofline enabled")
    return SystemFile(
        rows.get("preferred-dataset-splits", 1),
        rows.get("endpoint-delay", 10),
        math.inf if memory is None else memory * 8e9,
        rows.get("active-chunks-per-dimension", 1),
        tuple(_algorithms(rows, key) for key in _IMPLEMENTATIONS),
        order == "localBWAware",
        float(peak or 0) * 1e12 if roofline else None,
        replay_only,
    )


def _flag(rows: Mapping[str, Any], key: str) -> bool:
    value = rows.get(key, 0)
    if value not in (0, 1):
        raise OfframpError(f"{key}: {value!r:.40}: expected 0 or 1")
    return bool(value)


def _algorithms(rows: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    if key not in rows:
        return None
    value = rows[key]
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        raise OfframpError(f"{key}: {value!r:.60}: expected an algorithm for each dimension")
    return tuple(value)
