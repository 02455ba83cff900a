# SPDX-License-Identifier: Apache-2.0
"""The run-time system's functions as text, translated once: programs differ in a few names and numbers of it.

A function of the run-time system becomes the same LLVM for every program, but for the offsets of a packet's fields,
the names of the functions that the program supplies, and the numbers of the module's metadata.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Self

from offramp_base.native.llvm import F64, I1, I8, I16, I32, I64, PTR, AliasTags, ll

if TYPE_CHECKING:
    from offramp_base.kept_files import KeptFiles

_FIRST_OFFSET: Final = 0x5EED_0000_0000
"""Stands for the offset of a field, with the field's number; no function has such a constant."""
_SUPPLIED: Final = "supplied."
_METADATA: Final = re.compile(r"!(\d+)")
_HOLES: Final = re.compile(r"\{([^{}]+)\}")
_TYPES: Final = {str(t): t for t in (I1, I8, I16, I32, I64, PTR, F64, ll.VoidType())}

Place = tuple[str, str]
"""A marked function by the names of its module and its own."""


@dataclass(frozen=True, slots=True)
class FunctionTemplate:
    """The body of a function for programs with these sizes and types.

    Attributes:
        text: the body; in braces names of fields, of supplied functions and of kinds of memory.
        sizes: bytes of the fields that it uses.
        supplied: types of the functions that it calls and the program supplies, by the functions' declarations.
        callees: the marked functions that it calls.
        intrinsics: what it needs of LLVM: name, result and parameters.
    """

    text: str
    sizes: dict[str, int]
    supplied: dict[Place, str]
    callees: list[Place]
    intrinsics: list[tuple[str, str, tuple[str, ...]]]

    def to_row(self) -> tuple[Any, ...]:
        """The template as lists, for JSON."""
        supplied = [(*place, kind) for place, kind in self.supplied.items()]
        return self.text, self.sizes, supplied, self.callees, self.intrinsics

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Self:
        """The template that :meth:`to_row` wrote."""
        text, sizes, supplied, callees, intrinsics = row
        kinds = {(module, name): kind for module, name, kind in supplied}
        needed = [(name, result, tuple(params)) for name, result, params in intrinsics]
        return cls(text, sizes, kinds, [(module, name) for module, name in callees], needed)


class Templates:
    """Templates of functions, kept between processes.

    Args:
        kept: where they are kept; None: they are not.
        key: determines the sources of all functions.
    """

    def __init__(self, kept: KeptFiles | None = None, key: str = "") -> None:
        self._kept, self._key = kept, key
        self._new = False
        payload = None if kept is None else kept.get(key)
        rows = [] if payload is None else json.loads(payload)
        self._known: dict[Place, list[FunctionTemplate]] = {
            (module, name): [FunctionTemplate.from_row(row) for row in known] for module, name, known in rows
        }

    def find(
        self, python: Callable[..., Any], sizes: Mapping[str, tuple[int, int]], type_of: Callable[[Place], str]
    ) -> FunctionTemplate | None:
        """The template of a function for a program: by the places of its fields and the types of its functions."""
        for template in self._known.get(place_of(python), ()):
            if all(sizes[name][1] == size for name, size in template.sizes.items()) and all(
                type_of(place) == kind for place, kind in template.supplied.items()
            ):
                return template
        return None

    def add(self, python: Callable[..., Any], template: FunctionTemplate) -> None:
        """Add a template."""
        self._known.setdefault(place_of(python), []).append(template)
        self._new = True

    def keep(self) -> None:
        """Keep what has been added."""
        if self._new and self._kept is not None:
            rows = [(*place, [template.to_row() for template in known]) for place, known in self._known.items()]
            self._kept.put(self._key, json.dumps(rows).encode())
        self._new = False


def place_of(python: Callable[..., Any]) -> Place:
    """The names of a function."""
    return python.__module__, python.__name__


def function_at(place: Place) -> Callable[..., Any]:
    """The function with names."""
    function: Callable[..., Any] = getattr(import_module(place[0]), place[1])
    return function


