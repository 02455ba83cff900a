# SPDX-License-Identifier: Apache-2.0
"""Execution traces of Chakra, as protobuf and as JSON."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from fuzzing import mutate, render
from offramp.hermod.chakra import trace as chakra
from offramp.hermod.chakra.load import join

NAME = "Chakra traces"
_WIRE: list[bytes] = []
_TREE: list[Any] = []


def prepare() -> None:
    """A small trace of our own exporter's kind."""
    from offramp.hermod.chakra.schema import COMPUTE

    nodes = [
        chakra.ChakraNode(1, "compute", COMPUTE, [], 12, {"is_cpu_op": False, "num_ops": 7}),
        chakra.ChakraNode(
            2, "all-reduce", 7, [1], 0, {"comm_size": 1024, "comm_type": 0, "pg_name": "1", "list": [1, 2]}
        ),
    ]
    trace = chakra.ChakraTrace(nodes, attributes={"job": "x", "rank": 0})
    for name in ("t.et", "t.json"):
        chakra.write_trace(trace, Path(name))
    _WIRE.append(Path("t.et").read_bytes())
    _TREE.append(json.loads(Path("t.json").read_text("utf-8")))


def run(rng: random.Random) -> None:
    """One file."""
    if rng.random() < 0.5:
        path = render.write(Path("case.et"), mutate.raw(rng, _WIRE[0]))
    else:
        path = render.write(Path("case.json"), render.document(rng, _TREE[0], "json"))
    join([chakra.read_trace(path)])
