# SPDX-License-Identifier: Apache-2.0
"""Headers, stacks, unions and metadata of a document as the structs of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from offramp_p4 import ir
from offramp_p4.types import BOOL, Bits, Header, Stack, Struct, StructField, Structure, Type, Union, Varbit, strip
from offramp_p4_tools.bmv2.read.nodes import JsonNode

MAX_WIDTH: Final = 1 << 16
"""Bits of a field; cells of all headers together."""
_MAX_STACK: Final = 4096
_PLAIN_BITS: Final = 32
"""Width of an enum or an error that is not a number."""


@dataclass(frozen=True, slots=True)
class ArchitectureMetadata:
    """The metadata of an architecture, as documents have them.

    Attributes:
        fields: what the engines read and write, by header instance, with the types that fields have unless a document
            says otherwise.
        scopes: header instances of older programs whose fields are those of the first instance.
        required: whether a document without one of the instances is refused.
    """

    fields: Mapping[str, Mapping[str, Type]]
    scopes: Sequence[str] = ()
    required: bool = True


class DocumentLayout:
    """Places by the document's names.

    Attributes:
        headers, metadata: the headers, and all metadata that are not the architecture's.
        standard: the metadata of the architecture by header instance.
    """

    def __init__(self, document: JsonNode, architecture: ArchitectureMetadata) -> None:
        self._types = {t["name"].text: t for t in document.each("header_types")}
        self._headers: dict[str, ir.Expr] = {}
        self._stacks: dict[str, ir.Expr] = {}
        self._unions: dict[str, ir.Expr] = {}
        self._header_types: dict[str, Header] = {}
        self._structs: dict[str, Struct] = {}
        self._union_types: dict[str, Union] = {}
        self._aliases: dict[tuple[str, str], tuple[str, str]] = {}
        self.standard = self._read_standard(document, architecture)
        self._read_instances(document)

    # --- what stands in the document --------------------------------------------------------------------------

    def _read_standard(self, document: JsonNode, architecture: ArchitectureMetadata) -> dict[str, ir.Var]:
        instances = {h["name"].text: h for h in document.each("headers")}
        types = {name: dict(fields) for name, fields in architecture.fields.items()}
        missing = next((name for name in types if name not in instances), None)
        if missing is not None and architecture.required:
            document["headers"].fail(f"there is no {missing}")
        first = next(iter(types))
        known = {(scope, name): (first, name) for scope in architecture.scopes for name in types[first]}
        for alias in document.each("field_aliases"):
            scope, _, name = alias[0].text.partition(".")
            if name in types[first] and (scope == first or (scope, name) in known):
                self._aliases[alias[1][0].text, alias[1][1].text] = first, name
        self._aliases |= known
        for name, instance in instances.items():
            for f in self._type(instance).each("fields"):
                field = f[0].text
                owner, place = (name, field) if name in types else self._aliases.get((name, field), ("", ""))
                if owner and not place.startswith("_padding"):
                    types[owner][place] = _as_declared(types[owner].get(place), f[1].number(1, MAX_WIDTH))
        return {
            name: ir.Var(
                name, Struct(f"{name}_t", fields=[StructField(f, _number(t)) for f, t in fields.items()]), "inout"
            )
            for name, fields in types.items()
        }

    def _type(self, instance: JsonNode) -> JsonNode:
        name = instance["header_type"]
        return self._types.get(name.text) or name.fail(f"there is no header type '{name.text[:80]}'")

    def _read_instances(self, document: JsonNode) -> None:
        names: dict[int, str] = {}
        headers: dict[str, JsonNode] = {}
        for h in document.each("headers"):
            if h["name"].text in headers:
                h.fail(f"header '{h['name'].text[:80]}' is there twice")
            headers[h["name"].text] = h
            names[h["id"].number(0, 1 << 31)] = h["name"].text
        unions = {u["name"].text: u for u in document.each("header_unions")}
        union_names = {u["id"].number(0, 1 << 31): name for name, u in unions.items()}
        stacks = {s["name"].text: s for s in document.each("header_stacks")}
        union_stacks = {s["name"].text: s for s in document.each("header_union_stacks")}
        inner: dict[str, tuple[str, int]] = {}
        self._members(stacks, "header_ids", names, inner)
        self._members(union_stacks, "header_union_ids", union_names, inner)
        self._members(unions, "header_ids", names, inner)
        fields: list[StructField] = []
        metadata: list[StructField] = []
        for name, h in headers.items():
            if "metadata" in h and h["metadata"].flag:
                if name not in self.standard:
                    metadata.append(StructField(name, self._struct(h)))
            elif name not in inner:
                fields.append(StructField(name, self._header(h)))
        union_types = {t["name"].text: t for t in document.each("header_union_types")}
        made_unions = {name: self._union(u, union_types, headers, names) for name, u in unions.items()}
        fields += [StructField(name, t) for name, t in made_unions.items() if name not in inner]
        for name, s in stacks.items():
            members = [headers[names[i.number(0, 1 << 31)]] for i in s["header_ids"]]
            kinds = {self._header(m) for m in members}
            if len(kinds) != 1 or len(members) > _MAX_STACK:
                s.fail(f"expected 1 to {_MAX_STACK} headers of one type")
            fields.append(StructField(name, Stack(kinds.pop(), len(members))))
        for name, s in union_stacks.items():
            elements = [made_unions[union_names[i.number(0, 1 << 31)]] for i in s["header_union_ids"]]
            if len(set(elements)) != 1 or len(elements) > _MAX_STACK:
                s.fail(f"expected 1 to {_MAX_STACK} unions of one type")
            fields.append(StructField(name, Stack(elements[0], len(elements))))
        self.headers = ir.Var("hdr", Struct("headers", fields=fields), "inout")
        self.metadata = ir.Var("meta", Struct("metadata", fields=metadata), "inout")
        if self.headers.type.slots + self.metadata.type.slots > MAX_WIDTH:
            document["headers"].fail("the headers are too many")
        self._place(inner)

    def _members(
        self, owners: dict[str, JsonNode], key: str, names: dict[int, str], inner: dict[str, tuple[str, int]]
    ) -> None:
        for owner, node in owners.items():
            for i, number in enumerate(node[key]):
                name = names.get(number.number(0, 1 << 31))
                if name is None:
                    number.fail("there is nothing with this id")
                if name in inner:
                    number.fail(f"'{name[:80]}' is a part of something else already")
                inner[name] = (owner, i)

    def _header(self, instance: JsonNode) -> Header:
        node = self._type(instance)
        name = node["name"].text
        if name not in self._header_types:
            fields = [StructField(f[0].text, self._field(f, node)) for f in node["fields"]]
            if len({f.name for f in fields}) != len(fields):
                node.fail("a field is there twice")
            self._header_types[name] = Header(name, fields=fields)
        return self._header_types[name]

    def _field(self, f: JsonNode, header: JsonNode) -> Type:
        if f[1].value == "*":
            others = sum(o[1].number(0, MAX_WIDTH) for o in header["fields"] if o[1].value != "*")
            most = 8 * header["max_length"].number(1, MAX_WIDTH // 8) if "max_length" in header else MAX_WIDTH // 8
            return Varbit(max(1, most - others))
        width = f[1].number(0, MAX_WIDTH)
        return Bits(width, signed=len(f) > 2 and f[2].value not in (0, False) and f[2].flag and width > 1)

    def _struct(self, instance: JsonNode) -> Struct:
        """The type of metadata; one for all metadata of a type, which may be assigned to each other."""
        node = self._type(instance)
        if node["name"].text in self._structs:
            return self._structs[node["name"].text]
        fields = []
        for f in node["fields"]:
            if f[0].text.startswith("_padding"):
                continue
            t = self._field(f, node)
            fields.append(StructField(f[0].text, t))
        if len({f.name for f in fields}) != len(fields):
            node.fail("a field is there twice")
        struct = self._structs[node["name"].text] = Struct(node["name"].text, fields=fields)
        return struct

    def _union(
        self, u: JsonNode, types: dict[str, JsonNode], headers: dict[str, JsonNode], names: dict[int, str]
    ) -> Union:
        name = u["union_type"].text
        node = types.get(name) or u["union_type"].fail(f"there is no union type '{name[:80]}'")
        ids = list(u["header_ids"])
        words = [h[0].text for h in node["headers"]]
        if len(ids) != len(words):
            u.fail(f"has {len(ids)} headers, its type {len(words)}")
        members = [self._header(headers[names[i.number(0, 1 << 31)]]) for i in ids]
        known = self._union_types.setdefault(
            name, Union(name, fields=[StructField(w, m) for w, m in zip(words, members, strict=True)])
        )
        if [f.type for f in known.fields] != members:
            u.fail("its headers are not of the types that its union type names")
        return known

    # --- places -------------------------------------------------------------------------------------------------

    def _place(self, inner: dict[str, tuple[str, int]]) -> None:
        for var in (self.headers, self.metadata):
            t = var.type
            assert isinstance(t, Struct)
            for i, f in enumerate(t.fields):
                self._put(f.name, ir.Member(ir.VarRef(var, type=t), i, type=f.type))
        for name, var in self.standard.items():
            self._headers[name] = ir.VarRef(var, type=var.type)
        for _ in range(2):  # a header may lie in a union that lies in a stack
            for name, (owner, i) in inner.items():
                if owner in self._stacks:
                    t = self._stacks[owner].type
                    assert isinstance(t, Stack)
                    self._put(name, ir.Element(self._stacks[owner], ir.Const(i, type=Bits(32)), type=t.element))
                elif owner in self._unions:
                    self._put(name, member(self._unions[owner], i))

    def _put(self, name: str, place: ir.Expr) -> None:
        t = strip(place.type)
        (self._stacks if isinstance(t, Stack) else self._unions if isinstance(t, Union) else self._headers)[name] = (
            place
        )

    def header(self, name: JsonNode) -> ir.Expr:
        """The header of a name."""
        return self._headers.get(name.text) or name.fail(f"there is no header '{name.text[:80]}'")

    def stack(self, name: JsonNode) -> ir.Expr:
        """The stack of a name."""
        return self._stacks.get(name.text) or name.fail(f"there is no header stack '{name.text[:80]}'")

    def union(self, name: JsonNode) -> ir.Expr:
        """The header union of a name."""
        return self._unions.get(name.text) or name.fail(f"there is no header union '{name.text[:80]}'")

    def field(self, pair: JsonNode) -> ir.Expr:
        """The field of a pair of names; ``$valid$`` is whether the header is valid, as a bit."""
        if len(pair) != 2:
            pair.fail("expected a header and a field")
        header, name = pair[0].text, pair[1].text
        alias = self._aliases.get((header, name)) if header not in self.standard else None
        if alias is not None:
            return self.standard_field(*alias)
        base = self.header(pair[0])
        if name == "$valid$":
            if not isinstance(strip(base.type), Header):
                pair.fail("metadata is always valid")
            return ir.Cast(ir.IsValid(base, type=BOOL), type=Bits(1))
        t = strip(base.type)
        assert isinstance(t, Structure)
        if name not in t.index:
            pair[1].fail(f"{header[:80]} has no field '{name[:80]}'")
        return member(base, t.index[name])

    def standard_field(self, header: str, name: str) -> ir.Expr:
        """A field of the architecture's metadata."""
        base = self._headers[header]
        t = strip(base.type)
        assert isinstance(t, Structure)
        return member(base, t.index[name])


def member(base: ir.Expr, index: int) -> ir.Member:
    """Part ``index`` of a struct, header or union."""
    t = strip(base.type)
    assert isinstance(t, Structure)
    return ir.Member(base, index, type=strip(t.fields[index].type))


def _as_declared(declared: Type | None, width: int) -> Type:
    """The type of a field as the architecture declares it, or a number where the document has another width."""
    same = declared is not None and strip(declared) == Bits(width)
    return declared if declared is not None and same else Bits(width)


def _number(t: Type) -> Type:
    """The type of a field as documents have it: a number, which keeps its name."""
    bare = strip(t)
    return t if isinstance(bare, Bits) else Bits(1) if bare == BOOL else Bits(_PLAIN_BITS)
