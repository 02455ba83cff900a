# SPDX-License-Identifier: Apache-2.0
"""YAML and TOML with the line of every node, so that an error can name it."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from offramp_base.documents import MOST_BYTES, BoundedLoader, LongLoader, line_of, parse_toml, problem_of, read_text
from offramp_base.errors import OfframpError

_TOML_KEY = re.compile(r"""\s*\[*\s*([\w-]+|"[^"]*"|'[^']*')\s*[.=\]]""")
_MOST_TOML_LINES = 1000  # beyond them errors name the file alone
_SHORT = 1 << 16  # characters of YAML that PyYAML itself reads in a third of a second

Place = tuple[str | int, ...]
"""Keys and indices from the top of a file to a node."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file: its data, and the line of each part of it.

    Attributes:
        name: name of the file, for errors.
        data: its content as plain Python objects.
        lines: line of each node, by place.
    """

    name: str
    data: Any
    lines: Mapping[Place, int] = field(repr=False)

    def line(self, place: Place) -> int:
        """The line of a node, or of the nearest enclosing one that exists."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def error(self, place: Place, problem: str) -> OfframpError:
        """An error in one line: file, line, field, and what is wrong with it."""
        where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in place).lstrip(".")
        return OfframpError(f"{self.name}:{self.line(place)}: {where + ': ' if where else ''}{problem}")


def read_source(path: Path, most_bytes: int = MOST_BYTES) -> SourceFile:
    """Read a YAML file, or a TOML file (``.toml``), of which only the lines of top-level keys are known.

    A YAML file of ``most_bytes`` may be longer than :data:`MOST_BYTES`, a TOML file may not.

    Raises:
        OfframpError: the file cannot be read, is malformed, or has two nodes of one name.
    """
    try:
        text = read_text(path, MOST_BYTES if path.suffix == ".toml" else most_bytes)
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    return _toml_source(text, str(path)) if path.suffix == ".toml" else parse_source(text, str(path), most_bytes)


def _toml_source(text: str, name: str) -> SourceFile:
    try:
        data = parse_toml(text)
    except OfframpError as error:
        raise OfframpError(f"{name}: {error}") from None
    lines = text.splitlines(keepends=True)
    lines_by_place: dict[Place, int] = {}
    for number, line in enumerate(lines[:_MOST_TOML_LINES], 1):
        match = _TOML_KEY.match(line)
        key = match and match[1].strip("\"'")
        # Within a string of several lines the text before the line is not a document.
        if key in data and (key,) not in lines_by_place and _is_toml("".join(lines[: number - 1])):
            lines_by_place[(key,)] = number
    return SourceFile(name, data, lines_by_place)


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def parse_source(text: str, name: str, most_bytes: int = MOST_BYTES) -> SourceFile:
    """Parse the text of a YAML file called ``name``.

    Raises:
        OfframpError: the text is too long, is not YAML, or has two nodes of one name.
    """
    lines: dict[Place, int] = {}
    if len(text) > most_bytes:
        raise OfframpError(f"{name}: longer than {most_bytes} characters")
    try:
        loader, node = _composed(text)
        data = None if node is None else _SourceReader(name, lines, loader).value(node, ())
    except yaml.YAMLError as error:
        raise OfframpError(f"{name}:{line_of(error)}: not YAML: {problem_of(error)}") from None
    except (ValueError, OverflowError):  # an escape beyond Unicode
        raise OfframpError(f"{name}:1: not YAML: a character that does not exist") from None
    return SourceFile(name, data, lines)


def _composed(text: str) -> tuple[BoundedLoader | LongLoader, yaml.Node | None]:
    """A text's tree, by libyaml where that saves time; what it refuses is refused with the other loader's words."""
    if len(text) > _SHORT:
        with contextlib.suppress(yaml.YAMLError) if len(text) <= MOST_BYTES else contextlib.nullcontext():
            loader = LongLoader(text)
            return loader, loader.get_single_node()
    bounded = BoundedLoader(text)
    return bounded, bounded.get_single_node()


@dataclass(slots=True)
class _SourceReader:
    name: str
    lines: dict[Place, int]
    loader: BoundedLoader | LongLoader

    def value(self, node: yaml.Node, place: Place) -> Any:
        self.lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.ScalarNode):
            return self.loader.construct_object(node, deep=True)
        return self._mapping(node, place) if isinstance(node, yaml.MappingNode) else self._list(node, place)

    def _list(self, node: yaml.Node, place: Place) -> list[Any]:
        return [self.value(item, (*place, i)) for i, item in enumerate(node.value)]

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self.value(key_node, (*place, ""))
            line = key_node.start_mark.line + 1
            if not isinstance(key, Hashable) or isinstance(key, bool | tuple) or key is None:
                raise OfframpError(f"{self.name}:{line}: expected a name before the colon")
            key = str(key)
            if key in mapping:
                raise OfframpError(
                    f"{self.name}:{line}: two of one name: {key}, first in line {self.lines[(*place, key)]}"
                )
            self.lines[(*place, key)] = line
            mapping[key] = self.value(value_node, (*place, key))
        self.lines.pop((*place, ""), None)
        return mapping
