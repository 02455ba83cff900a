# SPDX-License-Identifier: Apache-2.0
"""Names, ids and widths of a pipeline: look-ups over a P4Info message (P4Runtime spec., section 6)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from offramp_base.errors import OfframpError
from offramp_base.p4rt import schema

KINDS = {
    "tables": "table",
    "actions": "action",
    "action_profiles": "action profile",
    "counters": "counter",
    "direct_counters": "direct counter",
    "meters": "meter",
    "direct_meters": "direct meter",
    "controller_packet_metadata": "controller header",
    "value_sets": "value set",
    "registers": "register",
    "digests": "digest",
}
"""Words for objects, by the field of P4Info that lists them."""


def parse(data: bytes | str) -> Any:
    """A P4Info message from its binary or text form (``str``, or bytes that hold text).

    Raises:
        OfframpError: it is neither.
    """
    from google.protobuf import message

    if isinstance(data, str):
        return _parse_text(data)
    info = schema.config.P4Info()
    try:
        info.ParseFromString(data)
    except message.DecodeError:
        try:
            return _parse_text(data.decode("utf-8"))
        except UnicodeDecodeError:
            raise OfframpError("P4Info: neither binary nor text protobuf of p4.config.v1.P4Info") from None
    return info


def _parse_text(text: str) -> Any:
    from google.protobuf import text_format

    try:
        return text_format.Parse(text, schema.config.P4Info(), descriptor_pool=schema.POOL)
    except text_format.ParseError as error:
        raise OfframpError(f"P4Info: line {error} (expected text protobuf of p4.config.v1.P4Info)") from None
    except ValueError as error:  # a number that its field cannot hold: some versions of protobuf give no line
        raise OfframpError(f"P4Info: {error} (expected text protobuf of p4.config.v1.P4Info)") from None


def load(path: Path | str) -> Any:
    """A P4Info message from a file, text or binary.

    Raises:
        OfframpError: the file cannot be read or is not a P4Info.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise OfframpError(f"{path}: {error.strerror}") from None
    try:
        return parse(data.decode("utf-8") if path.suffix in {".txt", ".txtpb", ".pbtxt"} else data)
    except (OfframpError, UnicodeDecodeError) as error:
        raise OfframpError(f"{path}: {error}") from None


class NamedObjects:
    """The objects of one kind by name, alias or id."""

    def __init__(self, word: str, objects: Iterable[Any]) -> None:
        self.word = word
        self.by_id: dict[int, Any] = {}
        self.by_name: dict[str, Any] = {}
        aliases: dict[str, Any] = {}
        for obj in objects:
            self.by_id[obj.preamble.id] = obj
            self.by_name[obj.preamble.name] = obj
            aliases[obj.preamble.alias] = obj
        self._known = aliases | self.by_name

    def __getitem__(self, name: str) -> Any:
        """The object with this name or alias.

        Raises:
            OfframpError: there is none; the message names the nearest one.
        """
        try:
            return self._known[name]
        except KeyError:
            raise OfframpError(f"no {self.word} {name!r} in the pipeline{_hint(name, self._known)}") from None

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def __iter__(self) -> Any:
        return iter(self.by_id.values())

    def name_of(self, identifier: int) -> str:
        """The name of an id, or the id in hexadecimal."""
        obj = self.by_id.get(identifier)
        return obj.preamble.name if obj is not None else f"{self.word} {identifier:#010x}"


class P4InfoIndex:
    """A P4Info message and its :class:`NamedObjects` collections as attributes: ``index.tables["t"]``."""

    tables: NamedObjects
    actions: NamedObjects
    action_profiles: NamedObjects
    counters: NamedObjects
    direct_counters: NamedObjects
    meters: NamedObjects
    direct_meters: NamedObjects
    controller_packet_metadata: NamedObjects
    value_sets: NamedObjects
    registers: NamedObjects
    digests: NamedObjects

    def __init__(self, info: Any) -> None:
        self.message = info
        for attribute, word in KINDS.items():
            setattr(self, attribute, NamedObjects(word, getattr(info, attribute)))


def no_field(obj: Any, fields: Iterable[str], name: str, word: str) -> OfframpError:
    """The error for a field that an object does not have; it lists the fields that exist."""
    return OfframpError(f"{obj.preamble.name} has no {word} {name!r}; it has {', '.join(fields) or 'none'}")


def _hint(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
