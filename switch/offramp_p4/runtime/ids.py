# SPDX-License-Identifier: Apache-2.0
"""Ids and aliases of P4Info objects, the same that p4c gives (P4Runtime specification, section 6.3).

An id is the 8-bit prefix of the object's kind and 24 bits from a hash of its name; collisions within the
program are resolved by linear probing in order of names, so that the same program always gets the same ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, TypeVar

from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import config

if TYPE_CHECKING:
    from offramp_p4.ir import Annotations

PREFIXES: dict[str, int] = dict(config.P4Ids.Prefix.items())
Key = TypeVar("Key", bound=Hashable)


def name_hash(name: str) -> int:
    """Jenkins' one-at-a-time hash, 32 bits."""
    value = 0
    for octet in name.encode():
        value = (value + octet) & 0xFFFFFFFF
        value = (value + (value << 10)) & 0xFFFFFFFF
        value ^= value >> 6
    value = (value + (value << 3)) & 0xFFFFFFFF
    value ^= value >> 11
    return (value + (value << 15)) & 0xFFFFFFFF


def explicit_id(annotations: Annotations) -> int | None:
    """The number of an ``@id`` annotation."""
    note = annotations.get("id")
    if note is None or not note.args:
        return None
    return int(str(note.args[0]), 0)


class SymbolTable:
    """Names of all objects that the control plane sees; fill it with :meth:`add`, then :meth:`assign`."""

    def __init__(self) -> None:
        self._ids: dict[str, dict[str, int | None]] = {}
        self._suffixes: Counter[tuple[str, ...]] = Counter()
        self._names: set[str] = set()

    def add(self, kind: str, name: str, annotations: Annotations) -> None:
        """Register an object of a kind (a name in :data:`PREFIXES`).

        Raises:
            OfframpError: its ``@id`` has the prefix of another kind.
        """
        ids = self._ids.setdefault(kind, {})
        if name in ids:
            return
        explicit = explicit_id(annotations)
        if explicit is not None:
            if explicit >> 24 not in {0, PREFIXES[kind]}:
                raise OfframpError(f"{name}: @id({explicit:#x}) has the prefix of another kind of object")
            explicit |= PREFIXES[kind] << 24
        ids[name] = explicit
        if name not in self._names:
            self._names.add(name)
            parts = tuple(reversed(name.split(".")))
            self._suffixes.update(parts[: i + 1] for i in range(len(parts)))

    def assign(self) -> None:
        """Give every object without ``@id`` its id.

        Raises:
            OfframpError: two objects have the same ``@id``.
        """
        taken: set[int] = set()
        for ids in self._ids.values():
            for name, explicit in ids.items():
                if explicit is not None and explicit in taken:
                    raise OfframpError(f"{name}: @id({explicit:#x}) is used by another object")
                taken.update(() if explicit is None else (explicit,))
        for kind in sorted(self._ids, key=PREFIXES.__getitem__):
            ids = self._ids[kind]
            for name in sorted(n for n, explicit in ids.items() if explicit is None):
                number = name_hash(name)
                while (identifier := PREFIXES[kind] << 24 | number & 0xFFFFFF) in taken:
                    number += 1
                taken.add(identifier)
                ids[name] = identifier

    def id(self, kind: str, name: str) -> int:
        """The id of an object."""
        identifier = self._ids[kind][name]
        assert identifier is not None, "ids are asked for after assign()"
        return identifier

    def __contains__(self, key: tuple[str, str]) -> bool:
        kind, name = key
        return name in self._ids.get(kind, {})

    def alias(self, name: str) -> str:
        """The shortest suffix, in whole components, that no other object's name ends with."""
        parts = tuple(reversed(name.split(".")))
        for length in range(1, len(parts) + 1):
            if self._suffixes[parts[:length]] < 2:
                break
        return ".".join(reversed(parts[:length]))


def field_ids(fields: Iterable[tuple[Key, Annotations]]) -> dict[Key, int]:
    """Ids of the fields of one object: ``@id`` where given, else counted from 1.

    Raises:
        OfframpError: an ``@id`` is 0 or used twice.
    """
    todo = list(fields)
    out: dict[Key, int] = {}
    for key, notes in todo:
        explicit = explicit_id(notes)
        if explicit is not None:
            if explicit == 0 or explicit in out.values():
                raise OfframpError(f"{key}: @id({explicit}) must be positive and unique")
            out[key] = explicit
    number = 1
    for key, _ in todo:
        if key in out:
            number += 1
            continue
        while number in out.values():
            number += 1
        out[key] = number
    return {key: out[key] for key, _ in todo}