class _FieldNumbers(Mapping[str, "tuple[int, int]"]):
    """Places of fields with numbers for offsets."""

    def __init__(self, real: Mapping[str, tuple[int, int]]) -> None:
        self._real = real
        self.used: list[str] = []

    def __getitem__(self, name: str) -> tuple[int, int]:
        size = self._real[name][1]
        if name not in self.used:
            self.used.append(name)
        return _FIRST_OFFSET + self.used.index(name), size

    def __iter__(self) -> Iterator[str]:
        return iter(self._real)

    def __len__(self) -> int:
        return len(self._real)


@dataclass
class Draft:
    """A module of one function, of which a template is made.

    Attributes:
        fields: the fields, by numbers for offsets.
        supplied: types of supplied functions that were called.
        callees: the marked functions that were called.
    """

    real: Mapping[str, tuple[int, int]]
    supplied: dict[Place, str] = field(default_factory=dict)
    callees: list[Place] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.module = ll.Module("template")
        self.tags = AliasTags(self.module)
        self.fields = _FieldNumbers(self.real)
        self._functions: dict[str, Any] = {}

    def callee(self, python: Callable[..., Any], kind: Any) -> Any:
        """A function that is called: declared only."""
        place = place_of(python)
        if python.__dict__.get("native") == "supplied":
            self.supplied[place] = str(kind)
            return self._declared(f"{_SUPPLIED}{place[1]}", kind)
        if place not in self.callees:
            self.callees.append(place)
        return self._declared(f"rt.{place[1]}", kind)

    def _declared(self, name: str, kind: Any) -> Any:
        if name not in self._functions:
            known = self.module.globals.get(name)  # the function itself, if it calls itself
            self._functions[name] = ll.Function(self.module, kind, name) if known is None else known
        return self._functions[name]

    def template(self, function: Any) -> FunctionTemplate:
        """The template of a function of the module."""
        lines: list[str] = []
        function.descr_body(lines)
        text = "".join(lines)
        assert "{" not in text
        text = text.replace("}", "{end}")
        kinds = {tag.get_reference(): kind for kind, tag in self.tags.tags.items()}
        text = _METADATA.sub(lambda m: f"{{tag {kinds[m.group()]}}}", text)
        for number, name in enumerate(self.fields.used):
            text = text.replace(str(_FIRST_OFFSET + number), f"{{field {name}}}")
        for _, name in self.supplied:
            text = text.replace(f'@"{_SUPPLIED}{name}"', f"{{function {name}}}")
        sizes = {name: self.fields[name][1] for name in list(self.fields.used)}
        return FunctionTemplate(text, sizes, self.supplied, self.callees, list(self._intrinsics()))

    def _intrinsics(self) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        for name, value in self.module.globals.items():
            if name.startswith("llvm."):
                yield name, str(value.ftype.return_type), tuple(map(str, value.ftype.args))


class TemplateBody:
    """The body of a function, filled in; in the place of its blocks."""

    def __init__(self, text: str) -> None:
        self._text = text

    def descr(self, lines: list[str]) -> None:
        """Append the body."""
        lines.append(self._text)


def filled(
    template: FunctionTemplate,
    module: Any,
    tags: AliasTags,
    fields: Mapping[str, tuple[int, int]],
    names: Mapping[str, str],
) -> TemplateBody:
    """The body of a function in a module; ``names`` has the references of supplied functions."""
    for name, result, params in template.intrinsics:
        if name not in module.globals:
            ll.Function(module, ll.FunctionType(_TYPES[result], [_TYPES[each] for each in params]), name)

    def fill(hole: re.Match[str]) -> str:
        what, _, name = hole.group(1).partition(" ")
        match what:
            case "tag":
                return str(tags.tag(name).get_reference())
            case "field":
                return str(fields[name][0])
            case "function":
                return names[name]
        return "}"

    return TemplateBody(_HOLES.sub(fill, template.text))
