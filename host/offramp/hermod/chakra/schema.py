# SPDX-License-Identifier: Apache-2.0
"""The part of Chakra's published schema that traces of training need (package ``ChakraProtoMsg``, ``et_def.proto``).

Reading skips what is not in the table.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any, Final

VERSION: Final = "0.0.4"
INVALID, METADATA, MEMORY_LOAD, MEMORY_STORE, COMPUTE, SEND, RECEIVE, COLLECTIVE = range(8)
(
    ALL_REDUCE,
    REDUCE,
    ALL_GATHER,
    GATHER,
    SCATTER,
    BROADCAST,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    BARRIER,
) = range(10)

SPELLED: Final = {
    "comm_src": "int32",
    "comm_dst": "int32",
    "comm_tag": "int32",
    "comm_priority": "int32",
    "tensor_size": "uint64",
}
"""Attributes of whole numbers that Chakra's feeder reads as this type; all others it reads as int64."""

_SCALARS: Final = {
    "double": (3, 1),
    "float": (5, 2),
    "int32": (7, 5),
    "int64": (9, 3),
    "uint32": (11, 13),
    "uint64": (13, 4),
    "sint32": (15, 17),
    "sint64": (17, 18),
    "fixed32": (19, 7),
    "fixed64": (21, 6),
    "sfixed32": (23, 15),
    "sfixed64": (25, 16),
    "bool": (27, 8),
    "string": (29, 9),
    "bytes": (31, 12),
}
"""Number of the field in ``AttributeProto.value`` and protobuf's type, by name; the list has the next number."""
_UINT64, _STRING, _INT32, _MESSAGE = 4, 9, 5, 11
_REPEATED, _OPTIONAL = 3, 1


@cache
def messages() -> Any:
    """``Node``, ``GlobalMetadata``, ``AttributeProto``, ``IOInfo``, made at run time in a pool of their own."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    from offramp_base.p4rt.schema import message_class

    package = "ChakraProtoMsg"
    file = descriptor_pb2.FileDescriptorProto(name="offramp/chakra", package=package, syntax="proto3")

    def message(name: str, *rows: tuple[str, int, int, int, str]) -> Any:
        descriptor = file.message_type.add(name=name)
        for field, number, kind, label, of in rows:
            row = descriptor.field.add(name=field, number=number, type=kind, label=label)
            if of:
                row.type_name = f".{package}.{of}"
        return descriptor

    attribute = message(
        "AttributeProto", ("name", 1, _STRING, _OPTIONAL, ""), ("doc_string", 2, _STRING, _OPTIONAL, "")
    )
    attribute.oneof_decl.add(name="value")
    for name, (number, kind) in _SCALARS.items():
        message(f"{name.title()}List", ("values", 1, kind, _REPEATED, ""))
        attribute.field.add(name=f"{name}_val", number=number, type=kind, label=_OPTIONAL, oneof_index=0)
        attribute.field.add(
            name=f"{name}_list",
            number=number + 1,
            type=_MESSAGE,
            label=_OPTIONAL,
            oneof_index=0,
            type_name=f".{package}.{name.title()}List",
        )
    attributes = ("attr", 10, _MESSAGE, _REPEATED, "AttributeProto")
    message("GlobalMetadata", ("version", 1, _STRING, _OPTIONAL, ""), ("attr", 2, *attributes[2:]))
    message("IOInfo", ("values", 1, _STRING, _OPTIONAL, ""))
    message(
        "Node",
        ("id", 1, _UINT64, _OPTIONAL, ""),
        ("name", 2, _STRING, _OPTIONAL, ""),
        ("type", 3, _INT32, _OPTIONAL, ""),  # an enumeration travels as a varint
        ("ctrl_deps", 4, _UINT64, _REPEATED, ""),
        ("data_deps", 5, _UINT64, _REPEATED, ""),
        ("start_time_micros", 6, _UINT64, _OPTIONAL, ""),
        ("duration_micros", 7, _UINT64, _OPTIONAL, ""),
        ("inputs", 8, _MESSAGE, _OPTIONAL, "IOInfo"),
        attributes,
    )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    names = ("Node", "GlobalMetadata", "AttributeProto")
    return SimpleNamespace(**{name: message_class(pool, f"{package}.{name}") for name in names})
