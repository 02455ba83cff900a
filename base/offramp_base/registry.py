# SPDX-License-Identifier: Apache-2.0
"""Places where other packages add things of a kind: a model, a device, a rule.

What ships with Offramp registers itself with a decorator; a package outside names it in an entry point
(https://packaging.python.org/en/latest/specifications/entry-points/) of the registry's group. Nothing is imported
before it is needed.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from offramp_base.errors import OfframpError
from offramp_base.extras import missing_extra

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Registry(Generic[T]):
    """Things of one kind by their names.

    Args:
        kind: the kind's name in messages, such as ``model``.
        group: group of entry points, such as ``offramp.models``.
        package: package whose modules register things, subpackages included; they are imported at the first look-up.
        partial: whether modules that need a package of an extra are left out where it is not installed.

    Attributes:
        lacking: why modules were left out, by their names.
    """

    def __init__(self, kind: str, group: str, package: str | None = None, *, partial: bool = False) -> None:
        self.kind, self.group = kind, group
        self._package, self._partial = package, partial
        self.lacking: dict[str, OfframpError] = {}
        self._things: dict[str, T] = {}
        self._whole = False

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator that registers an object as ``name``.

        Raises:
            OfframpError: something else has the name.
        """

        def enter(thing: T) -> T:
            if self._things.setdefault(name, thing) is not thing:
                raise OfframpError(f"{self.kind} {name}: registered twice")
            return thing

        return enter

    def names(self) -> list[str]:
        """All names in alphabetical order, so that the order does not depend on imports.

        Raises:
            OfframpError: two packages bring the same name.
        """
        self._discover()
        return sorted(self._things.keys() | self._brought.keys())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def get(self, name: str) -> T:
        """The object of this name; an outside package is imported now.

        Raises:
            OfframpError: nothing has the name, or what has it cannot be imported.
        """
        self._discover()
        if name not in self._things:
            if name not in self._brought:
                raise OfframpError(f"{self.kind} {name}: {self._expected(name)}")
            self._things[name] = self._load(self._brought[name])
        return self._things[name]

    def _expected(self, name: str) -> str:
        nearest = get_close_matches(name, self.names(), 1)
        return f"expected one of {', '.join(self.names())}" + (f"; nearest: {nearest[0]}" if nearest else "")

    def _load(self, point: EntryPoint) -> T:
        try:
            thing: T = point.load()
        except ModuleNotFoundError as error:
            lacks = missing_extra(error) or f"this installation lacks {error.name}"
            raise OfframpError(f"{self.kind} {point.name}: {lacks}") from None
        except (ImportError, AttributeError) as error:
            raise OfframpError(f"{self.kind} {point.name}: {_origin(point)} cannot be imported: {error}") from None
        return thing

    @cached_property
    def _brought(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points

        points: dict[str, EntryPoint] = {}
        for point in entry_points(group=self.group):
            other = points.setdefault(point.name, point)
            if other.value != point.value:
                raise OfframpError(f"{self.kind} {point.name}: both {_origin(other)} and {_origin(point)} bring it")
        for name in self._things.keys() & points.keys():
            raise OfframpError(f"{self.kind} {name}: Offramp has one, and {_origin(points[name])} brings another")
        return points

    def _discover(self) -> None:
        if self._package is not None and not self._whole:
            self._whole = True
            package = importlib.import_module(self._package)
            for module in pkgutil.walk_packages(package.__path__, f"{self._package}."):
                self._import(module.name)
        _ = self._brought  # two of one name are refused at the first look-up, whatever it is for

    def _import(self, module: str) -> None:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            lacks = missing_extra(error)
            if lacks is None or not self._partial:
                raise
            self.lacking[module] = lacks


def _origin(point: EntryPoint) -> str:
    return f"{point.value} of {point.dist.name}" if point.dist else point.value
