# SPDX-License-Identifier: Apache-2.0
"""The language of the run-time system: a small part of Python that has one meaning in machine code.

Functions marked :func:`native` are never run by Python; :mod:`offramp_base.native.lowering` translates them.

* ``int`` is a 64-bit word in two's complement: arithmetic wraps, ``<`` and its kin compare signed numbers, and
  ``//``, ``%`` and ``>>`` take their operands as unsigned. ``float`` is a double. ``bool`` is one bit.
* Pointers (:class:`Bytes`, :class:`Words`, …) index and add in units of their elements; ``Words(n)`` is the
  address ``n``, and ``int(pointer)`` gives it back. So do records (:mod:`offramp_base.native.records`), whose words
  have names.
* Names of the module that are numbers are constants. Calls go to other marked functions, to the functions of
  this module, or to functions that the compiled program supplies (:func:`supplied`).
* Statements: assignment, ``if``, ``while``, ``for … in range(…)``, ``break``, ``continue``, ``return``, calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Self, SupportsInt, TypeVar

_F = TypeVar("_F", bound=Callable[..., object])
_T = TypeVar("_T", int, float)


def native(function: _F) -> _F:
    """Mark a function for translation."""
    function.__dict__["native"] = "native"
    return function


def inlined(function: _F) -> _F:
    """Mark a function for translation into its callers, where arguments that are constants shape it."""
    function.__dict__["native"] = "inlined"
    return function


def supplied(function: _F) -> _F:
    """Mark the declaration of a function that the compiled program supplies under the same name."""
    function.__dict__["native"] = "supplied"
    return function


class Pointer(Generic[_T]):
    """An address of elements of one kind."""

    def __init__(self, address: SupportsInt) -> None:
        raise NotImplementedError

    def __getitem__(self, index: int) -> _T:
        raise NotImplementedError

    def __setitem__(self, index: int, value: _T) -> None:
        raise NotImplementedError

    def __add__(self, elements: int) -> Self:
        raise NotImplementedError

    def __int__(self) -> int:
        raise NotImplementedError


class Bytes(Pointer[int]):
    """Unsigned bytes."""


class Ints(Pointer[int]):
    """Signed 32-bit integers."""


class Words(Pointer[int]):
    """64-bit words."""


class Doubles(Pointer[float]):
    """Double-precision numbers."""


class PacketScalar:
    """A scalar at a fixed place of a packet's memory, which the layout of the program decides."""

    def __init__(self, name: str) -> None:
        self.name = name


class Memory:
    """The memory of one packet."""

    def __init__(self, address: int) -> None:
        raise NotImplementedError

    def __getitem__(self, field: PacketScalar) -> int:
        raise NotImplementedError

    def __setitem__(self, field: PacketScalar, value: int) -> None:
        raise NotImplementedError

    def __add__(self, size: int) -> Self:
        raise NotImplementedError

    def __int__(self) -> int:
        raise NotImplementedError


Block = Bytes | Words | Memory


def copy(into: Block, source: Block, size: int) -> None:
    """Copy ``size`` bytes between places that do not overlap."""
    raise NotImplementedError


def clear(into: Block, size: int) -> None:
    """Set ``size`` bytes to 0."""
    raise NotImplementedError


def below(left: int, right: int) -> bool:
    """``left < right`` of unsigned words."""
    raise NotImplementedError


def highest_bit(word: int) -> int:
    """Position of the highest 1 bit of a word that is not 0."""
    raise NotImplementedError


def high_product(left: int, right: int) -> int:
    """The upper 64 bits of the product of unsigned words."""
    raise NotImplementedError


def observe(place: Words) -> int:
    """Read the first word before all that follows (acquire); see :func:`publish`."""
    raise NotImplementedError


def publish(place: Words, word: int) -> None:
    """Write the first word after all earlier writes (release): a reader that sees the word sees these, too."""
    raise NotImplementedError


def fence() -> None:
    """Make earlier writes visible to others before anything that follows is read."""
    raise NotImplementedError


def prefetch(place: Words) -> None:
    """Bring the cache line at any address into the cache: a hint without any other effect."""
    raise NotImplementedError


def call_word(function: int, argument: int) -> int:
    """Call a C function ``uint32_t (*)(void *)``."""
    raise NotImplementedError


def call_foreign(function: int, a: int, b: int, c: int, d: int, e: int, f: int) -> int:
    """Call a C function of up to six integers and pointers, and return its word.

    Those that it does not take are not looked at. A result of less than 64 bits has anything above them.
    """
    raise NotImplementedError


def call_back(function: int, buffer: int, size: int) -> None:
    """Call a C function ``void (*)(int64_t, int64_t)``."""
    raise NotImplementedError
