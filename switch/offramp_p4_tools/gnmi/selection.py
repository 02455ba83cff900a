# SPDX-License-Identifier: Apache-2.0
"""The leaves of ports that a path names, with wildcards (gnmi-path-conventions.md of openconfig/reference)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from offramp_base.gnmi.paths import path_text
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4_tools.gnmi.model import BY_NAMES, CONTAINERS, KEY, LEAVES, ROOT, DataType, InterfaceLeaf

ORIGINS: Final = ("", "openconfig")
MOST_ELEMENTS: Final = 64
"""Most elements of a path with its prefix; the tree is five deep."""
_ANY, _ANY_DEPTH = "*", "..."
_LIST: Final = len(ROOT) - 1
"""Index of the interface in the names of a leaf."""


class PathElement(NamedTuple):
    """A name of a path; ``key`` is the interface's name, None without one or for all."""

    name: str
    key: str | None = None
    keyed: bool = False


@dataclass(frozen=True)
class PathPattern:
    """A path with its prefix.

    Attributes:
        elements: elements from the root on.
        text: text for messages.
    """

    elements: tuple[PathElement, ...]
    text: str

    @property
    def exact(self) -> bool:
        """Whether it has no wildcard, and names an interface where it goes below the list."""
        if any(e.name in {_ANY, _ANY_DEPTH} for e in self.elements):
            return False
        return len(self.elements) <= _LIST or self.elements[_LIST].key is not None

    @property
    def names(self) -> tuple[str, ...]:
        """The names without keys."""
        return tuple(e.name for e in self.elements)

    @property
    def interface(self) -> str | None:
        """The interface that it names; None: all of them."""
        return next((e.key for e in self.elements if e.key is not None), None)

    def depth(self, full: tuple[str, ...]) -> int | None:
        """Number of a leaf's names that the path covers, if it names the leaf or a container of it; else None."""
        reached = self._skipped({0})
        for at in range(len(full) + 1):
            if len(self.elements) in reached:
                return at
            if at < len(full):
                reached = self._skipped({after for i in reached for after in self._step(i, full, at)})
        return None

    def _skipped(self, reached: set[int]) -> set[int]:
        """Add the positions reachable by letting ``...`` match nothing."""
        out, todo = set(reached), list(reached)
        while todo:
            i = todo.pop()
            if i < len(self.elements) and self.elements[i].name == _ANY_DEPTH and i + 1 not in out:
                out.add(i + 1)
                todo.append(i + 1)
        return out

    def _step(self, i: int, full: tuple[str, ...], at: int) -> Iterable[int]:
        """Elements that may come next after element ``i`` has taken the name at ``at``."""
        if i == len(self.elements):
            return ()
        element = self.elements[i]
        if element.keyed and at != _LIST:
            return ()
        if element.name == _ANY_DEPTH:
            return (i,)
        return (i + 1,) if element.name in {_ANY, full[at]} else ()


class Selected(NamedTuple):
    """A leaf of a port, and how many of its names the path covers."""

    port: int
    leaf: InterfaceLeaf
    depth: int


def pattern(prefix: Any, path: Any) -> PathPattern:
    """The pattern of a path (``gnmi.Path``) below a prefix.

    Raises:
        RpcError: INVALID_ARGUMENT, it is malformed; UNIMPLEMENTED, it is of another origin.
    """
    if prefix.element or path.element:
        raise _malformed("the field element of a path is not used any more; expected elem")
    if path.target:
        raise _malformed("a target stands in the prefix only")
    if prefix.origin and path.origin:
        raise _malformed("an origin stands in the prefix or in the path, not in both")
    for origin in (prefix.origin, path.origin):
        if origin not in ORIGINS:
            raise RpcError(Code.UNIMPLEMENTED, f"origin {origin[:80]!r} is not served; openconfig is")
    count = len(prefix.elem) + len(path.elem)
    if count > MOST_ELEMENTS:
        raise _malformed(f"a path of {count} elements; expected at most {MOST_ELEMENTS}")
    elements = [*prefix.elem, *path.elem]
    text = path_text(elements)
    return PathPattern(tuple(_element(each, text) for each in elements), text)


def _element(element: Any, text: str) -> PathElement:
    if not element.name:
        raise _malformed(f"path {text}: an element without a name")
    if not element.key:
        return PathElement(element.name)
    if element.name == _ANY_DEPTH:
        raise _malformed(f"path {text}: '...' has no key")
    if list(element.key) != [KEY] or element.name not in {ROOT[_LIST], _ANY}:
        raise _malformed(f"path {text}: expected no keys but [{KEY}=...] of an {ROOT[_LIST]}")
    value = element.key[KEY]
    return PathElement(element.name, None if value == _ANY else value, keyed=True)


class TreeView:
    """The tree as a request is allowed to see it.

    Args:
        ports: their numbers.
        models: modules whose leaves there are; empty: all.
        kinds: kinds of leaves; empty: all.
    """

    def __init__(self, ports: Iterable[int], models: Collection[str] = (), kinds: Collection[DataType] = ()) -> None:
        self._ports = sorted(ports)
        self._leaves = [
            leaf for leaf in LEAVES if (not models or leaf.module in models) and (not kinds or leaf.kind in kinds)
        ]

    def select(self, wanted: PathPattern) -> list[Selected]:
        """The leaves that a path names, port by port; none if it names a port that does not exist.

        Raises:
            RpcError: UNIMPLEMENTED, no interface has what it names.
        """
        if all(wanted.depth(full) is None for full in BY_NAMES):
            raise RpcError(Code.UNIMPLEMENTED, f"path {wanted.text}: this switch has /interfaces only")
        depths = [(leaf, depth) for leaf in self._leaves if (depth := wanted.depth(leaf.full)) is not None]
        ports = self.ports(wanted)
        return [Selected(port, leaf, depth) for port in ports for leaf, depth in depths]

    def ports(self, wanted: PathPattern) -> list[int]:
        """The ports that a path names."""
        keys = {e.key for e in wanted.elements if e.key is not None}
        return [port for port in self._ports if keys <= {str(port)}]


def is_known(names: tuple[str, ...]) -> bool:
    """Whether there is a leaf or a container of these names, from the root on."""
    return names in BY_NAMES or names in CONTAINERS


def _malformed(message: str) -> RpcError:
    return RpcError(Code.INVALID_ARGUMENT, message)
