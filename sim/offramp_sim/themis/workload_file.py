# SPDX-License-Identifier: Apache-2.0
"""Workloads from files: our TOML, and the text format of ASTRA-sim 1 and SimAI (:mod:`.astra_workload`).

TOML, times in microseconds::

    name = "mine"
    model_parallel = 16          # NPUs that share a copy of the model; 1 by default
    fuse_gradients = true        # one collective at the end of the backward pass; default

    [[layer]]
    name = "conv1"
    forward_us = 12.5
    input_us = 12.5              # gradients of inputs and of weights
    weight_us = 12.5
    weight = [{ collective = "all-reduce", bytes = 18816 }]   # also forward = […], input = […]
    # in an exchange: scope = "all" | "model" | "data", blocking = true | false
    # in a layer: recompute = true, awaits = "another layer"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from offramp.themis.network import Collective, Network
from offramp_base.documents import is_number, parse_toml, read_text
from offramp_base.errors import OfframpError
from offramp_sim.themis.astra_workload import read_workload
from offramp_sim.themis.models import MODELS, model_for
from offramp_sim.themis.workload import CommunicationScope, LayerCollective, TrainingWorkload, WorkloadLayer

_TIMES = ("forward_us", "input_us", "weight_us")
_PASSES = ("forward", "input", "weight")
_MOST_BYTES = 16 << 20


def load_workload(name: str, network: Network) -> TrainingWorkload:
    """One of the paper's workloads by its name, or one from a file.

    Raises:
        OfframpError: no such workload, or a fault in the file; names the layer and field.
    """
    path = Path(name)
    if name in MODELS or not (path.suffix or path.exists()):
        return model_for(name, tuple(d.size for d in network.dimensions))
    try:
        text = read_text(path, _MOST_BYTES)
        return _toml(text, path.stem) if path.suffix == ".toml" else read_workload(text, path.stem, network)
    except OfframpError as error:
        raise OfframpError(f"workload {name}: {error}") from None


def _toml(text: str, stem: str) -> TrainingWorkload:
    content = parse_toml(text)
    _known(content, {"name", "model_parallel", "fuse_gradients", "layer"}, "the file")
    rows = content.get("layer")
    if not isinstance(rows, list) or not rows:
        raise OfframpError("expected a table [[layer]] for each layer")
    group = content.get("model_parallel", 1)
    if isinstance(group, bool) or not isinstance(group, int) or group < 1:
        raise OfframpError(f"model_parallel {group!r}: expected an integer of at least 1")
    layers = tuple(_layer(row, i) for i, row in enumerate(rows, 1))
    return TrainingWorkload(
        str(content.get("name", stem)), layers, group, _flag(content, "fuse_gradients", "the file", True)
    )


def _layer(row: dict[str, Any], number: int) -> WorkloadLayer:
    _known(row, {"name", "recompute", "awaits", *_TIMES, *_PASSES}, f"layer {number}")
    if "name" not in row:
        raise OfframpError(f"layer {number}: name is missing")
    where = f"layer {row['name']}"
    times = [_picoseconds(row, key, where) for key in _TIMES]
    passes = [tuple(_exchanges(row.get(key, []), f"{where}: {key}")) for key in _PASSES]
    awaits = row.get("awaits")
    return WorkloadLayer(
        str(row["name"]),
        times[0],
        times[1],
        times[2],
        passes[0],
        passes[1],
        passes[2],
        recompute=_flag(row, "recompute", where, False),
        awaits=None if awaits is None else str(awaits),
    )


def _picoseconds(row: Mapping[str, Any], key: str, where: str) -> int:
    value = row.get(key, 0)
    if not is_number(value):
        raise OfframpError(f"{where}: {key} {value!r}: expected microseconds")
    return round(value * 1e6)


def _exchanges(rows: Any, where: str) -> Iterator[LayerCollective]:
    if not isinstance(rows, list):
        raise OfframpError(f"{where}: expected a list of exchanges")
    return (_exchange(row, where) for row in rows)


def _exchange(row: Any, where: str) -> LayerCollective:
    _known(row, {"collective", "bytes", "scope", "blocking"}, where)
    size = row.get("bytes")
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise OfframpError(f"{where}: bytes {size!r}: expected an integer of at least 0")
    scope = row.get("scope", "all")
    if scope not in list(CommunicationScope):
        raise OfframpError(f"{where}: scope '{scope}': expected one of {', '.join(CommunicationScope)}")
    collective = Collective.named(str(row.get("collective", "all-reduce")))
    return LayerCollective(collective, size, CommunicationScope(scope), _flag(row, "blocking", where, False))


def _flag(row: Mapping[str, Any], name: str, where: str, default: bool) -> bool:
    value = row.get(name, default)
    if not isinstance(value, bool):
        raise OfframpError(f"{where}: {name} {value!r}: expected true or false")
    return value


def _known(row: Any, keys: set[str], where: str) -> None:
    if not isinstance(row, dict):
        raise OfframpError(f"{where}: expected a table")
    for name in row.keys() - keys:
        raise OfframpError(f"{where}: unknown field '{name}', expected {', '.join(sorted(keys))}")
