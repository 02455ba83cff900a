# SPDX-License-Identifier: Apache-2.0
"""bmv2's JSON as a controller pushes it, and messages to bmv2's run-time services."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from fuzzing import mutate
from offramp_base.errors import OfframpError
from offramp_p4.frontend import load
from offramp_p4.runtime import p4info
from offramp_p4.source import quoting_only_given
from offramp_p4.switch import Switch
from offramp_p4_tools.bmv2.read import from_json
from offramp_p4_tools.bmv2.write import to_json
from offramp_p4_tools.dropin.thrift.protocol import CALL, ThriftError, ThriftMessage, ThriftReader, ThriftWriter
from offramp_p4_tools.dropin.thrift.services import SERVICES, STRUCTS

NAME = "bmv2's JSON"
LIMIT_S = 20.0
MEMORY_MIB = 2048
_ROOT = Path(__file__).parents[1]
_SOURCES = ("p4/runtime/features.p4", "p4/stf/stacks.p4", "p4/stf/flow.p4", "p4/stf/parser.p4", "p4/stf/unions.p4",
            "p4/bmv2/portable_switch.p4", "p4/bmv2/card.p4")  # fmt: skip
_TREES: list[Any] = []


def prepare() -> None:
    """Documents that are right."""
    _TREES.extend(json.loads(json.dumps(to_json(load(_ROOT / path)))) for path in _SOURCES)


def run(rng: random.Random) -> None:
    """One document, refused in one line or executed; or one message, refused or read."""
    if rng.random() < 0.3:
        _message(rng)
        return
    text = mutate.mostly(rng, lambda: _tree(rng), lambda: _tree(rng), lambda: _bytes(rng))
    try:
        with quoting_only_given():
            program = from_json(text, "pushed.json")
            switch = Switch(program, max_passes=10, max_steps=1 << 14, max_state=1 << 22)
            p4info.generate(program)
            for frame in (b"", bytes(64), rng.randbytes(200)):
                switch.process_one(rng.randrange(4), frame)
    except OfframpError as error:
        if "\n" in str(error).strip():
            raise AssertionError("the message has more than one line") from error
        raise


def _tree(rng: random.Random) -> str:
    tree = json.loads(json.dumps(rng.choice(_TREES)))
    return json.dumps(mutate.tree(rng, tree))


def _bytes(rng: random.Random) -> bytes:
    return mutate.raw(rng, json.dumps(rng.choice(_TREES)).encode())


def _message(rng: random.Random) -> None:
    service = rng.choice(list(SERVICES))
    name = rng.choice(list(SERVICES[service]))
    method = SERVICES[service][name]
    writer = ThriftWriter(STRUCTS)
    writer.message(ThriftMessage(f"{service}:{name}", CALL, 1))
    writer.fields(method.arguments, {field: _value(kind) for _, field, kind in method.arguments})
    data = bytearray(mutate.raw(rng, bytes(writer.data)))

    def take(size: int) -> bytes:
        if size > len(data):
            raise ThriftError("cut off")
        part = bytes(data[:size])
        del data[:size]
        return part

    reader = ThriftReader(STRUCTS, take)
    reader.message()
    reader.fields(method.arguments)


def _value(kind: str) -> Any:
    if kind.startswith("list<"):
        return [_value(kind[5:-1])] * 2
    if kind in STRUCTS:
        return {field: _value(inner) for _, field, inner in STRUCTS[kind]}
    return {"string": "x", "binary": b"\1", "bool": True, "double": 0.5}.get(kind, {} if kind.startswith("map") else 1)
