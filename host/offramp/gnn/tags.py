# SPDX-License-Identifier: Apache-2.0
"""Tags that tell what a tensor's rows stand for while a model runs: vertices, edges, or indices of either."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.gnn.parts import EdgeSet, VertexSet

VERTICES: Final = "vertices"
"""One row for each own vertex."""
EXTENDED: Final = "vertices with their halo"
EDGES: Final = "edges"
"""One row for each edge, or for some of them."""
PAIRS: Final = "edge index"
SOURCES: Final = "sources"
"""Numbers of the sources of edges: beyond the own vertices they are rows of the halo."""
TARGETS: Final = "targets"

_ATTRIBUTE: Final = "_offramp_rows"


class CannotDistributeError(OfframpError):
    """A function that mixes vertices in a way that one rank's rows cannot show."""


class Tag(NamedTuple):
    """The role of a tensor's rows, the set of vertices or edges that they belong to, and the rows' dimension."""

    role: str
    of: VertexSet | EdgeSet
    dim: int = 0

    def moved(self, dim: int) -> Tag:
        """The tag after the rows have moved to another dimension."""
        return self._replace(dim=dim)


def mark(tensor: torch.Tensor, tag: Tag) -> torch.Tensor:
    """Say what the rows of a tensor are."""
    setattr(tensor, _ATTRIBUTE, tag)
    return tensor


def unmark(tensor: torch.Tensor) -> torch.Tensor:
    """Say that the rows are nothing of the graph's."""
    if hasattr(tensor, _ATTRIBUTE):
        delattr(tensor, _ATTRIBUTE)
    return tensor


def tag_of(value: Any) -> Tag | None:
    """The tag of a value; None if it is no tensor or has no tag."""
    tag: Tag | None = getattr(value, _ATTRIBUTE, None) if isinstance(value, torch.Tensor) else None
    return tag


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """Tensors in arguments, in lists, tuples and dictionaries of them too."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from tensors(each)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))
