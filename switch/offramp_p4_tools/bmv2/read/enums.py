# SPDX-License-Identifier: Apache-2.0
"""The enums of v1model, and calls of externs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.types import VOID, Enum, Type
from offramp_p4.v1model.hashing import ALGORITHMS

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.read.nodes import JsonNode


_PARAMETERS: Final = {
    ("counter", "count"): ["index"],
    ("meter", "execute_meter"): ["index", "result"],
    ("register", "read"): ["result", "index"],
    ("register", "write"): ["index", "value"],
    ("direct_meter", "read"): ["result"],
    ("", "clone"): ["type", "session"],
    ("", "clone3"): ["type", "session", "data"],
    ("", "digest"): ["receiver", "data"],
    ("", "hash"): ["result", "algo", "base", "data", "max"],
    ("", "random"): ["result", "lo", "hi"],
    ("", "log_msg"): ["msg", "data"],
    ("", "truncate"): ["length"],
    ("", "verify"): ["check", "toSignal"],
    ("packet_in", "advance"): ["sizeInBits"],
    ("packet_in", "extract"): ["hdr", "variableFieldSizeInBits"],
    ("Counter", "count"): ["index"],
    ("Meter", "execute"): ["index"],
    ("Register", "read"): ["index"],
    ("Register", "write"): ["index", "value"],
    ("InternetChecksum", "set_state"): ["checksum_state"],
    ("", "send_to_port"): ["dest_port"],
}
"""Names of parameters, which traces show."""


def _enum(name: str, *members: str) -> Enum:
    return Enum(name, members={member: i for i, member in enumerate(members)})


COUNTERS: Final = _enum("CounterType", "packets", "bytes", "packets_and_bytes")
METERS: Final = _enum("MeterType", "packets", "bytes")
CLONES: Final = _enum("CloneType", "I2E", "E2E")
HASHES: Final = _enum("HashAlgorithm", *ALGORITHMS, "random")


def member(enum: Enum, name: str) -> ir.Const:
    """A member of an enum."""
    return ir.Const(enum.members[name], type=enum)


def algorithm(node: JsonNode) -> ir.Const:
    """The hash algorithm that a document names."""
    return member(HASHES, node.choice(*HASHES.members))


def called(
    result: Type,
    method: str,
    *args: tuple[ir.Direction, ir.Expr],
    of: ir.ExternInstance | ir.Var | None = None,
    extern: str = "",
    types: list[Type] | None = None,
) -> ir.ExternCall:
    """The call of an extern whose result is of type ``result``."""
    arguments = [ir.Arg(direction, e) for direction, e in args]
    names = _PARAMETERS.get((extern, method), [f"argument_{i}" for i in range(len(arguments))])[: len(arguments)]
    types = types or [e.type for _, e in args]
    return ir.ExternCall(extern, method, of, types, arguments, names, type=result)


def call(
    method: str,
    *args: tuple[ir.Direction, ir.Expr],
    of: ir.ExternInstance | ir.Var | None = None,
    extern: str = "",
    types: list[Type] | None = None,
) -> ir.Eval:
    """The statement that calls an extern without a result."""
    return ir.Eval(called(VOID, method, *args, of=of, extern=extern, types=types))
