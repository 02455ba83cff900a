# SPDX-License-Identifier: Apache-2.0
"""The extern objects of PSA and PNA: a document has them as ``extern_instances``, as arrays, or as both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from offramp_p4 import ir
from offramp_p4.types import Bits, Type
from offramp_p4_tools.bmv2.read.enums import member
from offramp_p4_tools.bmv2.read.nodes import MAX_SIZE, JsonNode
from offramp_p4_tools.bmv2.read.portable_types import enum
from offramp_p4_tools.bmv2.read.program import direct, size
from offramp_p4_tools.bmv2.words import COUNTER_TYPES, HASHES

_ALGORITHMS: Final = {word: name for name, word in HASHES.items()}
INDEX: Final = Bits(32)
_WORD: Final = Bits(64)
Objects = dict[tuple[str, str], ir.ExternInstance]


class PortableExternReader:
    """Reads the extern objects of a document.

    Attributes:
        kind: ``psa`` or ``pna``.
        objects: the objects by kind and name; those of registers are of the kind ``register``, direct meters
            ``direct_meter``, and direct counters also stand as ``counters`` by the names of their tables.
    """

    def __init__(self, document: JsonNode, kind: str) -> None:
        self.document, self.kind = document, kind
        self.objects: Objects = {}
        for node in document.each("extern_instances"):
            self._instance(node)
        for node in document.each("counter_arrays"):
            self._counters(node)
        for node in document.each("meter_arrays"):
            self._meters(node)
        for node in document.each("register_arrays"):
            cell = Bits(node["bitwidth"].number(1, 1 << 16))
            self._add("register", node, "Register", [cell, INDEX], {"size": size(node)})

    def algorithm(self, node: JsonNode) -> ir.Const:
        """The member of the enum of hash algorithms for bmv2's name of one."""
        return member(enum(self.kind, "HashAlgorithm"), _ALGORITHMS[node.choice(*_ALGORITHMS)])

    def _add(self, kind: str, node: JsonNode, extern: str, types: list[Type], args: dict[str, ir.Expr]) -> None:
        name = node["name"].text
        if (kind, name) in self.objects:
            node["name"].fail(f"'{name[:80]}' is there twice")
        self.objects[kind, name] = ir.ExternInstance(extern, name, types, list(args.values()), list(args))

    def _instance(self, node: JsonNode) -> None:
        rules: dict[str, Callable[[JsonNode, dict[str, JsonNode]], None]] = {
            "Counter": self._counter,
            "DirectCounter": self._direct_counter,
            "Meter": self._meter,
            "Hash": self._hash,
            "InternetChecksum": lambda node, _: self._add("InternetChecksum", node, "InternetChecksum", [], {}),
            "Random": self._random,
        }
        attributes = {a["name"].text: a["value"] for a in node.each("attribute_values")}
        rules[node["type"].choice(*rules)](node, attributes)

    def _counter(self, node: JsonNode, attributes: dict[str, JsonNode]) -> None:
        count = _constant(_given(node, attributes, "n_counters"))
        self._add("Counter", node, "Counter", [_WORD, INDEX],
                  {"n_counters": count, "type": self._unit(_given(node, attributes, "type"))})  # fmt: skip

    def _direct_counter(self, node: JsonNode, attributes: dict[str, JsonNode]) -> None:
        unit = self._unit(_given(node, attributes, "type"))
        self._add("DirectCounter", node, "DirectCounter", [_WORD], {"type": unit})

    def _meter(self, node: JsonNode, attributes: dict[str, JsonNode]) -> None:
        count = _constant(_given(node, attributes, "n_meters"))
        if "rate_count" in attributes and _plain(attributes["rate_count"]) != 2:
            attributes["rate_count"].fail("meters have two rates")
        self._add("Meter", node, "Meter", [INDEX],
                  {"n_meters": count, "type": self._rate(_given(node, attributes, "type"))})  # fmt: skip

    def _hash(self, node: JsonNode, attributes: dict[str, JsonNode]) -> None:
        self._add("Hash", node, "Hash", [_WORD], {"algo": self.algorithm(_given(node, attributes, "algo"))})

    def _random(self, node: JsonNode, attributes: dict[str, JsonNode]) -> None:
        low, high = (ir.Const(_given(node, attributes, word).hex, type=_WORD) for word in ("min", "max"))
        if not 0 <= int(low.value) <= int(high.value) <= _WORD.mask:
            node.fail(f"no random numbers of {low.value} to {high.value}")
        self._add("Random", node, "Random", [_WORD], {"min": low, "max": high})

    def _unit(self, node: JsonNode) -> ir.Const:
        number = _plain(node)
        if not 0 <= number < len(COUNTER_TYPES):
            node.fail(f"{number} is not a type of counter")
        return member(enum(self.kind, "CounterType"), COUNTER_TYPES[number])

    def _rate(self, node: JsonNode) -> ir.Const:
        return member(enum(self.kind, "MeterType"), node.choice("packets", "bytes").upper())

    def _counters(self, node: JsonNode) -> None:
        """An array of counters; where there is an object of its name too, that says more."""
        name, unit = node["name"].text, member(enum(self.kind, "CounterType"), "PACKETS_AND_BYTES")
        kind = "DirectCounter" if direct(node) else "Counter"
        if (kind, name) not in self.objects:
            args: dict[str, ir.Expr] = {"type": unit} if direct(node) else {"n_counters": size(node), "type": unit}
            self._add(kind, node, kind, [_WORD] if direct(node) else [_WORD, INDEX], args)
        if direct(node) and "binding" in node:
            self.objects["counters", node["binding"].text] = self.objects[kind, name]

    def _meters(self, node: JsonNode) -> None:
        if not direct(node):
            node.fail("an array of meters that belong to no table")
        if "rate_count" in node and node["rate_count"].number(0, 16) != 2:
            node["rate_count"].fail("meters have two rates")
        self._add("direct_meter", node, "DirectMeter", [], {"type": self._rate(node["type"])})


def _given(node: JsonNode, attributes: dict[str, JsonNode], name: str) -> JsonNode:
    return attributes.get(name) or node.fail(f"the attribute '{name}' is missing")


def _plain(node: JsonNode) -> int:
    """A number that compilers write as a hexadecimal string or a plain number."""
    return node.hex if isinstance(node.value, str) else node.number(0, MAX_SIZE)


def _constant(node: JsonNode) -> ir.Const:
    number = _plain(node)
    if not 0 <= number <= MAX_SIZE:
        node.fail(f"{number} is not in 0..{MAX_SIZE}")
    return ir.Const(number, type=INDEX)
