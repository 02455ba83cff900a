# SPDX-License-Identifier: Apache-2.0
"""A Chakra trace file: length-delimited messages (``GlobalMetadata``, then ``ChakraNode``), or the same as JSON."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from offramp.hermod.chakra.kineto import is_kineto, kineto_trace
from offramp.hermod.chakra.node import Attribute, ChakraNode, ChakraTrace
from offramp.hermod.chakra.schema import SPELLED, messages
from offramp_base.documents import parse_json, read_bytes
from offramp_base.ending.files import written
from offramp_base.errors import OfframpError

_MOST_BYTES = 4 << 30

_KINDS = ((bool, "bool"), (int, "int64"), (float, "double"), (str, "string"), (bytes, "bytes"))


def write_trace(trace: ChakraTrace, path: Path) -> None:
    """Protobuf, or JSON if the name ends in ``.json``.

    Raises:
        OfframpError: the file cannot be written.
    """
    encoded = [_metadata(trace), *(_node(node) for node in trace.nodes)]
    if path.suffix == ".json":
        from google.protobuf import json_format

        rows = [json_format.MessageToDict(m, preserving_proto_field_name=True) for m in encoded]
        content = (json.dumps({"global_metadata": rows[0], "nodes": rows[1:]}, indent=1) + "\n").encode()
    else:
        content = b"".join(_delimited(m.SerializeToString(deterministic=True)) for m in encoded)
    try:
        with written(path) as file:
            file.write(content)
    except OSError as error:
        raise OfframpError(f"{path}: cannot be written: {error.strerror}") from None


def read_trace(path: Path) -> ChakraTrace:
    """A trace file of any writer of the schema, or of PyTorch's profiler; JSON may be compressed by gzip.

    Raises:
        OfframpError: it cannot be read, or is no trace.
    """
    try:
        content = read_bytes(path, _MOST_BYTES)
        if path.suffix == ".gz":
            content = _unpacked(content)
        if ".json" in path.suffixes:
            whole = parse_json(content)
            if is_kineto(whole):
                return kineto_trace(whole)
            first, rest = _from_json(whole)
        else:
            first, rest = _from_wire(content)
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise OfframpError(f"{path}: not a Chakra execution trace") from None
    by_data = any(node.data_deps for node in rest)
    return ChakraTrace([_read_node(node, by_data=by_data) for node in rest], first.version, _attributes(first.attr))


def _from_wire(content: bytes) -> tuple[Any, list[Any]]:
    from google.protobuf.message import DecodeError

    kinds = messages()
    parts = list(_undelimited(content))
    try:
        return kinds.GlobalMetadata.FromString(parts[0]), [kinds.Node.FromString(part) for part in parts[1:]]
    except (DecodeError, IndexError):
        raise ValueError from None


def _unpacked(content: bytes) -> bytes:
    try:
        with gzip.open(io.BytesIO(content)) as file:
            plain = file.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise OfframpError(f"not compressed by gzip: {error}") from None
    if len(plain) > _MOST_BYTES:
        raise OfframpError(f"more than {_MOST_BYTES >> 30} GiB")
    return plain


def _from_json(whole: Any) -> tuple[Any, list[Any]]:
    from google.protobuf import json_format

    kinds = messages()
    if isinstance(whole, dict) and "schema" in whole and "nodes" in whole:
        raise OfframpError(
            "PyTorch's execution trace has no times of kernels: expected the profiler's trace (Kineto), or both"
            " joined by chakra_trace_link and chakra_converter"
        )
    try:
        first = json_format.ParseDict(whole.get("global_metadata", {}), kinds.GlobalMetadata(), True)
        return first, [json_format.ParseDict(row, kinds.Node(), True) for row in whole["nodes"]]
    except json_format.ParseError:
        raise ValueError from None


def _delimited(message: bytes) -> bytes:
    size, head = len(message), bytearray()
    while size > 0x7F:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes(head) + bytes([size]) + message


def _undelimited(content: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(content):
        size = shift = 0
        while True:
            if at >= len(content) or shift > 63:
                raise ValueError
            byte = content[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if at + size > len(content):
            raise ValueError
        yield content[at : at + size]
        at += size


def _metadata(trace: ChakraTrace) -> Any:
    return messages().GlobalMetadata(version=trace.version, attr=_written(trace.attributes))


def _node(node: ChakraNode) -> Any:
    return messages().Node(
        id=node.id,
        name=node.name,
        type=node.kind,
        data_deps=node.waits,
        duration_micros=node.duration_us,
        inputs={"values": node.inputs} if node.inputs else None,
        attr=_written(node.attributes),
    )


def _written(attributes: dict[str, Attribute]) -> list[Any]:
    encoded = []
    for name, value in attributes.items():
        many = isinstance(value, list)
        first = (value[0] if value else 0) if isinstance(value, list) else value
        kind = SPELLED.get(name) or next(text for python, text in _KINDS if isinstance(first, python))
        content = {f"{kind}_list": {"values": value}} if many else {f"{kind}_val": value}
        encoded.append(messages().AttributeProto(name=name, **content))
    return encoded


def _attributes(rows: Iterable[Any]) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {}
    for row in rows:
        which = row.WhichOneof("value")
        if which is not None:
            value = getattr(row, which)
            attributes[row.name] = list(value.values) if which.endswith("_list") else value
    return attributes


def _read_node(node: Any, *, by_data: bool) -> ChakraNode:
    """A node that waits for its data, as in Chakra's own feeder.

    Control dependencies count where the trace has no others: of captured ones they are the profiler's tree of calls.
    """
    waits = list(dict.fromkeys(node.data_deps if by_data else node.ctrl_deps))
    inputs = node.inputs.values
    return ChakraNode(node.id, node.name, node.type, waits, node.duration_micros, _attributes(node.attr), inputs)
