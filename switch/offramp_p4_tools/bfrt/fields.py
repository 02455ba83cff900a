# SPDX-License-Identifier: Apache-2.0
"""BF-RT's description of a table, and its form in ``bf-rt.json``, in the order of p4c's Tofino back end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

Annotations = tuple[tuple[str, str | None], ...]

WIDTHS: Final = {"bool": 1, "uint8": 8, "uint16": 16, "uint32": 32, "int32": 32, "uint64": 64, "int64": 64, "float": 32}
"""Bits of the types that say their width by name; ``bytes`` says it beside, ``string`` has none."""
REGISTER_DATA: Final[Annotations] = (("$bfrt_field_class", "register_data"),)


@dataclass(frozen=True)
class BfrtField:
    """A field of a key, of an action, or of a table's data.

    Attributes:
        kind: ``bytes``, ``string``, ``container``, or a key of :data:`WIDTHS`.
        width: width in bits; 0 for text and containers.
        repeated: the value is a list.
        default: value in an entry that does not give the field; None: 0, false, empty.
        choices: the texts that a string may be; empty: any.
        match: match kind of a key: Exact, Ternary, LPM, Range or Optional.
        oneof: data fields next to each other with the same mark exclude each other.
        parts: parts of a container.
    """

    id: int
    name: str
    kind: str = "bytes"
    width: int = 0
    repeated: bool = False
    mandatory: bool = False
    read_only: bool = False
    default: int | float | str | bool | None = None
    choices: tuple[str, ...] = ()
    annotations: Annotations = ()
    match: str = "Exact"
    oneof: str = ""
    parts: tuple[BfrtField, ...] = ()

    def __post_init__(self) -> None:
        if self.kind in WIDTHS:
            object.__setattr__(self, "width", WIDTHS[self.kind])

    @property
    def octets(self) -> int:
        """Bytes of a number on the wire."""
        return (self.width + 7) // 8

    @property
    def is_register(self) -> bool:
        """Whether a read gives one value for each pipe."""
        return self.annotations == REGISTER_DATA

    def key_json(self) -> dict[str, Any]:
        """The field as one of a key, in the form of ``bf-rt.json``."""
        document = {**self._head(), "mandatory": self.mandatory, "match_type": self.match}
        return {**document, "type": self._type()}

    def parameter_json(self) -> dict[str, Any]:
        """The field as a parameter of an action, in the form of ``bf-rt.json``."""
        head = self._head()
        notes = head.pop("annotations")
        flags = {"mandatory": self.mandatory, "read_only": self.read_only, "annotations": notes}
        return {**head, **flags, "type": self._type()}

    def data_json(self) -> dict[str, Any]:
        """The field as one of data, without the flags around it, in the form of ``bf-rt.json``."""
        if self.kind == "container":
            return {**self._head(), "container": _data_json(self.parts)}
        return {**self._head(), "type": self._type()}

    def _head(self) -> dict[str, Any]:
        return {"id": self.id, "name": self.name, "repeated": self.repeated, "annotations": notes(self.annotations)}

    def _type(self) -> dict[str, Any]:
        document: dict[str, Any] = {"type": self.kind}
        if self.kind == "bytes":
            document["width"] = self.width
        if self.choices:
            document["choices"] = list(self.choices)
        if self.default is not None:
            document["default_value"] = self.default
        return document


@dataclass(frozen=True)
class ActionSpec:
    """An action of a table; ``scope`` is TableAndDefault, TableOnly or DefaultOnly."""

    id: int
    name: str
    params: tuple[BfrtField, ...] = ()
    scope: str = "TableAndDefault"
    annotations: Annotations = ()

    def json(self) -> dict[str, Any]:
        """The action as in ``action_specs`` of ``bf-rt.json``."""
        return {
            "id": self.id,
            "name": self.name,
            "action_scope": self.scope,
            "annotations": notes(self.annotations),
            "data": [p.parameter_json() for p in self.params],
        }


@dataclass(frozen=True)
class TableSpec:
    """A table of the program or of the chip.

    Attributes:
        kind: ``table_type``.
        data: fields that entries have beside the parameters of their action.
        actions: None for a table without actions.
        const_default: None where the description does not say.
        bare: p4c writes no ``annotations`` for some kinds.
    """

    id: int
    name: str
    kind: str
    size: int
    key: tuple[BfrtField, ...] = ()
    data: tuple[BfrtField, ...] = ()
    actions: tuple[ActionSpec, ...] | None = None
    depends_on: tuple[int, ...] = ()
    operations: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    annotations: Annotations = ()
    const_default: bool | None = None
    read_only: bool = False
    bare: bool = False

    def fields(self, action: ActionSpec | None) -> dict[int, BfrtField]:
        """The data fields of an entry with this action, by id; a parameter hides a common field with its id."""
        all_fields = {f.id: f for f in self.data}
        return all_fields if action is None else {**all_fields, **{f.id: f for f in action.params}}

    def action(self, number: int) -> ActionSpec | None:
        """The action with an id."""
        return next((a for a in self.actions or () if a.id == number), None)

    def json(self) -> dict[str, Any]:
        """The table as in ``tables`` of ``bf-rt.json``."""
        document: dict[str, Any] = {"name": self.name, "id": self.id, "table_type": self.kind, "size": self.size}
        if not self.bare:
            document["annotations"] = notes(self.annotations)
        document["depends_on"] = list(self.depends_on)
        if self.const_default is not None:
            document["has_const_default_action"] = self.const_default
        document["key"] = [f.key_json() for f in self.key]
        if self.actions is not None:
            document["action_specs"] = [a.json() for a in self.actions]
        document["data"] = _data_json(self.data)
        document["supported_operations"] = list(self.operations)
        document["attributes"] = list(self.attributes)
        if self.read_only:
            document["read_only"] = True
        return document


@dataclass(frozen=True)
class LearnFilter:
    """A digest of the program."""

    id: int
    name: str
    fields: tuple[BfrtField, ...]

    def json(self) -> dict[str, Any]:
        """The digest as in ``learn_filters`` of ``bf-rt.json``."""
        fields = [f.data_json() for f in self.fields]
        return {"name": self.name, "id": self.id, "annotations": [], "fields": fields}


def notes(annotations: Annotations) -> list[dict[str, str]]:
    """Annotations as ``bf-rt.json`` has them."""
    return [{"name": name} if value is None else {"name": name, "value": value} for name, value in annotations]


def _data_json(fields: tuple[BfrtField, ...]) -> list[dict[str, Any]]:
    documents: list[dict[str, Any]] = []
    open_choice = ""
    for field in fields:
        if field.oneof and field.oneof == open_choice:
            documents[-1]["oneof"].append(field.data_json())
            continue
        flags = {"mandatory": field.mandatory, "read_only": field.read_only}
        one = field.data_json()
        documents.append({**flags, "oneof": [one]} if field.oneof else {**flags, "singleton": one})
        open_choice = field.oneof
    return documents
