# SPDX-License-Identifier: Apache-2.0
"""Tags that tell what a tensor's rows stand for while a model runs: vertices, edges, or indices of either.

A tensor without a tag is the same on all ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.gnn.parts import EdgeSet, VertexSet
    from offramp.gnn.row_layout import RowLayout

VERTICES: Final = "vertices"
"""One row for each own vertex."""
EXTENDED: Final = "vertices with their halo"
EDGES: Final = "edges"
"""One row for each edge, or for some rows of other kinds, by the tag's layout."""
PAIRS: Final = "edge index"
SOURCES: Final = "sources"
"""Numbers of the sources of edges: beyond the own vertices they are rows of the halo."""
TARGETS: Final = "targets"
NUMBERS: Final = "vertex numbers"
"""One row for each own vertex: its own number."""

NUMBERED: Final = frozenset({PAIRS, SOURCES, TARGETS, NUMBERS})
"""Roles of tensors whose values are numbers of this rank, which mean nothing to others."""

ROWS: Final = "_offramp_rows"
MASK: Final = "_offramp_mask"
CONSTANT: Final = "_offramp_constant"


class CannotDistributeError(OfframpError):
    """A function that mixes vertices in a way that one rank's rows cannot show."""


class Tag(NamedTuple):
    """The role of a tensor's rows, the set of vertices or edges that they belong to, and the rows' dimension.

    ``rows`` is the layout where they are not all of the set.
    """

    role: str
    of: VertexSet | EdgeSet
    dim: int = 0
    rows: RowLayout | None = None

    @property
    def layout(self) -> RowLayout:
        """The layout, which says which rows of the whole tensor they are."""
        return self.of.layout if self.rows is None else self.rows

    def moved(self, dim: int) -> Tag:
        """The tag after the rows have moved to another dimension."""
        return Tag(self.role, self.of, dim, self.rows)

    def like(self, other: Tag) -> bool:
        """Whether both have the same rows."""
        return self.of is other.of and self.rows is other.rows and (self.role == EXTENDED) == (other.role == EXTENDED)

    @property
    def valued(self) -> Tag:
        """The tag of values beside numbers: one for each vertex or edge."""
        if self.role not in NUMBERED:
            return self
        return Tag(VERTICES if self.role == NUMBERS else EDGES, self.of, self.dim, self.rows)


def mark(tensor: torch.Tensor, tag: Tag) -> torch.Tensor:
    """Say what the rows of a tensor are."""
    setattr(tensor, ROWS, tag)
    return tensor


def unmark(tensor: torch.Tensor) -> torch.Tensor:
    """Say that the rows are nothing of the graph's."""
    if hasattr(tensor, ROWS):
        delattr(tensor, ROWS)
    return tensor


def tag_of(value: Any) -> Tag | None:
    """The tag of a value; None if it is no tensor or has no tag."""
    tag: Tag | None = value.__dict__.get(ROWS) if isinstance(value, torch.Tensor) else None
    return tag


def name_mask(mask: torch.Tensor, name: Any) -> torch.Tensor:
    """Name a mask by what it is computed from, where it depends on the graph only: its rows are known the next time."""
    setattr(mask, MASK, name)
    return mask


def mask_name(mask: torch.Tensor) -> Any:
    """The name of :func:`name_mask`, or None."""
    return mask.__dict__.get(MASK)


def fill_with(tensor: torch.Tensor, value: Any) -> torch.Tensor:
    """Note that a new tensor has one value in all places, so that its rows may be any others as well."""
    setattr(tensor, CONSTANT, (value, tensor._version))
    return tensor


def constant_of(tensor: torch.Tensor) -> Any:
    """The value of :func:`fill_with`; None where something has been written since."""
    known = tensor.__dict__.get(CONSTANT)
    return known[0] if known is not None and known[1] == tensor._version and not tensor.requires_grad else None


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """Tensors in arguments, in lists, tuples and dictionaries of them too."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from tensors(each)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))


def mapped(value: Any, change: Any) -> Any:
    """``value`` with ``change`` of each tensor in it."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: mapped(each, change) for key, each in value.items()}
    if isinstance(value, torch.Size):
        return value
    if isinstance(value, list | tuple):
        items = [mapped(each, change) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, slice):
        return slice(*(mapped(each, change) for each in (value.start, value.stop, value.step)))
    return value
