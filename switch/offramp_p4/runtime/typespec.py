# SPDX-License-Identifier: Apache-2.0
"""P4 types as P4Info describes them (P4Runtime specification, section 8.5)."""

from __future__ import annotations

from typing import Any

from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import config
from offramp_p4.runtime.annotations import annotate, control_name
from offramp_p4.types import (
    BOOL,
    ERROR,
    Bits,
    Enum,
    Header,
    List,
    Newtype,
    Nominal,
    Stack,
    Struct,
    Structure,
    Tuple,
    Type,
    Union,
    Varbit,
    strip,
)


def width_of(t: Type) -> int:
    """Bits of a match field or parameter for the controller.

    0 where P4Info says none: for an enum without representation and for translation to strings.
    """
    translated = translation(t)
    if translated is not None:
        return translated[1] or 0
    t = strip(t)
    if isinstance(t, Bits | Varbit):
        return t.width
    if isinstance(t, Enum):
        return t.base.width if t.base is not None else 0
    return 1 if t == BOOL else 0


def translation(t: Type) -> tuple[str, int | None] | None:
    """``(uri, bits)`` of ``@p4runtime_translation``; bits None: the controller uses strings."""
    note = t.annotations.get("p4runtime_translation") if isinstance(t, Newtype) else None
    if note is None:
        return None
    uri, kind = note.args
    if isinstance(kind, int):
        return str(uri), kind
    text = str(kind).replace(" ", "")
    return str(uri), int(text[4:-1]) if text.startswith("bit<") else None


def type_name(t: Nominal) -> str:
    """The name of a type for the controller: ``@name``, else the source's, of a generic one with its arguments."""
    base, generic, arguments = t.name.partition("<")
    name = f"{base}_{arguments}" if generic else base
    for char, other in (("<", ""), (">", ""), (", ", "_"), (" ", ""), (".", "_")):
        name = name.replace(char, other)
    return control_name(name, t.annotations)


class TypeCatalog:
    """Fills the ``type_info`` of a P4Info with the named types that are met."""

    def __init__(self, errors: list[str], info: Any) -> None:
        self._errors = errors
        self._info = info

    def spec(self, t: Type) -> Any:
        """P4DataTypeSpec of a type; named types it uses enter the catalogue.

        Raises:
            OfframpError: the control plane has no representation of the type.
        """
        spec = config.P4DataTypeSpec()
        if isinstance(t, Newtype):
            spec.new_type.name = self._new_type(t)
        elif isinstance(t, Bits | Varbit):
            self._bits(spec.bitstring, t)
        elif t == BOOL:
            spec.bool.SetInParent()
        elif t == ERROR:
            spec.error.SetInParent()
            self._info.error.ClearField("members")
            self._info.error.members.extend(self._errors)
        elif isinstance(t, Tuple):
            spec.tuple.SetInParent()
            spec.tuple.members.extend(self.spec(member) for member in t.types)
        elif isinstance(t, List):
            return self.spec(t.element)
        elif isinstance(t, Enum):
            self._enum(spec, t)
        elif isinstance(t, Stack):
            self._stack(spec, t)
        elif isinstance(t, Structure):
            self._structure(spec, t)
        else:
            raise OfframpError(f"type {t} has no representation in P4Runtime")
        return spec

    def named(self, t: Type) -> str:
        """Enter a type; the name that ``type_name`` fields carry, empty for types without one."""
        self.spec(t)
        return t.name if isinstance(t, Newtype) else ""

    def _bits(self, spec: Any, t: Bits | Varbit) -> None:
        if isinstance(t, Varbit):
            spec.varbit.max_bitwidth = t.width
        elif t.signed:
            spec.int.bitwidth = t.width
        else:
            spec.bit.bitwidth = t.width

    def _new_type(self, t: Newtype) -> str:
        if t.name not in self._info.new_types:
            new_type = self._info.new_types[t.name]
            annotate(new_type, t.annotations, leave_out={"p4runtime_translation"})
            translated = translation(t)
            if translated is None:
                new_type.original_type.CopyFrom(self.spec(strip(t)))
            else:
                new_type.translated_type.uri, bits = translated
                if bits is None:
                    new_type.translated_type.sdn_string.SetInParent()
                else:
                    new_type.translated_type.sdn_bitwidth = bits
        return t.name

    def _enum(self, spec: Any, t: Enum) -> None:
        if t.base is None:
            name = spec.enum.name = type_name(t)
            if name not in self._info.enums:
                enum = self._info.enums[name]
                for member in t.members:
                    enum.members.add(name=member)
            return
        name = spec.serializable_enum.name = type_name(t)
        if name not in self._info.serializable_enums:
            enum = self._info.serializable_enums[name]
            enum.underlying_type.bitwidth = t.base.width
            for member, value in t.members.items():
                enum.members.add(name=member, value=padded(value & t.base.mask, t.base.width))

    def _stack(self, spec: Any, t: Stack) -> None:
        if not isinstance(t.element, Header | Union):
            raise OfframpError(f"an array of {t.element} has no representation in P4Runtime")
        self.spec(t.element)
        if isinstance(t.element, Union):
            spec.header_union_stack.header_union.name = type_name(t.element)
            spec.header_union_stack.size = t.size
        else:
            spec.header_stack.header.name = type_name(t.element)
            spec.header_stack.size = t.size

    def _structure(self, spec: Any, t: Structure) -> None:
        if isinstance(t, Struct):
            name = spec.struct.name = type_name(t)
            if name not in self._info.structs:
                struct = self._info.structs[name]
                for f in t.fields:
                    struct.members.add(name=control_name(f.name, f.annotations)).type_spec.CopyFrom(self.spec(f.type))
        elif isinstance(t, Header):
            name = spec.header.name = type_name(t)
            if name not in self._info.headers:
                struct = self._info.headers[name]
                for field, leaf in flatten(t):
                    struct.members.add(name=field).type_spec.CopyFrom(self.spec(strip(leaf)).bitstring)
        else:
            name = spec.header_union.name = type_name(t)
            if name not in self._info.header_unions:
                struct = self._info.header_unions[name]
                for f in t.fields:
                    struct.members.add(name=control_name(f.name, f.annotations)).header.CopyFrom(
                        self.spec(f.type).header
                    )


def flatten(t: Structure, prefix: str = "") -> list[tuple[str, Type]]:
    """The leaf fields of a header, structs inside it opened: names joined by dots, and types."""
    out: list[tuple[str, Type]] = []
    for f in t.fields:
        inner = strip(f.type)
        if isinstance(inner, Struct):
            out += flatten(inner, f"{prefix}{f.name}.")
        else:
            out.append((prefix + f.name, f.type))
    return out


def padded(value: int, width: int) -> bytes:
    """A number as big-endian bytes of its full width, as p4c writes numbers into P4Info."""
    return value.to_bytes((width + 7) // 8, "big")
