# SPDX-License-Identifier: Apache-2.0
"""Values of leaves as messages and as JSON (gNMI specification, section 2.3; RFC 7951)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from offramp_base.documents import parse_json
from offramp_base.errors import OfframpError
from offramp_base.gnmi.schema import JSON, JSON_IETF, PROTO, TypedValue, gnmi
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4_tools.gnmi.model import INTERFACES, KEY, MODELS, ROOT, InterfaceLeaf, JsonForm, Scalar

ENCODINGS: Final = (JSON, JSON_IETF, PROTO)
Known = tuple[int, InterfaceLeaf, Scalar]
"""A leaf of a port and its value."""


def check_encoding(encoding: int) -> None:
    """Check that an encoding is supported.

    Raises:
        RpcError: UNIMPLEMENTED.
    """
    if encoding not in ENCODINGS:
        named = encoding in gnmi.Encoding.values()
        name = gnmi.Encoding.Name(encoding) if named else str(encoding)
        raise RpcError(Code.UNIMPLEMENTED, f"encoding {name} is not supported; JSON, JSON_IETF and PROTO are")


def scalar_value(leaf: InterfaceLeaf, value: Scalar, encoding: int) -> Any:
    """The ``gnmi.TypedValue`` of a leaf."""
    if encoding == PROTO:
        if isinstance(value, bool):
            return TypedValue(bool_val=value)
        return TypedValue(string_val=value) if isinstance(value, str) else TypedValue(uint_val=value)
    return json_value(_plain(leaf, value, encoding), encoding)


def json_value(value: Any, encoding: int) -> Any:
    """The ``gnmi.TypedValue`` of a JSON value."""
    text = json.dumps(value, separators=(",", ":")).encode()
    return TypedValue(json_ietf_val=text) if encoding == JSON_IETF else TypedValue(json_val=text)


def subtree(known: Iterable[Known], depth: int, encoding: int) -> Any:
    """The object below the first ``depth`` names that the leaves share; interfaces are a list above theirs."""
    top: dict[str, Any] = {}
    entries: dict[tuple[int, int], dict[str, Any]] = {}
    for port, leaf, value in known:
        full, at = leaf.full, top
        for level in range(depth, len(full) - 1):
            name = _qualified(full[level], INTERFACES, encoding, first=level == depth)
            if level == len(ROOT) - 1:
                entry = entries.get((id(at), port))
                if entry is None:
                    entry = entries[id(at), port] = {}
                    at.setdefault(name, []).append(entry)
                at = entry
            else:
                at = at.setdefault(name, {})
        name = _qualified(full[-1], leaf.module, encoding, first=len(full) - 1 == depth)
        at[name] = _plain(leaf, value, encoding)
    return top


def _qualified(name: str, module: str, encoding: int, *, first: bool) -> str:
    """RFC 7951, section 4: with its module at the top and where the module is another than above."""
    return f"{module}:{name}" if encoding == JSON_IETF and (first or module != INTERFACES) else name


def _plain(leaf: InterfaceLeaf, value: Scalar, encoding: int) -> Scalar:
    return str(value) if leaf.form is JsonForm.LONG and encoding == JSON_IETF else value


def given(value: Any) -> Any:
    """The value of a ``gnmi.TypedValue`` of a Set: a scalar, or parsed JSON.

    Raises:
        RpcError: INVALID_ARGUMENT, it is not a value; UNIMPLEMENTED, it has another encoding.
    """
    match value.WhichOneof("value"):
        case "bool_val" | "string_val" | "uint_val" | "int_val" as name:
            return getattr(value, name)
        case "json_val" | "json_ietf_val" as name:
            try:
                return parse_json(getattr(value, name))
            except OfframpError as error:
                raise RpcError(Code.INVALID_ARGUMENT, f"the value is not JSON: {error}") from None
        case None:
            raise RpcError(Code.INVALID_ARGUMENT, "an update without val")
        case name:
            raise RpcError(Code.UNIMPLEMENTED, f"values as {name} are not supported")


def members(value: Any, text: str) -> Mapping[str, Any]:
    """The members of a JSON object by their names without a module.

    Raises:
        RpcError: INVALID_ARGUMENT, the value is not an object, or has a member of an unknown module or twice.
    """
    if not isinstance(value, dict):
        raise RpcError(Code.INVALID_ARGUMENT, f"path {text}: expected a JSON object")
    out: dict[str, Any] = {}
    for name, member in value.items():
        module, colon, plain = name.rpartition(":")
        if colon and module not in MODELS:
            raise RpcError(Code.INVALID_ARGUMENT, f"path {text}: module {module[:80]!r} is not served")
        if plain in out:
            raise RpcError(Code.INVALID_ARGUMENT, f"path {text}: {plain[:80]!r} stands there twice")
        out[plain] = member
    return out


def key_of(entry: Mapping[str, Any], text: str) -> str:
    """The name of an interface in a list.

    Raises:
        RpcError: INVALID_ARGUMENT, it has none.
    """
    name = entry.get(KEY)
    if not isinstance(name, str):
        raise RpcError(Code.INVALID_ARGUMENT, f"path {text}: an interface without its name")
    return name
