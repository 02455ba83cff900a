# SPDX-License-Identifier: Apache-2.0
"""P4Runtime message classes, built at run time in a descriptor pool of our own.

Generated stubs would tie us to one protobuf release and clash with any other package that registers ``p4.v1``
in the process (p4runtime, finsy). Here the classes come from the table in :mod:`messages`; they work with
protobuf 4.21 and later and are wire-compatible with every P4Runtime implementation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

from offramp_base.p4rt import messages

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "u32": _Field.TYPE_UINT32,
    "u64": _Field.TYPE_UINT64,
    "float": _Field.TYPE_FLOAT,
    "i32": _Field.TYPE_INT32,
    "i64": _Field.TYPE_INT64,
    "double": _Field.TYPE_DOUBLE,
    "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES,
    "string": _Field.TYPE_STRING,
}
ANY = any_pb2.DESCRIPTOR.name
"""The file that a package imports for ``google.protobuf.Any``."""
ANY_MESSAGE = "google.protobuf.Any"
_OTHER_PACKAGES = ("google.", "p4.", "gnmi_ext.")
"""Prefixes of full names of types; names without one are of the package itself."""
_TOKEN = re.compile(r"(?P<open>\w+)\{|(?P<name>\w+):(?P<type>[\w.]+?)(?P<mark>[*%]?)=(?P<number>\d+)|(?P<close>\})")


class Namespace:
    """The message classes and enumerations of one protobuf package as attributes; the classes by iteration."""

    def __init__(self, package: str, classes: dict[str, Any], enums: dict[str, Any] | None = None) -> None:
        self._package = package
        self._classes = classes
        self.__dict__.update(enums or {}, **classes)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no message {self._package}.{name}")

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(self._classes.items())


class ProtoPackage:
    """One package: its table turned into a file descriptor. ``imports`` are the files it refers to."""

    def __init__(self, package: str, table: str, imports: list[str]) -> None:
        self.proto = descriptor_pb2.FileDescriptorProto(
            name=f"offramp/{package}", package=package, syntax="proto3", dependency=imports
        )
        self.messages: dict[str, Any] = {}
        self.enums: set[str] = set()
        lines = re.sub(r"\n +", " ", table).split("\n")
        heads = [line.split(maxsplit=2) for line in lines if line]
        self.enums = {words[1] for words in heads if words[0] == "enum"}
        for line in filter(None, lines):
            head, _, rest = line.partition(" ")
            if head == "enum":
                name, _, rest = rest.partition(" ")
                self._enum(name, rest)
            else:
                self._message(head, rest)

    def _message(self, name: str, fields: str) -> None:
        outer, _, inner = name.rpartition(".")
        message = self.messages[outer].nested_type.add() if outer else self.proto.message_type.add()
        message.name = inner
        self.messages[name] = message
        oneof: int | None = None
        for token in _TOKEN.finditer(fields):
            if token["open"]:
                oneof = len(message.oneof_decl)
                message.oneof_decl.add().name = token["open"]
            elif token["close"]:
                oneof = None
            else:
                self._field(message, name, token, oneof)

    def _field(self, owner: Any, owner_name: str, token: re.Match[str], oneof: int | None) -> None:
        field = owner.field.add(name=token["name"], number=int(token["number"]))
        field.label = _Field.LABEL_REPEATED if token["mark"] else _Field.LABEL_OPTIONAL
        if token["mark"] == "%":
            entry = owner.nested_type.add(name="".join(p.title() for p in token["name"].split("_")) + "Entry")
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_STRING)
            self._set_type(entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL), token["type"])
            self._set_type(field, f"{owner_name}.{entry.name}")
        else:
            self._set_type(field, token["type"])
        if oneof is not None:
            field.oneof_index = oneof

    def _set_type(self, field: Any, name: str) -> None:
        if name in _SCALARS:
            field.type = _SCALARS[name]
            return
        field.type = _Field.TYPE_ENUM if name in self.enums else _Field.TYPE_MESSAGE
        full = name.startswith(_OTHER_PACKAGES)
        field.type_name = f".{name}" if full else f".{self.proto.package}.{name}"

    def _enum(self, name: str, values: str) -> None:
        outer, _, inner = name.rpartition(".")
        owner = self.messages[outer] if outer else self.proto
        enum = owner.enum_type.add(name=inner)
        for pair in values.split():
            key, _, number = pair.partition("=")
            enum.value.add(name=key, number=int(number))


def build(packages: Iterable[ProtoPackage]) -> tuple[descriptor_pool.DescriptorPool, dict[str, Namespace]]:
    """A pool of its own with ``google.protobuf.Any`` and the packages, in an order that their imports allow."""
    any_file = descriptor_pb2.FileDescriptorProto()
    any_pb2.DESCRIPTOR.CopyToProto(any_file)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(any_file.SerializeToString())
    namespaces = {"google.protobuf": Namespace("google.protobuf", {"Any": message_class(pool, ANY_MESSAGE)})}
    for file in packages:
        pool.AddSerializedFile(file.proto.SerializeToString())
        package = file.proto.package
        classes = {m.name: message_class(pool, f"{package}.{m.name}") for m in file.proto.message_type}
        enums = {e.name: EnumTypeWrapper(pool.FindEnumTypeByName(f"{package}.{e.name}")) for e in file.proto.enum_type}
        namespaces[package] = Namespace(package, classes, enums)
    return pool, namespaces


def message_class(pool: descriptor_pool.DescriptorPool, name: str) -> Any:
    """The class of a message in a pool, with any protobuf from 4.21 on."""
    descriptor = pool.FindMessageTypeByName(name)
    if hasattr(message_factory, "GetMessageClass"):
        message: Any = message_factory.GetMessageClass(descriptor)
    else:
        legacy: Any = message_factory.MessageFactory(pool)  # protobuf 4.21
        message = legacy.GetPrototype(descriptor)
    message.__module__ = name.rpartition(".")[0]  # None otherwise, which inspect and profilers do not expect
    return message


def _p4runtime() -> list[ProtoPackage]:
    return [
        ProtoPackage("google.rpc", messages.RPC, [ANY]),
        ProtoPackage("stratum", messages.STRATUM, []),
        ProtoPackage("p4.config.v1", messages.CONFIG, [ANY]),
        ProtoPackage("p4.v1", messages.V1, [ANY, "offramp/google.rpc", "offramp/p4.config.v1"]),
    ]


POOL, _NAMESPACES = build(_p4runtime())
"""The descriptor pool, for text and JSON formats."""
v1 = _NAMESPACES["p4.v1"]
"""Messages of ``p4.v1``: ``v1.TableEntry(...)``."""
config = _NAMESPACES["p4.config.v1"]
"""Messages of ``p4.config.v1``: ``config.P4Info(...)``."""
stratum = _NAMESPACES["stratum"]
"""``stratum.P4RoleConfig``: what a role may do."""
rpc = _NAMESPACES["google.rpc"]
"""``rpc.Status``."""
wellknown = _NAMESPACES["google.protobuf"]
"""``wellknown.Any``."""

SERVICE = "p4.v1.P4Runtime"
UNARY = {
    "Write": (v1.WriteRequest, v1.WriteResponse),
    "SetForwardingPipelineConfig": (
        v1.SetForwardingPipelineConfigRequest,
        v1.SetForwardingPipelineConfigResponse,
    ),
    "GetForwardingPipelineConfig": (
        v1.GetForwardingPipelineConfigRequest,
        v1.GetForwardingPipelineConfigResponse,
    ),
    "Capabilities": (v1.CapabilitiesRequest, v1.CapabilitiesResponse),
}
"""Methods with one request and one response; besides them, Read streams responses and StreamChannel both."""
