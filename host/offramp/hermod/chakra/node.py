# SPDX-License-Identifier: Apache-2.0
"""The nodes of an execution trace, whichever file they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from offramp.hermod.chakra.schema import VERSION

Attribute = int | float | bool | str | bytes | list[Any]


@dataclass(slots=True)
class ChakraNode:
    """A node of an execution trace.

    Attributes:
        kind: number of the node's type (``schema.COMPUTE``, …).
        waits: nodes that have to be over before it begins.
        duration_us: microseconds.
        inputs: values of its inputs as text, where a profiler has written them.
    """

    id: int
    name: str
    kind: int
    waits: list[int] = field(default_factory=list)
    duration_us: int = 0
    attributes: dict[str, Attribute] = field(default_factory=dict)
    inputs: str = ""


@dataclass(slots=True)
class ChakraTrace:
    """The work of one rank, as the nodes of a graph."""

    nodes: list[ChakraNode]
    version: str = VERSION
    attributes: dict[str, Attribute] = field(default_factory=dict)
